/*
 * keras.c - a Keras 3 archive: a zip with configuration and weights.
 *
 *   metadata.json      keras_version, date_saved: facts under their own names
 *   config.json        the model: facts under "config.json:"
 *   model.weights.h5   the tensors (hdf5_walk.h); or shards, model_00000.weights.h5 ...
 *   assets/            not read
 *
 * Tensors of a stored member are ranges of the archive; tensors of a compressed member are cut out
 * of the inflated bytes. The configuration is stated as facts, and never acted on.
 *
 * Source: keras/src/saving/saving_lib.py; files of Keras 3.0 to 3.15.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "catalog/base/text.h"
#include "catalog/data/codec/codec.h"
#include "importer/container/zip.h"
#include "importer/format/hdf5/hdf5_walk.h"
#include "importer/job/facts.h"

#define LOCAL_MAGIC    "PK\3\4"
#define NAME_AT        30
#define METADATA       "metadata.json"
#define CONFIG         "config.json"
#define WEIGHTS        "model.weights.h5"
#define INFLATED_LEAST ((uint64_t)64 << 20) /* a member may always inflate to this much, */
#define INFLATED_TIMES 64                   /* a larger one to this many times its size */

/* The first member must be metadata.json, with keras_version as its first key. If it is deflated,
 * its name and the archive's own name must do. */
static int keras_probe(const struct probe *p)
{
    bool named = text_ends_in(p->name, strlen(p->name), ".keras");
    if (p->head.len < NAME_AT || memcmp(p->head.at, LOCAL_MAGIC, 4) != 0)
        return 0;
    size_t len = load_u16le(p->head.at + 26), n = strlen(METADATA);
    bool first =
        len == n && p->head.len > NAME_AT + n && memcmp(p->head.at + NAME_AT, METADATA, n) == 0;
    if (first && (probe_holds(p, "{\"keras_version\"") || named))
        return 96;
    return named ? 40 : 0;
}

static void json_facts(struct job *job, const struct zip *z, const struct zip_member *m,
                       const char *prefix)
{
    struct bytes text;
    struct error err = {.offset = NO_OFFSET};
    struct json j;
    if (zip_check(z, m, &err) == OK &&
        zip_read(z, m, LIMIT_JSON_SIDE_FILE, job->arena, &text, &err) == OK) {
        json_init(&j, cursor_over(text, 0), job->arena, job->path, &err);
        j.python = true;
        facts_state(job, &j, prefix, '.');
    }
    if (err.status == OK || job->err->status != OK)
        return;
    if (status_passes(err.status)) {
        *job->err = err;
        return;
    }
    err.offset = m->header;
    error_prefix(&err, m->name);
    job_issue_error(job, ISSUE_WARNING, &err);
}

/* Inflate a compressed member, into a temporary file if it is large. */
static void inflate(struct job *job, const struct zip_member *m, const struct zip_run *run,
                    struct source **out, struct error *err)
{
    struct source *s;
    uint64_t most;
    if (!mul_u64(m->stored, INFLATED_TIMES, &most))
        most = UINT64_MAX;
    if (m->size > INFLATED_LEAST && m->size > most)
        error_set(err, ERR_LIMIT, job->path, m->header,
                  "%llu bytes that %llu stored ones inflate to: no weights shrink so",
                  (unsigned long long)m->size, (unsigned long long)m->stored);
    else if (source_open_view(job->source, run->offset, run->stored, &s, err) == OK &&
             codec_chain_open(s, run->codec, &s, NULL, err) == OK)
        source_open_spill(s, out, err);
}

static void add_weights(struct job *job, const struct zip *z, const struct zip_member *m)
{
    struct error err = {.offset = NO_OFFSET};
    struct source *s = NULL;
    struct zip_run run;
    if (zip_run(z, m, &run, &err) == OK) {
        struct hdf5_tree t = {
            .job = job, .path = job->path, .member_at = run.offset, .member_stored = run.stored};
        if (*run.codec) {
            inflate(job, m, &run, &s, &err);
            t.inflate = run.codec;
        } else {
            source_open_view(job->source, run.offset, run.stored, &s, &err);
            t.base = run.offset;
        }
        if (err.status == OK)
            hdf5_tree_index(&t, s, &err);
    }
    source_close(s);
    if (err.status == OK || job->err->status != OK)
        return;
    *job->err = err;
    error_prefix(job->err, m->name);
}

static enum status keras_index(struct job *job)
{
    struct zip z = {0};
    if (zip_open(job->source, ZIP_UNIQUE, job->arena, &z, job->err) == OK)
        zip_report(job, NULL, &z, 0);
    if (job->err->status == OK && !zip_find(&z, METADATA) && !zip_find(&z, WEIGHTS)) {
        error_set(job->err, ERR_CORRUPT, job->path, NO_OFFSET,
                  "a zip archive without metadata.json and model.weights.h5");
        error_code(job->err, "bad-keras");
    }
    for (uint64_t i = 0; job->err->status == OK && i < z.count; i++) {
        const struct zip_member *m = &z.members[i];
        if (strcmp(m->name, METADATA) == 0)
            json_facts(job, &z, m, "");
        else if (strcmp(m->name, CONFIG) == 0)
            json_facts(job, &z, m, CONFIG ":");
        else if (text_ends_in(m->name, m->name_len, ".weights.h5") &&
                 !memchr(m->name, '/', m->name_len))
            add_weights(job, &z, m);
        else if (text_ends_in(m->name, m->name_len, ".npz"))
            job_issue(job, ISSUE_ERROR, NULL, m->header, "unsupported",
                      "weights as pickled objects (%.100s) are not read", m->name);
    }
    return job->err->status;
}

const struct format format_keras = {
    .name = "keras",
    .summary = "Keras 3 archives",
    .suffixes = ".keras",
    .separator = '/',
    .probe = keras_probe,
    .index = keras_index,
};

/*
 * keras.c - a Keras 3 archive: a zip with configuration and weights.
 *
 *   metadata.json      keras_version, date_saved: facts under their own names
 *   config.json        the model: facts under "config.json:"
 *   model.weights.h5   the tensors (hdf5_walk.h); or shards, model_00000.weights.h5 ...
 *   model.weights.npz  or an archive in the archive: LAYER.npy, an array of one object (torch_file.h), "__root__"
 *                      the model's own. Also a file by itself; names are those that an .h5 has
 *   assets/            not read
 *
 * Tensors of a stored member are ranges of the archive; tensors of a compressed member are cut out
 * of the inflated bytes. The configuration is stated as facts, and never acted on.
 *
 * Source: keras/src/saving/saving_lib.py; files of Keras 3.0 to 3.15.
 */
#include <stdio.h>
#include <string.h>

#include "catalog/base/text.h"
#include "catalog/data/codec/codec.h"
#include "importer/container/npyhead.h"
#include "importer/format/hdf5/hdf5_walk.h"
#include "importer/format/torch/torch_file.h"

#define LOCAL_MAGIC    "PK\3\4"
#define NAME_AT        30
#define NPZ            ".weights.npz"
#define NPY            ".npy"
#define ROOT           "__root__" NPY
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
    if (text_ends_in(p->name, strlen(p->name), NPZ) && probe_holds(p, "'descr': '|O'"))
        return 72; /* more than NumPy's own */
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
                  "%llu bytes from only %llu stored ones: no weights shrink so much",
                  (unsigned long long)m->size, (unsigned long long)m->stored);
    else if (source_open_view(job->source, run->offset, run->stored, &s, err) == OK &&
             codec_chain_open(s, run->codec, &s, NULL, err) == OK)
        source_open_spill(s, out, err);
}

/* --- weights as pickles ------------------------------------------------------------------- */

/* Open the pickle in an array of objects: *at is where it begins in the member's decoded bytes. */
static struct source *open_objects(struct job *job, const struct zip *z, const struct zip_member *m,
                                   struct arena *arena, uint64_t *at, struct error *err)
{
    uint8_t start[NPY_FIXED_BYTES];
    struct bytes bytes;
    struct source *s = NULL;
    size_t got;
    if (zip_head(z, m, start, sizeof(start), &got, err) != OK ||
        npy_head_size((struct bytes){start, got}, job->path, at, err) != OK)
        return NULL;
    if (*at > m->size)
        error_set(err, ERR_CORRUPT, job->path, NO_OFFSET, "it ends in the header of its array");
    else if (m->method == ZIP_STORED)
        source_open_view(z->source, m->data + *at, m->size - *at, &s, err);
    else if (zip_read(z, m, LIMIT_PICKLE_INFLATE, arena, &bytes, err) == OK)
        source_open_memory(job->path, (struct bytes){bytes.at + *at, bytes.len - (size_t)*at},
                           false, &s, err);
    return s;
}

/* The run of `size` bytes after the first `at` of a member's, in an archive that is itself a member. */
static bool layer_run(const struct zip_run *all, const struct zip_run *member, uint64_t at,
                      uint64_t size, struct text *codec, struct torch_run *out)
{
    *out = (struct torch_run){.offset = all->offset, .stored = all->stored, .size = size};
    if (*all->codec) {
        text_addf(codec, "%s|cut:%llu,%llu", all->codec, (unsigned long long)(member->offset + at),
                  (unsigned long long)size);
        out->codec = text_str(codec);
        return out->codec && !*member->codec;
    }
    out->offset += member->offset + (*member->codec ? 0 : at);
    out->stored = *member->codec ? member->stored : size;
    if (*member->codec) {
        text_addf(codec, "%s|skip:%llu", member->codec, (unsigned long long)at);
        out->codec = text_str(codec);
        return out->codec;
    }
    return true;
}

static void add_layer(struct job *job, const struct zip *z, const struct zip_run *all,
                      const struct zip_member *m, struct error *err)
{
    struct arena arena = {.ceiling = job->arena->ceiling, .err = job->err};
    struct text prefix = {0}, codec = {.limit = CHAIN_BYTES - 1};
    struct torch_tree t = {.job = job, .arena = &arena, .member = m->name};
    struct zip_run run;
    struct source *pickle = NULL;
    uint64_t at = 0;
    if (strcmp(m->name, ROOT) != 0)
        text_addf(&prefix, "%.*s/", (int)(m->name_len - strlen(NPY)), m->name);
    text_adds(&prefix, "vars/");
    t.prefix = text_str(&prefix);
    if (!t.prefix)
        error_memory(err);
    else if (zip_run(z, m, &run, err) == OK)
        pickle = open_objects(job, z, m, &arena, &at, err);
    if (pickle && !layer_run(all, &run, at, pickle->size, &codec, &t.run))
        error_set(err, ERR_UNSUPPORTED, job->path, NO_OFFSET, "it is compressed twice");
    if (pickle && err->status == OK) {
        t.source = pickle;
        torch_variables_state(&t, err);
        torch_tree_release(&t);
    }
    source_close(pickle);
    text_release(&codec);
    text_release(&prefix);
    arena_release(&arena);
}

/* State all layers of the archive that `s` is; `all` is where its bytes are in the file. */
static void add_layers(struct job *job, const struct source *s, const struct zip_run *all,
                       struct error *err)
{
    struct zip z = {0};
    zip_open(s, ZIP_UNIQUE, job->arena, &z, err);
    for (uint64_t i = 0; i < z.count && job->err->status == OK; i++) {
        struct error why = {.offset = NO_OFFSET};
        const struct zip_member *m = &z.members[i];
        if (text_ends_in(m->name, m->name_len, NPY))
            add_layer(job, &z, all, m, &why);
        if (status_passes(why.status)) {
            *err = why;
            return;
        }
        if (why.status == OK)
            continue;
        error_prefix(&why, m->name);
        why.offset = *all->codec ? NO_OFFSET : all->offset + m->header;
        job_issue_error(job, ISSUE_ERROR, &why);
    }
}

static void add_weights(struct job *job, const struct zip *z, const struct zip_member *m)
{
    struct error err = {.offset = NO_OFFSET};
    struct source *s = NULL;
    struct zip_run run;
    if (zip_run(z, m, &run, &err) == OK && *run.codec)
        inflate(job, m, &run, &s, &err);
    else if (err.status == OK)
        source_open_view(job->source, run.offset, run.stored, &s, &err);
    if (err.status == OK && text_ends_in(m->name, m->name_len, NPZ)) {
        add_layers(job, s, &run, &err);
    } else if (err.status == OK) {
        struct hdf5_tree t = {
            .job = job, .path = job->path, .member_at = run.offset, .member_stored = run.stored};
        if (*run.codec)
            t.inflate = run.codec;
        else
            t.base = run.offset;
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
    if (text_ends_in(job->path, strlen(job->path), NPZ)) {
        add_layers(job, job->source, &(struct zip_run){.stored = job->source->size}, job->err);
        return job->err->status;
    }
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
        else if ((text_ends_in(m->name, m->name_len, ".weights.h5") ||
                  text_ends_in(m->name, m->name_len, NPZ)) &&
                 !memchr(m->name, '/', m->name_len))
            add_weights(job, &z, m);
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

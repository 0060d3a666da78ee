/*
 * tf_shards.c - PREFIX.data-SSSSS-of-NNNNN and the other files of a bundle.
 *
 * Source: tensorflow/core/util/tensor_bundle/naming.cc.
 */
#include "importer/format/tensorflow/tf_shards.h"

#include <stdio.h>
#include <string.h>

#include "catalog/base/name_list.h"
#include "importer/container/shard_name.h"

#define INDEX_SUFFIX ".index"
#define GRAPH_SUFFIX ".meta"
#define DATA_INFIX   ".data"

#define PATH_BYTES 8192

size_t tf_prefix_length(const char *name)
{
    size_t len = strlen(name), suffix = strlen(INDEX_SUFFIX);
    bool ends = len > suffix && strcmp(name + len - suffix, INDEX_SUFFIX) == 0;
    return ends ? len - suffix : len;
}

static bool is_data_file(const char *after_infix)
{
    struct shard_name s;
    return shard_number(after_infix, SHARD_DIGITS, &s) && !*s.rest;
}

enum status tf_shards_claim(struct claim *claim)
{
    struct text name = {.limit = PATH_BYTES};
    size_t prefix = tf_prefix_length(claim->name);
    text_add(&name, claim->name, prefix);
    text_adds(&name, GRAPH_SUFFIX);
    if (text_str(&name))
        claim_take(claim, text_str(&name));
    text_reset(&name);
    text_add(&name, claim->name, prefix);
    text_adds(&name, DATA_INFIX);
    if (text_str(&name))
        claim_take_prefix(claim, text_str(&name), is_data_file);
    text_release(&name);
    return OK;
}

enum status tf_shards_open(struct tf_shards *s, struct job *job)
{
    const char *slash = strrchr(job->path, '/');
    *s = (struct tf_shards){.job = job, .prefix.limit = PATH_BYTES};
    s->name_at = slash ? (size_t)(slash - job->path) + 1 : 0;
    text_add(&s->prefix, job->path, s->name_at + tf_prefix_length(job->path + s->name_at));
    if (!text_str(&s->prefix))
        return error_set(job->err, ERR_LIMIT, job->path, NO_OFFSET, "a path of over %d bytes",
                         PATH_BYTES);
    return OK;
}

void tf_shards_count(struct tf_shards *s, uint32_t count)
{
    s->count = count;
    s->list = arena_array(s->job->arena, count, sizeof(*s->list));
}

const char *tf_shards_name(struct tf_shards *s)
{
    return text_str(&s->prefix) + s->name_at;
}

/* When the parts of a save were merged, names may state another number of shards than the header:
 * "data-00000-of-00001" in a bundle of 2. If there is just one file of this shard, put it into
 * `path`. */
static bool find_renamed(struct tf_shards *s, uint32_t shard, struct text *path)
{
    char stem[32];
    uint64_t count;
    const char *const *names = job_siblings(s->job, &count);
    snprintf(stem, sizeof(stem), DATA_INFIX "-%05lu-of-", (unsigned long)shard);
    text_reset(path);
    text_adds(path, tf_shards_name(s));
    text_adds(path, stem);
    const char *begin = text_str(path);
    if (!begin)
        return false;
    uint64_t first = names_from(names, count, begin);
    uint64_t at = first;
    while (at < count && strncmp(names[at], begin, path->len) == 0)
        at++;
    if (at != first + 1)
        return false;
    text_reset(path);
    text_add(path, text_str(&s->prefix), s->name_at);
    text_adds(path, names[first]);
    return text_str(path) != NULL;
}

static bool is_listed(struct tf_shards *s, const char *name)
{
    uint64_t count;
    const char *const *names = job_siblings(s->job, &count);
    return names_hold(names, count, name);
}

/* A file of the directory that ends like the missing one and belongs to no other bundle:
 * downloads are often renamed. NULL: none. */
static const char *find_lookalike(struct tf_shards *s, const char *missing)
{
    uint64_t count;
    const char *found = NULL, *infix = strstr(missing + s->prefix.len, DATA_INFIX);
    const char *const *names = job_siblings(s->job, &count);
    struct text index = {.limit = PATH_BYTES};
    for (uint64_t i = 0; infix && !found && i < count; i++) {
        const char *end = strstr(names[i], infix);
        if (!end)
            continue;
        text_reset(&index);
        text_add(&index, names[i], (size_t)(end - names[i]));
        text_adds(&index, INDEX_SUFFIX);
        if (text_str(&index) && !is_listed(s, text_str(&index)))
            found = names[i];
    }
    text_release(&index);
    return found;
}

/* The path of a shard under its proper name, or, if that does not exist, under another number of
 * shards. */
static const char *choose_path(struct tf_shards *s, uint32_t shard, struct text *path)
{
    struct text other = {.limit = PATH_BYTES};
    text_adds(path, text_str(&s->prefix));
    text_addf(path, DATA_INFIX "-%05lu-of-%05lu", (unsigned long)shard, (unsigned long)s->count);
    const char *right = text_str(path);
    if (right && !is_listed(s, right + s->name_at) && find_renamed(s, shard, &other)) {
        s->list[shard].renamed = true;
        text_release(path);
        *path = other;
        return text_str(path);
    }
    text_release(&other);
    return right;
}

void tf_shards_file(struct tf_shards *s, uint32_t shard, uint32_t *file)
{
    struct tf_shard *one = &s->list[shard];
    if (one->file) {
        *file = one->file - 1;
        return;
    }
    struct error why = {0};
    uint32_t found = 0;
    struct text text = {.limit = PATH_BYTES};
    const char *path = choose_path(s, shard, &text);
    if (!path || job_file(s->job, path, "data", &found, &why) == ERR_MEMORY) {
        error_memory(s->job->err);
    } else if (why.status != OK) {
        char hint[256] = "";
        const bool absent = why.status == ERR_MISSING && !why.code;
        const char *other = s->advised ? NULL : find_lookalike(s, path);
        s->advised = true; /* once only: a search for every shard would take too long */
        if (other)
            snprintf(hint, sizeof(hint), " (is it \"%.200s\"?)", other);
        job_issue(s->job, ISSUE_ERROR, path, NO_OFFSET, absent ? "missing-shard" : error_word(&why),
                  "data file %.200s%s%.200s%s: its tensors are listed without data",
                  path + s->name_at, absent ? " is missing" : ": ", absent ? "" : why.message,
                  hint);
    }
    one->file = found + 1;
    *file = found;
    text_release(&text);
}

/* Add a file beside the index that is not read. */
static void add_beside(struct tf_shards *s, const char *name, const char *role)
{
    struct error why = {0};
    uint32_t file;
    struct text path = {.limit = PATH_BYTES};
    text_add(&path, text_str(&s->prefix), s->name_at);
    text_adds(&path, name);
    if (!text_str(&path) || job_file(s->job, text_str(&path), role, &file, &why) == ERR_MEMORY)
        error_memory(s->job->err);
    else if (strcmp(role, "extra") == 0)
        job_issue(s->job, ISSUE_WARNING, text_str(&path), NO_OFFSET, "extra-shard",
                  "not a data file of this checkpoint, which has %lu", (unsigned long)s->count);
    text_release(&path);
}

void tf_shards_list(struct tf_shards *s, bool after)
{
    struct text stem = {.limit = PATH_BYTES};
    uint64_t count;
    struct shard_name n;
    const char *const *names = job_siblings(s->job, &count);
    uint32_t file;
    text_adds(&stem, tf_shards_name(s));
    text_addc(&stem, '.');
    uint64_t at = text_str(&stem) ? names_from(names, count, text_str(&stem)) : count;
    for (; at < count && strncmp(names[at], text_str(&stem), stem.len) == 0; at++) {
        const char *suffix = names[at] + stem.len - 1;
        if (strcmp(suffix, GRAPH_SUFFIX) == 0 && after)
            add_beside(s, names[at], "graph");
        if (strncmp(suffix, DATA_INFIX, strlen(DATA_INFIX)) != 0 ||
            !shard_number(suffix + strlen(DATA_INFIX), SHARD_DIGITS, &n) || *n.rest)
            continue;
        bool own = n.count == s->count && n.part < n.count;
        if (own && !after)
            tf_shards_file(s, (uint32_t)n.part, &file);
        if (!own && after && !(n.part < s->count && s->list[n.part].renamed))
            add_beside(s, names[at], "extra");
    }
    text_release(&stem);
}

/*
 * keras_sharded.c - Keras 3 weights in several files: NAME.weights.json beside
 * NAME_00000.weights.h5, NAME_00001.weights.h5, ...
 *
 *   metadata     total_size: a fact
 *   weight_map   a group of variables ("/layers/dense/vars") -> the shard that has it, or a list
 *                of shards
 *
 * The index is not trusted: shards must be plain names of files beside it, a tensor counts only
 * if the index puts its group into its shard, and each disagreement is an issue of the set.
 *
 * Source: keras/src/saving/saving_lib.py (ShardedH5IOStore).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "catalog/base/json.h"
#include "catalog/base/name_list.h"
#include "importer/format/hdf5/hdf5_walk.h"
#include "importer/job/facts.h"

#define INDEX_SUFFIX ".weights.json"
#define SHARD_SUFFIX ".weights.h5"

struct keras_group {
    const struct json_value *shards; /* a name, or a list of names */
    bool found;
};

struct keras_set {
    struct job *job;
    struct arena *arena;
    const struct json_value *map;
    const char **shards; /* sorted, no duplicates */
    bool *lost;
    size_t shard_count, shard_space;
    const char *shard;    /* the current one */
    struct strmap groups; /* name of a group in the map -> position below */
    struct keras_group *group;
    uint64_t nbytes;
    uint64_t strays;   /* tensors in a shard where the index does not put their group, */
    const char *stray; /* and the name of the first */
};

/* By keys and values, not as JSON: the probe's head may end inside the map. */
static int keras_sharded_probe(const struct probe *p)
{
    size_t len = strlen(p->name), n = strlen(INDEX_SUFFIX), at = 0;
    while (at < p->head.len && p->head.at[at] && strchr(" \t\r\n", p->head.at[at]))
        at++;
    if (at == p->head.len || p->head.at[at] != '{')
        return 0;
    if (probe_holds(p, "\"weight_map\"") && probe_holds(p, SHARD_SUFFIX "\""))
        return 72; /* more than hdf5-sharded, whose shards also end in .h5 */
    return len > n && strcmp(p->name + len - n, INDEX_SUFFIX) == 0 ? 8 : 0;
}

static bool add_shard(struct keras_set *s, const struct json_value *name)
{
    if (name->type != JSON_STRING || strlen((const char *)name->text.at) != name->text.len)
        return false;
    *PUSH(s->arena, s->shards, s->shard_count, s->shard_space) = (const char *)name->text.at;
    return true;
}

/* Collect the shards that the map names, sorted, without duplicates. False: it is not such a map. */
static bool collect_shards(struct keras_set *s, const struct json_value *index)
{
    s->map = json_get(index, "weight_map");
    if (json_type_of(s->map) != JSON_OBJECT)
        return false;
    for (const struct json_value *v = s->map->first; v; v = v->next) {
        if (v->type != JSON_ARRAY && !add_shard(s, v))
            return false;
        for (const struct json_value *w = v->type == JSON_ARRAY ? v->first : NULL; w; w = w->next)
            if (!add_shard(s, w))
                return false;
    }
    names_sort(s->shards, s->shard_count);
    size_t kept = 0;
    for (size_t i = 0; i < s->shard_count; i++)
        if (!kept || strcmp(s->shards[kept - 1], s->shards[i]) != 0)
            s->shards[kept++] = s->shards[i];
    s->shard_count = kept;
    return true;
}

/* Whether `rest` may follow the index's stem in the name of a shard: "_00000.weights.h5" in
 * "model_00000.weights.h5", for "model.weights.json". */
static bool is_own_shard(const char *rest)
{
    if (*rest++ != '_')
        return false;
    size_t digits = strspn(rest, "0123456789");
    return digits >= 5 && strcmp(rest + digits, SHARD_SUFFIX) == 0;
}

static size_t stem_length(const char *name)
{
    size_t len = strlen(name), n = strlen(INDEX_SUFFIX);
    return len > n && strcmp(name + len - n, INDEX_SUFFIX) == 0 ? len - n : 0;
}

static enum status keras_sharded_claim(struct claim *c)
{
    struct error err = {.offset = NO_OFFSET};
    struct arena arena = {.ceiling = LIMIT_ARENA_BYTES, .err = &err};
    struct keras_set s = {.arena = &arena};
    uint8_t *bytes = NULL;
    size_t len, stem = stem_length(c->name);
    const char *prefix = arena_copy(&arena, c->name, stem);
    if (claim_read(c, LIMIT_HEADER_BYTES, &bytes, &len, &err) == OK &&
        collect_shards(&s, json_read_tree((struct bytes){bytes, len}, &arena, &err)))
        for (size_t i = 0; i < s.shard_count; i++)
            claim_take(c, s.shards[i]);
    if (*prefix) /* these belong to the set even if the index cannot be read */
        claim_take_prefix(c, prefix, is_own_shard);
    arena_release(&arena);
    free(bytes);
    return err.status == ERR_MEMORY ? ERR_MEMORY : OK;
}

/* --- indexing ----------------------------------------------------------------------------- */

static bool names_shard(const struct json_value *v, const char *shard)
{
    if (v->type != JSON_ARRAY)
        return json_string_is(v, shard);
    for (const struct json_value *w = v->first; w; w = w->next)
        if (json_string_is(w, shard))
            return true;
    return false;
}

/* Whether the index puts the tensor's group into the current shard. */
static bool keras_wants(struct hdf5_tree *t, const char *name, size_t len)
{
    struct keras_set *s = t->set;
    while (len && name[len - 1] != '/')
        len--;
    uint64_t *at = strmap_get(&s->groups, name, len ? len - 1 : 0);
    if (at && names_shard(s->group[*at].shards, s->shard)) {
        s->group[*at].found = true;
        return true;
    }
    if (!s->strays++)
        s->stray = arena_copy(s->arena, t->name.at, t->name.len);
    return false;
}

static void index_keras_shard(struct keras_set *s, size_t i)
{
    struct error err = {.offset = NO_OFFSET};
    struct source *source = NULL;
    char what[320];
    uint32_t file;
    s->shard = s->shards[i];
    if (!*s->shard || strpbrk(s->shard, "/\\") || strcmp(s->shard, ".") == 0 ||
        strcmp(s->shard, "..") == 0) {
        error_set(&err, ERR_CORRUPT, s->job->path, NO_OFFSET,
                  "not the name of a file beside the index");
        error_code(&err, "bad-shard-name");
    } else if (job_open(s->job, s->shard, "data", &source, &file, &err) == ERR_MISSING) {
        error_code(&err, "missing-shard");
    }
    if (err.status == OK && source) {
        struct hdf5_tree t = {.job = s->job,
                              .path = source->name,
                              .file = file,
                              .no_facts = true,
                              .wants = keras_wants,
                              .set = s};
        hdf5_tree_index(&t, source, &err);
        s->nbytes += t.nbytes;
    }
    if (err.status == OK || s->job->err->status != OK)
        return;
    if (err.status == ERR_MEMORY) {
        *s->job->err = err;
        return;
    }
    snprintf(what, sizeof(what), "shard %.200s", s->shard);
    error_prefix(&err, what);
    job_issue_error(s->job, ISSUE_ERROR, &err);
    s->lost[i] = true;
}

static bool is_lost(const struct keras_set *s, const struct json_value *shard)
{
    return s->lost[names_from(s->shards, s->shard_count, (const char *)shard->text.at)];
}

/* Whether all shards that a group names are lost. */
static bool all_lost(const struct keras_set *s, const struct json_value *v)
{
    if (v->type != JSON_ARRAY)
        return is_lost(s, v);
    for (const struct json_value *w = v->first; w; w = w->next)
        if (!is_lost(s, w))
            return false;
    return true;
}

static void report_differences(struct keras_set *s, const struct json_value *index)
{
    const struct json_value *total = json_get(json_get(index, "metadata"), "total_size");
    bool any_lost = false;
    for (size_t i = 0; i < s->shard_count; i++)
        any_lost |= s->lost[i];
    for (const struct json_value *v = s->map->first; v; v = v->next) {
        const char *key = v->key + strspn(v->key, "/");
        const uint64_t *at = strmap_get(&s->groups, key, strlen(key));
        bool empty = v->type == JSON_ARRAY && !v->first;
        if (at && s->group && !s->group[*at].found && !empty && !all_lost(s, v))
            job_issue(s->job, ISSUE_ERROR, NULL, NO_OFFSET, "not-in-shard",
                      "\"%.200s\" is in the index but not in its shard", v->key);
    }
    if (s->strays)
        job_issue(s->job, ISSUE_WARNING, NULL, NO_OFFSET, "not-in-index",
                  "tensors of shards that the index does not put there: %llu, the first is "
                  "\"%.200s\"; left out",
                  (unsigned long long)s->strays, s->stray ? s->stray : "");
    if (json_type_of(total) == JSON_NUMBER && !any_lost &&
        strtod((const char *)total->text.at, NULL) != (double)s->nbytes)
        job_issue(s->job, ISSUE_WARNING, NULL, NO_OFFSET, "total-size",
                  "the index states a total_size of %.40s bytes, the tensors have %llu",
                  (const char *)total->text.at, (unsigned long long)s->nbytes);
}

/* Report files named like shards that the index does not list: leftovers of another save. */
static void report_extra_shards(struct keras_set *s)
{
    uint64_t count;
    const char *const *names = job_siblings(s->job, &count);
    const char *slash = strrchr(s->job->path, '/');
    size_t stem = slash ? stem_length(slash + 1) : 0;
    for (uint64_t i = 0; stem && i < count; i++) {
        struct error ignored = {.offset = NO_OFFSET};
        struct text path = {.limit = 8192};
        uint32_t file;
        if (strncmp(names[i], slash + 1, stem) != 0 || !is_own_shard(names[i] + stem) ||
            names_hold(s->shards, s->shard_count, names[i]))
            continue;
        text_add(&path, s->job->path, (size_t)(slash + 1 - s->job->path));
        text_adds(&path, names[i]);
        /* Record it, or the set would look changed to every later import. */
        if (text_str(&path))
            job_file(s->job, text_str(&path), "extra", &file, &ignored);
        job_issue(s->job, ISSUE_WARNING, text_str(&path), NO_OFFSET, "extra-shard",
                  "the index does not name this shard: its tensors are left out");
        text_release(&path);
    }
}

/* NULL after a failure. *text: the index's own. */
static const struct json_value *read_keras_index(struct job *job, struct bytes *text)
{
    const struct source *s = job->source;
    if (s->size > LIMIT_HEADER_BYTES) {
        error_set(job->err, ERR_LIMIT, s->name, NO_OFFSET, "an index of %llu bytes, most is %llu",
                  (unsigned long long)s->size, (unsigned long long)LIMIT_HEADER_BYTES);
        return NULL;
    }
    uint8_t *bytes = arena_alloc(job->arena, (size_t)s->size + 1);
    *text = (struct bytes){bytes, (size_t)s->size};
    if (!bytes || source_read(s, 0, bytes, text->len, job->err) != OK)
        return NULL;
    const struct json_value *index = json_read_tree(*text, job->arena, job->err);
    if (!index)
        error_code(job->err, "bad-index");
    return index;
}

static bool keras_read_metadata(void *context, struct json *j)
{
    return facts_state(context, j, "", '.');
}

static enum status keras_sharded_index(struct job *job)
{
    /* The shards' own attributes are not stated. */
    static const struct json_member facts[] = {{"metadata", keras_read_metadata}, {0}};
    struct json json;
    struct bytes text;
    struct keras_set s = {.job = job, .arena = job->arena, .groups.err = job->err};
    job_role(job, 0, "index");
    const struct json_value *index = read_keras_index(job, &text);
    if (!index)
        return job->err->status;
    if (!collect_shards(&s, index)) {
        error_set(job->err, ERR_CORRUPT, job->path, NO_OFFSET, "an index without weight_map");
        error_code(job->err, "bad-index");
    }
    if (job->err->status == OK) {
        json_init(&json, cursor_over(text, 0), job->arena, job->source->name, job->err);
        json_object(&json, "an object", facts, job);
        s.lost = arena_array(job->arena, s.shard_count + 1, sizeof(*s.lost));
        /* Index the groups by name, without the leading '/'; the last of two with the same name
         * counts. */
        size_t count = 0;
        s.group = arena_array(s.arena, s.map->count + 1, sizeof(*s.group));
        for (const struct json_value *v = s.map->first; v && s.group; v = v->next) {
            bool added;
            const char *key = v->key + strspn(v->key, "/");
            uint64_t *at = strmap_add(&s.groups, key, strlen(key), &added);
            if (added)
                *at = count++;
            s.group[*at].shards = v;
        }
    }
    for (size_t i = 0; i < s.shard_count && job->err->status == OK; i++)
        index_keras_shard(&s, i);
    if (job->err->status == OK) {
        report_differences(&s, index);
        report_extra_shards(&s);
    }
    strmap_release(&s.groups);
    return job->err->status;
}

const struct format format_keras_sharded = {
    .name = "keras-sharded",
    .summary = "Keras 3 weights in several files",
    .suffixes = ".weights.json",
    .separator = '/',
    .set = true,
    .probe = keras_sharded_probe,
    .claim = keras_sharded_claim,
    .index = keras_sharded_index,
};

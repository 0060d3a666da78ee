/*
 * weight_map.c - the index of a sharded checkpoint.
 *
 *   {"metadata": {"total_size": bytes of all tensors, ...}, "weight_map": {NAME: SHARD, ...}}
 *
 * "metadata" may be absent; some writers write total_size as a float. The shards of
 * STEM.safetensors.index.json are called STEM-00001-of-00005.safetensors; a variant is part
 * of the stem: STEM.safetensors.index.fp16.json, STEM.fp16-00001-of-00005.safetensors.
 *
 * Source: transformers/modeling_utils.py, huggingface_hub/serialization.
 */
#include "importer/container/weight_map.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "catalog/base/name_list.h"
#include "importer/container/shard_name.h"
#include "importer/job/facts.h"

struct weight_stray {
    uint64_t weight;
    uint32_t shard;
};

/* --- names ------------------------------------------------------------------------------ */

/* The stem of an index's name: "model" of "model.safetensors.index.json", "model.fp16" of
 * "model.safetensors.index.fp16.json". False: it is not the name of an index. */
static bool stem_of(const char *name, const char *suffix, struct text *stem)
{
    char middle[64];
    snprintf(middle, sizeof(middle), "%s.index.", suffix);
    const char *at = strstr(name, middle);
    if (!at)
        return false;
    const char *variant = at + strlen(middle);
    size_t len = strlen(variant);
    text_add(stem, name, (size_t)(at - name));
    if (strcmp(variant, "json") == 0)
        return text_str(stem) != NULL;
    if (len < 6 || strcmp(variant + len - 5, ".json") != 0)
        return false;
    text_addc(stem, '.');
    text_add(stem, variant, len - 5);
    return text_str(stem) != NULL;
}

/* Whether `name` is "-00001-of-00005" and then the suffix. */
static bool is_shard(const char *name, const char *suffix)
{
    struct shard_name s;
    return shard_number(name, SHARD_DIGITS, &s) && strcmp(s.rest, suffix) == 0;
}

static bool is_plain_name(struct bytes name)
{
    if (name.len == 0 || name.len > 255 || memchr(name.at, '/', name.len) ||
        memchr(name.at, '\\', name.len) || memchr(name.at, '\0', name.len))
        return false;
    return !(name.at[0] == '.' && (name.len == 1 || (name.len == 2 && name.at[1] == '.')));
}

bool weight_map_single(const struct format *f, const char *name, struct text *out)
{
    return stem_of(name, f->shard_suffix, out) && text_adds(out, f->shard_suffix);
}

int weight_map_probe(const struct probe *p)
{
    const char *suffix = p->format->shard_suffix;
    char value[64];
    size_t at = 0;
    while (at < p->head.len && p->head.at[at] && strchr(" \t\r\n", p->head.at[at]))
        at++;
    if (at == p->head.len || p->head.at[at] != '{')
        return 0;
    snprintf(value, sizeof(value), "%s\"", suffix);
    if (probe_holds(p, "\"weight_map\"") && probe_holds(p, value))
        return 64;
    struct text stem = {.limit = 4096};
    bool named = stem_of(p->name, suffix, &stem);
    text_release(&stem);
    return named ? 8 : 0;
}

/* --- reading ---------------------------------------------------------------------------- */

struct reading {
    struct json json;
    struct job *job; /* NULL: only the names of shards are wanted */
    struct weight_map *map;
    struct strmap shards; /* name -> position in map->shards */
    size_t weight_space, shard_space, shard_count;
    bool has_map, has_metadata;
};

/* The position of the shard named by the current text; a new shard is appended. Names that cannot
 * be files beside the index are kept too, and refused when they are opened. */
static uint32_t find_shard(struct reading *r)
{
    bool added;
    struct weight_map *m = r->map;
    struct bytes name = r->json.text;
    uint64_t *at = strmap_add(&r->shards, (const char *)name.at, name.len, &added);
    if (!added)
        return (uint32_t)*at;
    *at = r->shard_count;
    *PUSH(m->arena, m->shards, r->shard_count, r->shard_space) = (struct weight_shard){
        .name = arena_copy(m->arena, name.at, name.len), .lost = !is_plain_name(name)};
    return (uint32_t)r->shard_count - 1;
}

/* One pair of weight_map. Of a name that occurs twice the last value counts, as in Python. */
static bool read_weight(void *context, struct json *j)
{
    bool added;
    struct reading *r = context;
    struct weight_map *m = r->map;
    struct bytes name = j->text;
    uint64_t where = j->at;
    if (!json_want(j, JSON_STRING, "the name of a shard"))
        return false;
    uint32_t shard = find_shard(r);
    uint64_t *at = strmap_add(&m->names, (const char *)name.at, name.len, &added);
    if (added) {
        *at = m->count;
        *PUSH(m->arena, m->weights, m->count, r->weight_space) =
            (struct weight){.name = (const char *)name.at, .len = name.len, .shard = shard};
    } else {
        if (r->job)
            job_issue(r->job, ISSUE_WARNING, NULL, where, "duplicate-name",
                      "tensor \"%.*s\" occurs twice in the index: the later place counts",
                      (int)(name.len < 200 ? name.len : 200), (const char *)name.at);
        m->weights[*at].shard = shard;
    }
    return j->err->status == OK;
}

enum status weight_map_fact(struct weight_map *m, struct bytes key, struct bytes value,
                            struct bytes *before, struct error *err)
{
    static const uint8_t nothing[1];
    bool added;
    uint64_t *at = strmap_add(&m->facts, (const char *)key.at, key.len, &added);
    *before = (struct bytes){0};
    if (added) {
        *at = m->fact_count;
        *PUSH(m->arena, m->fact_texts, m->fact_count, m->fact_space) =
            (struct bytes){value.at ? value.at : nothing, value.len};
    } else if (*at < m->fact_count) { /* else that was not kept */
        *before = m->fact_texts[*at];
    }
    return err->status;
}

static bool read_fact(void *context, struct json *j)
{
    struct reading *r = context;
    struct weight_map *m = r->map;
    bool total = json_is(j, "total_size");
    struct bytes key = j->text, text = {0}, before;
    if (json_next(j) == JSON_STRING)
        text = j->text;
    weight_map_fact(m, key, text, &before, j->err);
    if (total && json_real(j, &m->total))
        m->has_total = true;
    return json_skip(j);
}

static bool refuse_second(struct json *j, bool *first)
{
    if (*first)
        return json_fail(j, ERR_CORRUPT, "bad-index", "a key occurs twice in the index");
    return *first = true;
}

/* State every member as a fact, and remember total_size. */
static bool weight_map_read_metadata(void *context, struct json *j)
{
    static const struct json_member table[] = {{NULL, read_fact}};
    struct reading *r = context;
    struct json again = *j;
    if (!refuse_second(j, &r->has_metadata) || json_next(j) == JSON_NULL)
        return j->type == JSON_NULL;
    if (j->type != JSON_OBJECT)
        return json_fail(j, ERR_CORRUPT, NULL, "an object expected");
    return json_members(j, table, r) && (!r->job || facts_state(r->job, &again, "", '.'));
}

static bool read_weights(void *context, struct json *j)
{
    static const struct json_member table[] = {{NULL, read_weight}};
    struct reading *r = context;
    return refuse_second(j, &r->has_map) && json_object(j, "weight_map's object", table, r);
}

/* Sort the shards by name, which is by number: the order in which loaders read them. */
static void sort_shards(struct weight_map *m)
{
    uint32_t *place = arena_array(m->arena, m->shard_count + 1u, sizeof(*place));
    if (!place)
        return;
    for (uint32_t i = 0; i < m->shard_count; i++)
        m->shards[i].weights = i;
    named_sort(m->shards, m->shard_count, sizeof(*m->shards));
    for (uint32_t i = 0; i < m->shard_count; i++) {
        place[m->shards[i].weights] = i;
        m->shards[i].weights = 0;
    }
    for (uint64_t i = 0; i < m->count; i++) {
        m->weights[i].shard = place[m->weights[i].shard];
        m->shards[m->weights[i].shard].weights++;
    }
}

/* The arena reports to `err`. */
static enum status weight_map_parse(struct job *job, struct bytes text, const char *source,
                                    struct arena *arena, struct weight_map *out, struct error *err)
{
    static const struct json_member table[] = {
        {"weight_map", read_weights}, {"metadata", weight_map_read_metadata}, {0}};
    *out =
        (struct weight_map){.arena = arena, .names.err = err, .tails.err = err, .facts.err = err};
    struct reading r = {.job = job, .map = out, .shards.err = err};
    struct json *j = &r.json;
    json_init(j, cursor_over(text, 0), arena, source, err);
    j->python = true;
    bool ok = json_object(j, "an object", table, &r) &&
              json_want(j, JSON_END, "the end of the index") &&
              (r.has_map || json_fail(j, ERR_CORRUPT, "bad-index", "an index without weight_map"));
    strmap_release(&r.shards);
    out->shard_count = (uint32_t)r.shard_count;
    if (ok && err->status == OK)
        sort_shards(out);
    else if (err->status == ERR_CORRUPT)
        error_code(err, "bad-index");
    return err->status;
}

enum status weight_map_claim(struct claim *c)
{
    const char *suffix = c->format->shard_suffix;
    struct error err = {.offset = NO_OFFSET};
    struct arena arena = {.ceiling = LIMIT_ARENA_BYTES, .err = &err};
    struct text stem = {.limit = 4096};
    struct weight_map m = {0};
    uint8_t *bytes = NULL;
    size_t len;
    if (claim_read(c, LIMIT_HEADER_BYTES, &bytes, &len, &err) == OK &&
        weight_map_parse(NULL, (struct bytes){bytes, len}, c->name, &arena, &m, &err) == OK)
        for (uint32_t i = 0; i < m.shard_count; i++)
            if (!m.shards[i].lost)
                claim_take(c, m.shards[i].name);
    /* Files named like shards belong to the set even if the index cannot be read. */
    uint64_t i =
        stem_of(c->name, suffix, &stem) ? names_from(c->names, c->count, stem.at) : c->count;
    for (; i < c->count && strncmp(c->names[i], stem.at, stem.len) == 0; i++)
        if (is_shard(c->names[i] + stem.len, suffix))
            claim_take(c, c->names[i]);
    strmap_release(&m.names);
    strmap_release(&m.facts);
    text_release(&stem);
    arena_release(&arena);
    free(bytes);
    return err.status == ERR_MEMORY ? ERR_MEMORY : OK;
}

/* Files named like shards that the index does not list: leftovers of another save. */
static void report_extra(struct job *job, const struct weight_map *m)
{
    const char *suffix = job->format->shard_suffix;
    uint64_t count;
    const char *const *names = job_siblings(job, &count);
    const char *slash = strrchr(job->path, '/');
    struct text stem = {.limit = 4096}, path = {.limit = 8192};
    if (!slash || !stem_of(slash + 1, suffix, &stem))
        count = 0;
    for (uint64_t i = 0; i < count; i++) {
        if (strncmp(names[i], stem.at, stem.len) != 0 || !is_shard(names[i] + stem.len, suffix) ||
            named_find(m->shards, m->shard_count, sizeof(*m->shards), names[i]))
            continue;
        text_reset(&path);
        text_add(&path, job->path, (size_t)(slash + 1 - job->path));
        text_adds(&path, names[i]);
        /* Record it, or the set would look changed to every later import. */
        uint32_t file;
        struct error ignored = {.offset = NO_OFFSET};
        if (text_str(&path))
            job_file(job, text_str(&path), "extra", &file, &ignored);
        job_issue(job, ISSUE_WARNING, text_str(&path), NO_OFFSET, "extra-shard",
                  "the index does not name this shard: its tensors are left out");
    }
    text_release(&stem);
    text_release(&path);
}

/* Read the job's primary file; states its metadata as facts and reports shards that it does not name. */
static enum status weight_map_read(struct job *job, struct weight_map *out)
{
    const struct source *s = job->source;
    *out = (struct weight_map){.arena = job->arena};
    job_role(job, 0, "index");
    if (s->size > LIMIT_HEADER_BYTES)
        return error_set(job->err, ERR_LIMIT, s->name, NO_OFFSET,
                         "an index of %llu bytes, most is %llu", (unsigned long long)s->size,
                         (unsigned long long)LIMIT_HEADER_BYTES);
    uint8_t *bytes = arena_alloc(job->arena, (size_t)s->size);
    struct bytes text = {bytes, (size_t)s->size};
    if (bytes && source_read(s, 0, bytes, text.len, job->err) == OK &&
        weight_map_parse(job, text, s->name, job->arena, out, job->err) == OK)
        report_extra(job, out);
    return job->err->status;
}

/* --- shards ----------------------------------------------------------------------------- */

#define AMBIGUOUS UINT64_MAX

static void make_tails(struct weight_map *m)
{
    m->has_tails = true;
    for (uint64_t i = 0; i < m->count; i++) {
        const struct weight *w = &m->weights[i];
        const char *slash = memchr(w->name, '/', w->len);
        bool added;
        if (!slash)
            continue;
        uint64_t *at =
            strmap_add(&m->tails, slash + 1, w->len - (size_t)(slash + 1 - w->name), &added);
        *at = added ? i : AMBIGUOUS;
    }
}

/* The weight that a name in a shard refers to; NULL: none. Names without the model's name
 * ("bert/kernel:0") are found among the tails if just one weight ends so. */
static struct weight *find_weight(struct weight_map *m, const char *name, size_t len)
{
    const uint64_t *at = strmap_get(&m->names, name, len);
    if (at)
        return &m->weights[*at];
    if (!m->has_tails)
        make_tails(m);
    at = strmap_get(&m->tails, name, len);
    return at && *at != AMBIGUOUS && !m->weights[*at].found ? &m->weights[*at] : NULL;
}

bool weight_map_wants(struct job *job, const struct weight_source *in, const char *name, size_t len)
{
    struct weight_map *m = in->map;
    struct weight *w = find_weight(m, name, len);
    if (!w) {
        job_issue(job, ISSUE_WARNING, NULL, NO_OFFSET, "not-in-index",
                  "tensor \"%.*s\" of shard %.100s is not in the index: left out",
                  (int)(len < 200 ? len : 200), name, m->shards[in->shard].name);
        return false;
    }
    if (w->shard == in->shard) {
        w->found = true;
        return true;
    }
    *PUSH(m->arena, m->strays, m->stray_count, m->stray_space) =
        (struct weight_stray){(uint64_t)(w - m->weights), in->shard};
    return false;
}

/* Report where the index and the shards disagree. */
static void report_differences(struct job *job, const struct weight_map *m)
{
    for (uint64_t i = 0; i < m->stray_count; i++) {
        const struct weight *w = &m->weights[m->strays[i].weight];
        job_issue(job, ISSUE_WARNING, NULL, NO_OFFSET, w->found ? "duplicate-name" : "not-in-index",
                  "tensor \"%.*s\" is in shard %.100s too, the index says %.100s: left out",
                  (int)(w->len < 200 ? w->len : 200), w->name, m->shards[m->strays[i].shard].name,
                  m->shards[w->shard].name);
    }
    for (uint64_t i = 0; i < m->count; i++) {
        const struct weight *w = &m->weights[i];
        if (!w->found && !m->shards[w->shard].lost)
            job_issue(job, ISSUE_ERROR, NULL, NO_OFFSET, "not-in-shard",
                      "tensor \"%.*s\" is in the index but not in its shard %.100s",
                      (int)(w->len < 200 ? w->len : 200), w->name, m->shards[w->shard].name);
    }
    if (m->has_total && !m->any_lost &&
        (m->total < (double)(m->nbytes - m->tied) || m->total > (double)m->nbytes))
        job_issue(job, ISSUE_WARNING, NULL, NO_OFFSET, "total-size",
                  "the index states a total_size of %.0f bytes, the tensors have %llu", m->total,
                  (unsigned long long)m->nbytes);
}

/* Read a shard. If it cannot be used, that is one issue instead of one for each of its tensors; lack
 * of memory is the job's. */
static void index_shard(struct job *job, struct weight_map *m, uint32_t number)
{
    char what[320];
    struct error err = {.offset = NO_OFFSET};
    struct weight_shard *shard = &m->shards[number];
    struct weight_source in = {.map = m, .shard = number};
    if (shard->lost) {
        error_set(&err, ERR_CORRUPT, job->path, NO_OFFSET,
                  "not the name of a file beside the index");
        error_code(&err, "bad-shard-name");
    } else if (job_open(job, shard->name, "data", &in.source, &in.file, &err) == ERR_MISSING) {
        error_code(&err, "missing-shard");
    }
    if (err.status == OK)
        job->format->read_shard(job, &in, &err);
    if (err.status == OK || job->err->status != OK)
        return;
    if (err.status == ERR_MEMORY)
        *job->err = err;
    snprintf(what, sizeof(what), "shard %.200s (%llu tensors)", shard->name,
             (unsigned long long)shard->weights);
    error_prefix(&err, what);
    job_issue_error(job, ISSUE_ERROR, &err);
    shard->lost = m->any_lost = true;
}

enum status weight_map_index(struct job *job)
{
    struct weight_map m;
    if (weight_map_read(job, &m) == OK)
        for (uint32_t i = 0; i < m.shard_count && job->err->status == OK; i++)
            index_shard(job, &m, i);
    if (job->err->status == OK)
        report_differences(job, &m);
    strmap_release(&m.names);
    strmap_release(&m.tails);
    strmap_release(&m.facts);
    return job->err->status;
}

/*
 * names.c - a checkpoint of names without bytes: a model's skeleton, or a list to try a map on.
 *
 *   {"ckptdb": "names", "tensors": {NAME: {"dtype": text, "shape": [numbers]}, ...}}
 *   {"ckptdb": "names", "tree": {KEY: subtree, ...} or [subtree, ...]}
 *
 * In the first form dtype and shape may be null or absent. In the second a leaf is
 * "float32[2,3]", or "?" for what is not known; names are keys and list positions joined by
 * '/'; null, {} and [] are leaves without a tensor. Both may be in one file.
 *
 * Source: this program's own.
 */
#include <stdio.h>
#include <string.h>

#include "catalog/base/json.h"
#include "importer/job/job.h"

struct names {
    struct job *job;
    struct json json;
    struct text path; /* of the current value, in a tree */
    /* The open objects and arrays of the tree, outermost first: */
    struct level {
        size_t path;   /* length of this level's own path in `path` above */
        uint64_t next; /* array: position of its next item */
        bool array, empty;
    } levels[LIMIT_JSON_DEPTH];
    unsigned depth;
    const char *unknown; /* the first unknown dtype; NULL: none */
};

static bool names_no_memory(struct names *n)
{
    return json_fail(&n->json, ERR_MEMORY, NULL, "no memory for a name");
}

static bool names_bad(struct names *n, const char *message)
{
    return json_fail(&n->json, ERR_CORRUPT, "bad-names", "%s", message);
}

static bool names_emit(struct names *n, struct tensor_claim *t)
{
    t->storage = STORAGE_NONE;
    if (job_tensor(n->job, t) == OK)
        return true;
    n->json.type = JSON_FAIL;
    return false;
}

/* The canonical name of a dtype; "unknown(X)" if there is no dtype X. NULL: no memory. */
static const char *dtype_named(struct names *n, struct bytes text)
{
    struct dtype found;
    char *name = arena_copy(n->job->arena, text.at, text.len);
    if (!name)
        return NULL;
    dtype_find(name, &found);
    if (found.kind != DTYPE_UNKNOWN || strncmp(name, "unknown(", 8) == 0)
        return name;
    n->unknown = n->unknown ? n->unknown : name;
    struct text wrapped = {.limit = text.len + 16};
    text_addf(&wrapped, "unknown(%s)", name);
    name = text_str(&wrapped) ? arena_copy(n->job->arena, wrapped.at, wrapped.len) : NULL;
    text_release(&wrapped);
    return name;
}

/* Whether a text with brackets in it is nevertheless a dtype: "datetime64[s]". */
static bool is_dtype(const char *text)
{
    struct dtype found;
    dtype_find(text, &found);
    return found.kind != DTYPE_UNKNOWN;
}

static bool set_dtype(struct names *n, struct bytes text, struct tensor_claim *t)
{
    if (!text.len || memchr(text.at, '\0', text.len))
        return names_bad(n, "this is not the name of a dtype");
    t->dtype_unknown = false;
    t->dtype = dtype_named(n, text);
    return t->dtype || names_no_memory(n);
}

/* --- tensors ---------------------------------------------------------------------------- */

static bool names_read_shape(struct names *n, struct tensor_claim *t)
{
    uint64_t shape[TENSOR_RANK_MAX];
    enum json_type type = json_next(&n->json);
    if (type == JSON_NULL)
        return true;
    if (type != JSON_ARRAY)
        return type != JSON_FAIL && names_bad(n, "a shape is a list of numbers, or null");
    while ((type = json_next(&n->json)) != JSON_ARRAY_END) {
        if (type == JSON_FAIL)
            return false;
        if (t->rank == TENSOR_RANK_MAX || !json_u64(&n->json, &shape[t->rank]))
            return names_bad(n, "a shape is a list of at most 254 whole numbers");
        t->rank++;
    }
    uint64_t *kept = arena_array(n->job->arena, t->rank ? t->rank : 1, sizeof(*kept));
    if (!kept)
        return names_no_memory(n);
    memcpy(kept, shape, t->rank * sizeof(*shape));
    t->shape = kept;
    t->shape_unknown = false;
    return true;
}

static bool names_read_dtype(struct names *n, struct tensor_claim *t)
{
    enum json_type type = json_next(&n->json);
    if (type == JSON_NULL)
        return true;
    if (type != JSON_STRING)
        return type != JSON_FAIL && names_bad(n, "a dtype is a text, or null");
    return set_dtype(n, n->json.text, t);
}

static bool names_read_entry(struct names *n)
{
    enum json_type type;
    bool has_dtype = false, has_shape = false;
    struct bytes name = n->json.text;
    struct tensor_claim t = {.name = (const char *)name.at,
                             .name_len = name.len,
                             .dtype_unknown = true,
                             .shape_unknown = true};
    if (!json_want(&n->json, JSON_OBJECT, "{\"dtype\": ..., \"shape\": ...}"))
        return false;
    while ((type = json_next(&n->json)) == JSON_KEY) {
        bool dtype = json_is(&n->json, "dtype"), shape = json_is(&n->json, "shape");
        if (!dtype && !shape)
            return names_bad(n, "a tensor has a dtype and a shape, and nothing else");
        if ((dtype && has_dtype) || (shape && has_shape))
            return names_bad(n, "a key occurs twice in a tensor");
        has_dtype |= dtype;
        has_shape |= shape;
        if (!(dtype ? names_read_dtype(n, &t) : names_read_shape(n, &t)))
            return false;
    }
    return type == JSON_OBJECT_END && names_emit(n, &t);
}

static bool names_read_tensors(struct names *n)
{
    enum json_type type;
    if (!json_want(&n->json, JSON_OBJECT, "an object of tensors"))
        return false;
    while ((type = json_next(&n->json)) == JSON_KEY)
        if (!names_read_entry(n))
            return false;
    return type == JSON_OBJECT_END;
}

/* --- tree ------------------------------------------------------------------------------- */

/* Reads "float32[2,3]", "float32", "?" or "?[2]". Brackets that do not hold a shape belong to the
 * dtype: "datetime64[s]". */
static bool names_read_leaf(struct names *n)
{
    uint64_t *shape;
    struct bytes text = n->json.text;
    struct tensor_claim t = {
        .name = n->path.at, .name_len = n->path.len, .dtype_unknown = true, .shape_unknown = true};
    char *leaf = arena_copy(n->job->arena, text.at, text.len);
    if (!leaf)
        return names_no_memory(n);
    char *bracket = strrchr(leaf, '[');
    if (bracket && shape_parse(bracket, n->job->arena, &shape, &t.rank)) {
        t.shape = shape;
        t.shape_unknown = false;
        text.len = (size_t)(bracket - leaf);
        *bracket = '\0';
    }
    bool unknown = text.len == 1 && text.at[0] == '?';
    if (!unknown && memchr(text.at, '[', text.len) && !is_dtype(leaf))
        return names_bad(n, "a leaf is \"dtype[shape]\" with a shape like [2,3], or \"?\"");
    return (unknown || set_dtype(n, text, &t)) && names_emit(n, &t);
}

static bool node(struct names *n, const char *kind)
{
    if (job_node(n->job, n->path.at, n->path.len, kind) == OK)
        return true;
    n->json.type = JSON_FAIL;
    return false;
}

/* Append `key` to the path of the innermost level. */
static bool set_path(struct names *n, const void *key, size_t len)
{
    struct level *l = &n->levels[n->depth - 1];
    l->empty = false;
    n->path.len = l->path;
    if (n->depth > 1)
        text_addc(&n->path, '/');
    text_add(&n->path, key, len);
    return text_str(&n->path) ||
           json_fail(&n->json, ERR_LIMIT, NULL, "a name of more than %llu bytes",
                     (unsigned long long)LIMIT_NAME_BYTES);
}

/* The key of an array's item is its position. */
static bool count_item(struct names *n)
{
    char digits[24];
    struct level *l = n->depth ? &n->levels[n->depth - 1] : NULL;
    if (!l || !l->array)
        return true;
    int len = snprintf(digits, sizeof(digits), "%llu", (unsigned long long)l->next++);
    return set_path(n, digits, (size_t)len);
}

static bool close_level(struct names *n)
{
    const struct level *l = &n->levels[--n->depth];
    n->path.len = l->path;
    return !l->empty || node(n, l->array ? "list" : "dict");
}

static bool names_read_value(struct names *n, enum json_type type)
{
    if (!count_item(n))
        return false;
    switch (type) {
    case JSON_OBJECT:
    case JSON_ARRAY:
        n->levels[n->depth++] = (struct level){n->path.len, 0, type == JSON_ARRAY, true};
        return true;
    case JSON_STRING:
        return names_read_leaf(n);
    case JSON_NULL:
        return node(n, "null");
    default:
        return names_bad(n, "a leaf is \"dtype[shape]\", \"?\", null, {} or []");
    }
}

static bool names_read_tree(struct names *n)
{
    bool ok = text_adds(&n->path, "");
    do {
        enum json_type type = json_next(&n->json);
        if (type == JSON_FAIL)
            ok = false;
        else if (type == JSON_KEY)
            ok = set_path(n, n->json.text.at, n->json.text.len);
        else if (type == JSON_OBJECT_END || type == JSON_ARRAY_END)
            ok = close_level(n);
        else
            ok = names_read_value(n, type);
    } while (ok && n->depth);
    return ok;
}

/* --- the file --------------------------------------------------------------------------- */

static bool names_read_file(struct names *n)
{
    enum json_type type;
    struct json *j = &n->json;
    bool tensors = false, tree = false;
    if (!json_want(j, JSON_OBJECT, "an object"))
        return false;
    while ((type = json_next(j)) == JSON_KEY) {
        bool ok;
        if (json_is(j, "ckptdb"))
            ok = json_want(j, JSON_STRING, "\"names\"") &&
                 (json_is(j, "names") || names_bad(n, "\"ckptdb\" is not \"names\""));
        else if (json_is(j, "tensors") && !tensors)
            ok = tensors = names_read_tensors(n);
        else if (json_is(j, "tree") && !tree)
            ok = tree = names_read_tree(n);
        else
            ok = names_bad(n, "keys are \"ckptdb\", \"tensors\" and \"tree\", each once");
        if (!ok)
            return false;
    }
    if (type != JSON_OBJECT_END || !json_want(j, JSON_END, "the end"))
        return false;
    return tensors || tree || names_bad(n, "neither \"tensors\" nor \"tree\"");
}

/* The mark may be anywhere in the object, as far as the probe sees it. */
static int names_probe(const struct probe *p)
{
    size_t at = 0;
    while (at < p->head.len && p->head.at[at] && strchr(" \t\r\n", p->head.at[at]))
        at++;
    bool object = at < p->head.len && p->head.at[at] == '{';
    return object && probe_holds(p, "\"ckptdb\"") && probe_holds(p, "\"names\"") ? 96 : 0;
}

static enum status names_index(struct job *job)
{
    const struct source *s = job->source;
    struct names n = {.job = job, .path = {.limit = LIMIT_NAME_BYTES}};
    if (s->size > LIMIT_HEADER_BYTES)
        return error_set(job->err, ERR_LIMIT, s->name, NO_OFFSET,
                         "%llu bytes of names, most is %llu", (unsigned long long)s->size,
                         (unsigned long long)LIMIT_HEADER_BYTES);
    uint8_t *bytes = arena_alloc(job->arena, (size_t)s->size);
    if (!bytes)
        return error_memory_at(job->err, s->name);
    if (source_read(s, 0, bytes, (size_t)s->size, job->err) != OK)
        return job->err->status;
    struct bytes text = {bytes, (size_t)s->size};
    json_init(&n.json, cursor_over(text, 0), job->arena, s->name, job->err);
    if (!names_read_file(&n) && job->err->status == ERR_CORRUPT)
        error_code(job->err, "bad-names");
    else if (job->err->status == OK && n.unknown)
        job_issue(job, ISSUE_WARNING, s->name, NO_OFFSET, "unknown-dtype",
                  "dtype \"%.100s\" is not known: such names are listed without a size", n.unknown);
    text_release(&n.path);
    return job->err->status;
}

const struct format format_names = {
    .name = "names",
    .summary = "names only: a JSON file of names, dtypes and shapes",
    .separator = '/',
    .probe = names_probe,
    .index = names_index,
};

/*
 * names.c - a checkpoint of names without bytes: a model's skeleton, or a list to try a map on.
 *
 *   {"ckptdb": "names", "tensors": {NAME: {"dtype": text, "shape": [numbers]}, ...}}
 *   {"ckptdb": "names", "tree": {KEY: subtree, ...} or [subtree, ...]}
 *
 * In the first form dtype and shape may be null or absent. In the second a leaf is
 * "float32[2,3]", or "?" for an unknown part; names are keys and list positions joined by
 * '/'; null, {} and [] are leaves without a tensor. Both may be in one file.
 *
 * Source: this program's own.
 */
#include <string.h>

#include "importer/job/job.h"
#include "importer/job/name_tree.h"

struct names {
    struct job *job;
    struct json json;
    struct name_tree tree;     /* its path: the name of the current value */
    struct tensor_claim claim; /* the tensor being read; */
    bool has_dtype, has_shape; /* these were stated */
    bool has_tensors, has_tree;
    const char *unknown; /* the first unknown dtype; NULL: none */
};

static bool names_bad(struct names *n, const char *message)
{
    return json_fail(&n->json, ERR_CORRUPT, "bad-names", "%s", message);
}

static bool names_emit(struct names *n)
{
    return job_tensor(n->job, &n->claim) == OK;
}

/* The canonical name of a dtype; "unknown(X)" if there is no dtype X. */
static const char *dtype_named(struct names *n, struct bytes text)
{
    struct dtype found;
    char *name = arena_copy(n->job->arena, text.at, text.len);
    dtype_find(name, &found);
    if (found.kind != DTYPE_UNKNOWN || strncmp(name, "unknown(", 8) == 0)
        return name;
    n->unknown = n->unknown ? n->unknown : name;
    struct text wrapped = {.limit = text.len + 16};
    text_addf(&wrapped, "unknown(%s)", name);
    if (text_str(&wrapped))
        name = arena_copy(n->job->arena, wrapped.at, wrapped.len);
    else
        arena_fail(n->job->arena);
    text_release(&wrapped);
    return name;
}

static bool set_dtype(struct names *n, struct bytes text)
{
    if (!text.len || memchr(text.at, '\0', text.len))
        return names_bad(n, "this is not the name of a dtype");
    n->claim.dtype_unknown = false;
    n->claim.dtype = dtype_named(n, text);
    return true;
}

static void names_begin(struct names *n, const void *name, size_t len)
{
    n->claim = (struct tensor_claim){.name = name,
                                     .name_len = len,
                                     .storage = STORAGE_NONE,
                                     .dtype_unknown = true,
                                     .shape_unknown = true};
    n->has_dtype = n->has_shape = false;
}

/* --- tensors ---------------------------------------------------------------------------- */

/* Whether the value of a member that may occur once is there, and not null. */
static bool is_stated(struct names *n, bool *has, enum json_type type, const char *wanted)
{
    if (*has)
        return names_bad(n, "a key occurs twice in a tensor");
    *has = true;
    enum json_type got = json_next(&n->json);
    if (got != type && got != JSON_NULL && got != JSON_FAIL)
        names_bad(n, wanted);
    return got == type;
}

static bool names_read_shape(void *context, struct json *j)
{
    struct names *n = context;
    struct tensor_claim *t = &n->claim;
    uint64_t shape[TENSOR_RANK_MAX];
    if (!is_stated(n, &n->has_shape, JSON_ARRAY, "a shape is a list of numbers, or null"))
        return j->type == JSON_NULL;
    while (json_next(j) != JSON_ARRAY_END) {
        if (j->type == JSON_FAIL)
            return false;
        if (t->rank == TENSOR_RANK_MAX || !json_u64(j, &shape[t->rank]))
            return names_bad(n, "a shape is a list of at most 254 whole numbers");
        t->rank++;
    }
    t->shape = (void *)arena_copy(n->job->arena, shape, t->rank * sizeof(*shape));
    t->shape_unknown = false;
    return true;
}

static bool names_read_dtype(void *context, struct json *j)
{
    struct names *n = context;
    if (!is_stated(n, &n->has_dtype, JSON_STRING, "a dtype is a text, or null"))
        return j->type == JSON_NULL;
    return set_dtype(n, j->text);
}

static bool refuse_other(void *context, struct json *j)
{
    (void)j;
    return names_bad(context, "a tensor has a dtype and a shape, and nothing else");
}

static bool names_read_entry(void *context, struct json *j)
{
    static const struct json_member table[] = {
        {"dtype", names_read_dtype}, {"shape", names_read_shape}, {NULL, refuse_other}};
    names_begin(context, j->text.at, j->text.len);
    return json_object(j, "{\"dtype\": ..., \"shape\": ...}", table, context) &&
           names_emit(context);
}

/* --- tree ------------------------------------------------------------------------------- */

/* Reads "float32[2,3]", "float32", "?" or "?[2]". Brackets that do not hold a shape belong to the
 * dtype: "datetime64[s]". */
static bool names_read_leaf(struct names *n)
{
    uint64_t *shape;
    struct dtype found;
    struct bytes text = n->json.text;
    struct tensor_claim *t = &n->claim;
    names_begin(n, n->tree.path.at, n->tree.path.len);
    char *leaf = arena_copy(n->job->arena, text.at, text.len);
    char *bracket = strrchr(leaf, '[');
    if (bracket && shape_parse(bracket, n->job->arena, &shape, &t->rank)) {
        t->shape = shape;
        t->shape_unknown = false;
        text.len = (size_t)(bracket - leaf);
        *bracket = '\0';
    }
    bool unknown = text.len == 1 && text.at[0] == '?';
    dtype_find(leaf, &found);
    if (!unknown && memchr(text.at, '[', text.len) && found.kind == DTYPE_UNKNOWN)
        return names_bad(n, "a leaf is \"dtype[shape]\" with a shape like [2,3], or \"?\"");
    return (unknown || set_dtype(n, text)) && names_emit(n);
}

static bool names_see(void *context)
{
    struct names *n = context;
    const char *empty = "null";
    switch (n->json.type) {
    case JSON_KEY:
    case JSON_OBJECT:
    case JSON_ARRAY: return true;
    case JSON_STRING: return names_read_leaf(n);
    case JSON_OBJECT_END: empty = "dict"; break;
    case JSON_ARRAY_END: empty = "list"; break;
    case JSON_NULL: break;
    default: return names_bad(n, "a leaf is \"dtype[shape]\", \"?\", null, {} or []");
    }
    return job_node(n->job, n->tree.path.at, n->tree.path.len, empty) == OK;
}

/* --- the file --------------------------------------------------------------------------- */

static bool names_refuse(void *context, struct json *j)
{
    (void)j;
    return names_bad(context, "keys are \"ckptdb\", \"tensors\" and \"tree\", each once");
}

static bool names_read_mark(void *context, struct json *j)
{
    return json_want(j, JSON_STRING, "\"names\"") &&
           (json_is(j, "names") || names_bad(context, "\"ckptdb\" is not \"names\""));
}

static bool names_read_tensors(void *context, struct json *j)
{
    static const struct json_member table[] = {{NULL, names_read_entry}};
    struct names *n = context;
    if (n->has_tensors)
        return names_refuse(n, j);
    n->has_tensors = true;
    return json_object(j, "an object of tensors", table, n);
}

static bool names_read_tree(void *context, struct json *j)
{
    struct names *n = context;
    if (n->has_tree)
        return names_refuse(n, j);
    n->has_tree = true;
    return name_tree_json(&n->tree, j, names_see, n);
}

static bool names_read_file(struct names *n)
{
    static const struct json_member table[] = {{"ckptdb", names_read_mark},
                                               {"tensors", names_read_tensors},
                                               {"tree", names_read_tree},
                                               {NULL, names_refuse}};
    return json_object(&n->json, "an object", table, n) &&
           json_want(&n->json, JSON_END, "the end") &&
           (n->has_tensors || n->has_tree || names_bad(n, "neither \"tensors\" nor \"tree\""));
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
    struct names n = {.job = job};
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
    name_tree_init(&n.tree, '/', s->name, job->err);
    if (!names_read_file(&n) && job->err->status == ERR_CORRUPT)
        error_code(job->err, "bad-names");
    else if (job->err->status == OK && n.unknown)
        job_issue(job, ISSUE_WARNING, s->name, NO_OFFSET, "unknown-dtype",
                  "dtype \"%.100s\" is not known: such names are listed without a size", n.unknown);
    name_tree_release(&n.tree);
    return job->err->status;
}

const struct format format_names = {
    .name = "names",
    .summary = "names only: a JSON file of names, dtypes and shapes",
    .separator = '/',
    .probe = names_probe,
    .index = names_index,
};

/*
 * orbax_tree.c - `_METADATA`: the names of the leaves of an Orbax tree.
 *
 *   {"tree_metadata": {REPR: {"key_metadata": [{"key": TEXT, "key_type": 1 | 2}, ...],
 *                             "value_metadata": {"value_type": TEXT,
 *                                                "skip_deserialize": BOOLEAN, ...}}, ...},
 *    "use_ocdbt": ..., "use_zarr3": ..., "custom_metadata": ...,
 *    "store_array_data_equal_to_fill_value": BOOLEAN, "value_metadata_tree": TEXT, ...}
 *
 * REPR is Python's repr() of the path and is not read: the components are in key_metadata
 * (key_type 1: a position in a sequence; 2: a key or an attribute). Joined by '.' they are the key
 * that the array is stored under; that key is ambiguous if a component holds a '.' itself. Shapes
 * and dtypes are not in this file.
 *
 * A value_type that names a kind of container means an empty container. Leaves of other types have
 * data, unless skip_deserialize says that they are not to be read back.
 *
 * Source: orbax/checkpoint/_src/metadata/{tree,value}.py, tree/types.py.
 */
#include <stdlib.h>
#include <string.h>

#include "importer/format/orbax/orbax.h"
#include "importer/job/facts.h"

#define TREE_FILE "_METADATA"

static const struct {
    const char *type, *kind;
} empties[] = {
    {"None", "null"}, {"Dict", "dict"}, {"NamedTuple", "dict"}, {"List", "list"}, {"Tuple", "list"},
};

struct reading {
    struct job *job;
    struct orbax_tree *tree;
    struct json json;
    size_t space;
    /* Of the current leaf: */
    struct text key, name;
    bool first, has_key, has_path, skipped;
    const char *empty;
};

static bool orbax_tree_bad(struct reading *r, const char *what)
{
    return json_fail(&r->json, ERR_CORRUPT, "bad-metadata", "%s", what);
}

/* --- one leaf ----------------------------------------------------------------------- */

static bool read_key(void *context, struct json *j)
{
    struct reading *r = context;
    enum json_type type = json_next(j);
    if (r->has_key || (type != JSON_STRING && type != JSON_NUMBER))
        return orbax_tree_bad(r, "a component of a path has one key, which is a text");
    r->has_key = true;
    if (!r->first) {
        text_addc(&r->key, '.');
        text_addc(&r->name, '/');
    }
    r->first = false;
    text_add(&r->key, j->text.at, j->text.len);
    text_add(&r->name, j->text.at, j->text.len);
    return (text_str(&r->key) && text_str(&r->name)) ||
           json_fail(j, ERR_LIMIT, NULL, "a name of more than %llu bytes",
                     (unsigned long long)LIMIT_NAME_BYTES);
}

static bool read_path(void *context, struct json *j)
{
    static const struct json_member component[] = {{"key", read_key}, {0}};
    struct reading *r = context;
    if (r->has_path)
        return orbax_tree_bad(r, "a leaf has two paths");
    r->has_path = true;
    if (!json_want(j, JSON_ARRAY, "a list of components"))
        return false;
    while (json_next(j) == JSON_OBJECT) {
        r->has_key = false;
        if (!json_members(j, component, r))
            return false;
        if (!r->has_key)
            return orbax_tree_bad(r, "a component without a key");
    }
    return j->type == JSON_ARRAY_END || orbax_tree_bad(r, "not a component");
}

static bool read_value_type(void *context, struct json *j)
{
    struct reading *r = context;
    enum json_type type = json_next(j);
    for (size_t i = 0; i < sizeof(empties) / sizeof(empties[0]); i++)
        if (type == JSON_STRING && json_is(j, empties[i].type))
            r->empty = empties[i].kind;
    return json_skip(j);
}

/* Older Orbax did not store chunks that hold only zeros. Orbax itself looks for manifest.ocdbt only if
 * use_ocdbt is null or absent. */
static bool read_flag(void *context, struct json *j)
{
    struct reading *r = context;
    const bool skip = json_is(j, "skip_deserialize"), folders = json_is(j, "use_ocdbt");
    const enum json_type type = json_next(j);
    if (skip)
        r->skipped |= type == JSON_TRUE;
    else if (folders)
        r->tree->in_folders = type == JSON_FALSE;
    else
        r->tree->all_stored = type == JSON_TRUE;
    return json_skip(j);
}

static bool orbax_tree_read_value(void *context, struct json *j)
{
    static const struct json_member table[] = {
        {"value_type", read_value_type}, {"skip_deserialize", read_flag}, {0}};
    return json_object(j, "an object", table, context);
}

static bool orbax_tree_read_leaf(void *context, struct json *j)
{
    static const struct json_member table[] = {
        {"key_metadata", read_path}, {"value_metadata", orbax_tree_read_value}, {0}};
    struct reading *r = context;
    struct orbax_tree *t = r->tree;
    struct arena *arena = r->job->arena;
    text_reset(&r->key);
    text_reset(&r->name);
    r->first = true;
    r->has_path = r->skipped = false;
    r->empty = NULL;
    if (!json_object(j, "a leaf", table, r))
        return false;
    if (!r->has_path)
        return orbax_tree_bad(r, "a leaf without a path");
    *PUSH(arena, t->leaves, t->count, r->space) =
        (struct orbax_leaf){.key = arena_copy(arena, text_str(&r->key), r->key.len),
                            .name = arena_copy(arena, text_str(&r->name), r->name.len),
                            .len = r->key.len,
                            .empty = r->empty,
                            .skipped = r->skipped};
    return r->job->err->status == OK;
}

/* --- the file ----------------------------------------------------------------------- */

static bool read_leaves(void *context, struct json *j)
{
    static const struct json_member table[] = {{NULL, orbax_tree_read_leaf}};
    struct reading *r = context;
    if (r->tree->known)
        return orbax_tree_bad(r, "tree_metadata occurs twice");
    r->tree->known = json_object(j, "an object of leaves", table, r);
    return r->tree->known;
}

/* State the user's own metadata, which is null or an object. */
static bool read_custom(void *context, struct json *j)
{
    struct reading *r = context;
    struct json ahead = *j;
    struct error ignored = {.offset = NO_OFFSET};
    ahead.err = &ignored;
    if (json_next(&ahead) == JSON_OBJECT)
        return facts_state(r->job, j, TREE_FILE ":custom_metadata/", '/');
    return json_pass(j);
}

enum status orbax_tree_read(struct job *job, const char *directory, struct orbax_tree *out)
{
    static const struct json_member table[] = {
        {"tree_metadata", read_leaves},
        {"custom_metadata", read_custom},
        {"store_array_data_equal_to_fill_value", read_flag},
        {"use_ocdbt", read_flag},
        {0},
    };
    struct reading r = {
        .job = job, .tree = out, .key.limit = LIMIT_NAME_BYTES, .name.limit = LIMIT_NAME_BYTES};
    struct error err = {.offset = NO_OFFSET};
    struct arena arena = {.ceiling = LIMIT_ARENA_BYTES, .err = &err}; /* holds the text */
    struct bytes text = {0};
    *out = (struct orbax_tree){0};
    const char *path = array_below(job->arena, directory, TREE_FILE);
    if (orbax_read(job, path, "index", &arena, &text, &err) == OK && text.at) {
        json_init(&r.json, cursor_over(text, 0), &arena, path, &err);
        r.json.python = true;
        if (json_object(&r.json, "an object", table, &r))
            json_want(&r.json, JSON_END, "the end");
    }
    text_release(&r.key);
    text_release(&r.name);
    arena_release(&arena);
    if (err.status == ERR_MEMORY)
        return error_memory_at(job->err, path);
    /* A tree that was read only in part is dropped: the arrays are then named by their keys. */
    if (err.status != OK)
        job_issue_error(job, out->known ? ISSUE_WARNING : ISSUE_ERROR, &err);
    if (!out->known)
        *out = (struct orbax_tree){.damaged = err.status != OK};
    return job->err->status;
}

/* --- leaves below leaves ------------------------------------------------------------ */

/* Order by name, with '/' before every other byte: "a", "a/b", "a.b". So what is below a name
 * follows it immediately. */
static int by_path(const void *a, const void *b)
{
    const struct orbax_leaf *x = *(struct orbax_leaf *const *)a;
    const struct orbax_leaf *y = *(struct orbax_leaf *const *)b;
    size_t both = x->len < y->len ? x->len : y->len;
    for (size_t i = 0; i < both; i++) {
        int c = (unsigned char)x->name[i], d = (unsigned char)y->name[i];
        if (c != d)
            return c == '/' ? -1 : d == '/' ? 1 : c - d;
    }
    return x->len < y->len ? -1 : x->len > y->len;
}

void orbax_tree_mark_inner(struct job *job, struct orbax_tree *t)
{
    struct orbax_leaf **sorted = arena_array(job->arena, t->count, sizeof(*sorted));
    if (!sorted)
        return;
    for (uint64_t i = 0; i < t->count; i++)
        sorted[i] = &t->leaves[i];
    qsort(sorted, t->count, sizeof(*sorted), by_path);
    for (uint64_t i = 1; i < t->count; i++) {
        struct orbax_leaf *above = sorted[i - 1];
        above->inner = sorted[i]->len > above->len &&
                       memcmp(sorted[i]->name, above->name, above->len) == 0 &&
                       (above->len == 0 || sorted[i]->name[above->len] == '/');
    }
}

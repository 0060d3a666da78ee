/*
 * flax_tree.c - trees of arrays as Flax serialises them.
 *
 *   map          a level of the tree; lists and tuples are written as maps with the keys "0",
 *                "1", ..., named tuples and dataclasses as maps of their fields
 *   extension    1, 3: an array (flax_array.c); 2: a Python complex number, [real, imaginary]
 *   others       Python's None, numbers, booleans and texts
 *
 * Keys may be integers; old files store texts in msgpack's old `raw` type, which is now `str`.
 *
 * Source: flax/serialization.py.
 */
#include "importer/container/flax_tree.h"

/* The arguments of "%.*s" for the current path in a message, cut to 200 bytes. */
#define SHOWN(t) (int)((t)->names.path.len < 200 ? (t)->names.path.len : 200), (t)->names.path.at

/* --- visiting --------------------------------------------------------------------------- */

/* Whether the current path is new. Of two values with the same path, which a key may spell ("a/b" beside "a"
 * and in it "b"), this program keeps the first (Python keeps the last), and reports it. */
static bool is_new(struct flax_tree *t)
{
    const char *kept;
    bool added = true;
    strmap_keep(&t->paths, t->job->arena, t->names.path.at, t->names.path.len, &kept, &added);
    if (!added)
        job_issue(t->job, ISSUE_ERROR, t->source->name, t->reader.at, "duplicate-name",
                  "\"%.*s\" occurs twice", SHOWN(t));
    return added;
}

static bool flax_tree_visit(struct flax_tree *t, struct flax_leaf *leaf)
{
    leaf->name = t->names.path.at;
    leaf->name_len = t->names.path.len;
    leaf->reader = &t->reader;
    if (++t->leaves > LIMIT_TENSORS)
        return msgpack_fail(&t->reader, t->reader.at, ERR_LIMIT, NULL,
                            "a tree of more than %llu leaves", (unsigned long long)LIMIT_TENSORS);
    if (name_tree_count(&t->names, t->reader.at) && is_new(t))
        t->visitor->leaf(t->visitor->context, leaf);
    return t->job->err->status == OK;
}

/* Report an error in one array, and let the walk go on: true. Failures of memory or reading
 * become the job's error: false. */
static bool flax_tree_report(struct flax_tree *t, const struct error *err, const char *code)
{
    if (err->status == ERR_IO || err->status == ERR_MEMORY) {
        *t->job->err = *err;
        return false;
    }
    job_issue(t->job, ISSUE_ERROR, t->source->name, err->offset, err->code ? err->code : code,
              "tensor \"%.*s\": %s: left out", SHOWN(t), err->message);
    return true;
}

static bool visit_array(struct flax_tree *t, const struct msgpack_item *item)
{
    struct error err = {.offset = NO_OFFSET};
    struct flax_array array;
    t->reader.err = &err;
    bool ok = flax_array_read(&t->reader, item, &array);
    t->reader.err = t->job->err;
    if (!ok)
        return flax_tree_report(t, &err, "bad-array");
    return flax_tree_visit(t,
                           &(struct flax_leaf){.kind = FLAX_ARRAY, .item = item, .array = &array});
}

static bool flax_tree_real_of(const struct msgpack_item *item, double *value)
{
    *value = item->type == MSGPACK_REAL       ? item->real
             : item->type == MSGPACK_NEGATIVE ? (double)item->integer
                                              : (double)item->number;
    return item->type == MSGPACK_REAL || item->type == MSGPACK_NEGATIVE ||
           item->type == MSGPACK_UNSIGNED;
}

static bool visit_complex(struct flax_tree *t, const struct msgpack_item *item)
{
    struct msgpack *m = &t->reader;
    struct error err = {.offset = NO_OFFSET};
    struct flax_leaf leaf = {.kind = FLAX_COMPLEX, .item = item};
    struct msgpack_item part;
    uint64_t end = m->end;
    m->err = &err;
    m->at = item->data;
    m->end = item->data + item->len;
    bool ok = msgpack_want(m, &part, MSGPACK_ARRAY, "a complex number") && part.count == 2 &&
              msgpack_next(m, &part) && flax_tree_real_of(&part, &leaf.complex[0]) &&
              msgpack_next(m, &part) && flax_tree_real_of(&part, &leaf.complex[1]) &&
              m->at == m->end;
    if (!ok)
        msgpack_fail(m, item->offset, ERR_CORRUPT, NULL, "not a complex number");
    m->at = item->data + item->len;
    m->end = end;
    m->err = t->job->err;
    return ok ? flax_tree_visit(t, &leaf) : flax_tree_report(t, &err, "bad-number");
}

static bool visit_extension(struct flax_tree *t, const struct msgpack_item *item)
{
    if (flax_is_array(item))
        return visit_array(t, item);
    if (item->kind == FLAX_EXTENSION_COMPLEX)
        return visit_complex(t, item);
    job_issue(t->job, ISSUE_ERROR, t->source->name, item->offset, "unknown-extension",
              "\"%.*s\" is an extension of type %d, which Flax does not have: left out", SHOWN(t),
              item->kind);
    return true;
}

/* If the map whose head was read is a chunked array, visit it as a leaf and set *taken. */
static bool visit_chunked(struct flax_tree *t, const struct msgpack_item *map, bool *taken)
{
    struct msgpack *m = &t->reader;
    struct error err = {.offset = NO_OFFSET};
    struct flax_array array;
    struct msgpack_item key;
    uint64_t start = m->at;
    *taken = false;
    if (!msgpack_next(m, &key))
        return false;
    *taken = msgpack_is(m, &key, FLAX_CHUNKED_MARKER);
    if (!*taken) {
        m->at = start;
        return m->err->status == OK;
    }
    m->err = &err;
    bool ok = map->count == 3 ? flax_chunks_read(m, t->job->arena, &array)
                              : msgpack_fail(m, map->offset, ERR_CORRUPT, NULL,
                                             "a chunked array has only a shape and chunks");
    m->err = t->job->err;
    if (ok)
        return flax_tree_visit(
            t, &(struct flax_leaf){.kind = FLAX_ARRAY, .item = map, .array = &array});
    m->at = start;
    return flax_tree_report(t, &err, "bad-chunks") && msgpack_skip(m, map);
}

/* Offer the map to the visitor, which may take it as a leaf and then sets *taken. */
static bool offer_map(struct flax_tree *t, const struct msgpack_item *map, bool *taken)
{
    struct msgpack *m = &t->reader;
    uint64_t start = m->at, heads = m->heads;
    struct flax_leaf leaf = {
        .name = t->names.path.at, .name_len = t->names.path.len, .reader = m, .item = map};
    *taken = false;
    if (!t->visitor->map)
        return true;
    t->visitor->map(t->visitor->context, &leaf, taken);
    if (t->job->err->status != OK)
        return false;
    if (*taken) {
        t->leaves++;
        is_new(t);
        return name_tree_count(&t->names, m->at);
    }
    t->looked_at += m->heads - heads; /* a head has a byte at least */
    m->at = start;
    return t->looked_at / 16 <= t->source->size ||
           msgpack_fail(m, start, ERR_LIMIT, NULL,
                        "maps nested in a way that makes them slow to read");
}

/* --- the walk --------------------------------------------------------------------------- */

static bool open_level(struct flax_tree *t, const struct msgpack_item *item)
{
    bool root = t->names.depth == 0;
    if (!name_tree_enter(&t->names, item->type == MSGPACK_ARRAY, item->offset) ||
        !name_tree_count(&t->names, t->reader.at))
        return false;
    t->left[t->names.depth - 1] = item->count;
    if (!root)
        is_new(t);
    return t->job->err->status == OK;
}

static bool read_map(struct flax_tree *t, const struct msgpack_item *map)
{
    bool taken;
    if (map->count == 0)
        return flax_tree_visit(t, &(struct flax_leaf){.kind = FLAX_DICT, .item = map});
    if (!visit_chunked(t, map, &taken))
        return false;
    if (!taken && !offer_map(t, map, &taken))
        return false;
    return taken || open_level(t, map);
}

static bool flax_tree_read_value(struct flax_tree *t)
{
    struct msgpack_item item;
    if (!msgpack_next(&t->reader, &item))
        return false;
    struct flax_leaf leaf = {.kind = FLAX_NUMBER, .item = &item};
    switch (item.type) {
    case MSGPACK_MAP: return read_map(t, &item);
    case MSGPACK_ARRAY:
        leaf.kind = FLAX_LIST;
        return item.count ? open_level(t, &item) : flax_tree_visit(t, &leaf);
    case MSGPACK_EXTENSION: return visit_extension(t, &item);
    case MSGPACK_NIL: leaf.kind = FLAX_NULL; break;
    case MSGPACK_STRING:
    case MSGPACK_BYTES: leaf.kind = FLAX_TEXT; break;
    default: break;
    }
    return flax_tree_visit(t, &leaf);
}

static bool add_key(struct flax_tree *t, const struct msgpack_item *key)
{
    struct text *path = &t->names.path;
    if (msgpack_is_text(key))
        msgpack_add(&t->reader, key, path);
    else if (key->type == MSGPACK_UNSIGNED)
        text_addf(path, "%llu", (unsigned long long)key->number);
    else
        text_addf(path, "%lld", (long long)key->integer);
    return name_tree_fits(&t->names, key->offset) && t->reader.err->status == OK;
}

static bool flax_tree_read_entry(struct flax_tree *t)
{
    struct name_level *l = &t->names.levels[t->names.depth - 1];
    struct msgpack_item key = {.type = MSGPACK_UNSIGNED, .number = l->next};
    t->left[t->names.depth - 1]--;
    t->names.path.len = l->path;
    if (!l->list && !msgpack_next(&t->reader, &key))
        return false;
    if (!msgpack_is_text(&key) && key.type != MSGPACK_UNSIGNED && key.type != MSGPACK_NEGATIVE) {
        /* Skip an entry whose key cannot be part of a name. */
        struct msgpack_item value;
        job_issue(t->job, ISSUE_ERROR, t->source->name, key.offset, "bad-key",
                  "a key in \"%.*s\" is neither a text nor an integer: left out", SHOWN(t));
        return msgpack_skip(&t->reader, &key) && msgpack_next(&t->reader, &value) &&
               msgpack_skip(&t->reader, &value);
    }
    name_tree_next(&t->names);
    return add_key(t, &key) && flax_tree_read_value(t);
}

enum status flax_value(struct flax_tree *t)
{
    t->names.depth = 0;
    t->names.prefixed = t->names.path.len > 0;
    bool ok = flax_tree_read_value(t);
    while (ok && t->names.depth) {
        if (t->left[t->names.depth - 1])
            ok = flax_tree_read_entry(t);
        else
            name_tree_leave(&t->names);
    }
    return t->job->err->status;
}

enum status flax_open(struct flax_tree *t, struct job *job, const struct source *source,
                      const struct flax_visitor *visitor)
{
    *t =
        (struct flax_tree){.job = job, .source = source, .visitor = visitor, .paths.err = job->err};
    name_tree_init(&t->names, '/', source->name, job->err);
    t->names.size = source->size;
    return msgpack_open(&t->reader, source, job->arena, job->err);
}

void flax_close(struct flax_tree *t)
{
    name_tree_release(&t->names);
    strmap_release(&t->paths);
}

void flax_walk(struct job *job, const struct source *source, const struct flax_visitor *visitor)
{
    struct flax_tree t;
    if (flax_open(&t, job, source, visitor) == OK && flax_value(&t) == OK &&
        t.reader.at < t.reader.end)
        job_issue(job, ISSUE_ERROR, source->name, t.reader.at, "trailing-bytes",
                  "%llu bytes follow the tree", (unsigned long long)(t.reader.end - t.reader.at));
    flax_close(&t);
}

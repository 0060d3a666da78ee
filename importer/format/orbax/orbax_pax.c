/*
 * orbax_pax.c - the true shapes of arrays that Pax has padded.
 *
 *   STEP/state/                  the item
 *   STEP/metadata/metadata       {"version": ..., "train_state_metadata": TREE}
 *
 * TREE has the structure of the item's tree, with {"_array_metadata_tag": ..., "dtype": ...,
 * "unpadded_shape": [...], ...} in place of each array. The stored array may be larger: Pax pads it
 * until it divides evenly among the devices.
 *
 * Source: paxml/checkpoint_metadata.py.
 */
#include <stdio.h>
#include <string.h>

#include "catalog/base/json.h"
#include "importer/format/orbax/orbax.h"

#define METADATA_FILE "metadata/metadata"
#define TREE_KEY      "train_state_metadata" /* near the beginning of the file */

struct padding {
    struct orbax_item *item;
    struct json json;
    struct text key; /* path of the current value, joined by '.' */
    struct level {
        size_t key; /* length of this level's own path in `key` above */
        uint64_t next;
        bool list;
    } levels[LIMIT_JSON_DEPTH + 1];
    unsigned depth;
    uint64_t padded;
};

/* Append `name` to the path of the innermost object or list. */
static bool set_key(struct padding *p, const void *name, size_t len)
{
    p->key.len = p->levels[p->depth - 1].key;
    if (p->key.len)
        text_addc(&p->key, '.');
    text_add(&p->key, name, len);
    return text_str(&p->key) ||
           json_fail(&p->json, ERR_LIMIT, NULL, "a name of more than %llu bytes",
                     (unsigned long long)LIMIT_NAME_BYTES);
}

static bool count_item(struct padding *p)
{
    char digits[24];
    struct level *l = &p->levels[p->depth - 1];
    if (!l->list)
        return true;
    int len = snprintf(digits, sizeof(digits), "%llu", (unsigned long long)l->next++);
    return set_key(p, digits, (size_t)len);
}

static bool state_shape(struct padding *p, const uint64_t *shape, unsigned rank, const char *name)
{
    struct text text = {0}, key = {.limit = LIMIT_FACT_KEY};
    text_addf(&key, "unpadded_shape:%s", name);
    shape_print(&text, shape, rank);
    bool good = !text_str(&key) || (text_str(&text) && job_meta_text(p->item->job, text_str(&key),
                                                                     text.at, text.len) == OK);
    text_release(&key);
    text_release(&text);
    return good;
}

/* State the true shape of the innermost object's array if it is stored with another. */
static bool orbax_pax_compare(struct padding *p, const uint64_t *shape, unsigned rank)
{
    const struct orbax_store *store = &p->item->store;
    const char *key = text_str(&p->key);
    size_t len = p->levels[p->depth - 1].key;
    uint64_t position = key ? orbax_store_find(store, key, len) : ORBAX_NONE;
    unsigned stored_rank = 0;
    const uint64_t *stored =
        position == ORBAX_NONE ? NULL : orbax_store_shape(store, position, &stored_rank);
    if (!stored || (rank == stored_rank && memcmp(stored, shape, rank * sizeof(*shape)) == 0))
        return true;
    p->padded++;
    const char *name = orbax_name_of_key(p->item->job->arena, key, len);
    return name && state_shape(p, shape, rank, name);
}

/* Read the true shape of the array that the innermost object describes. */
static bool orbax_pax_read_shape(struct padding *p)
{
    uint64_t shape[TENSOR_RANK_MAX] = {0};
    unsigned rank = 0;
    enum json_type type = json_next(&p->json);
    if (type != JSON_ARRAY)
        return type != JSON_FAIL && json_skip(&p->json);
    while ((type = json_next(&p->json)) == JSON_NUMBER)
        if (rank == TENSOR_RANK_MAX || !json_u64(&p->json, &shape[rank++]))
            return json_fail(&p->json, ERR_CORRUPT, NULL, "this is not a shape");
    if (type != JSON_ARRAY_END)
        return json_fail(&p->json, ERR_CORRUPT, NULL, "a shape is a list of numbers");
    return orbax_pax_compare(p, shape, rank);
}

static bool read_next(struct padding *p, enum json_type type)
{
    switch (type) {
    case JSON_KEY:
        if (json_is(&p->json, "unpadded_shape"))
            return orbax_pax_read_shape(p);
        return set_key(p, p->json.text.at, p->json.text.len);
    case JSON_OBJECT:
    case JSON_ARRAY:
        if (!count_item(p))
            return false;
        p->levels[p->depth++] = (struct level){p->key.len, 0, type == JSON_ARRAY};
        return true;
    case JSON_OBJECT_END:
    case JSON_ARRAY_END:
        p->key.len = p->levels[--p->depth].key;
        return true;
    default:
        return type != JSON_FAIL && count_item(p);
    }
}

/* Read the tree; the next token is its first. */
static bool orbax_pax_read_tree(struct padding *p)
{
    if (!json_want(&p->json, JSON_OBJECT, "a tree of arrays"))
        return false;
    p->levels[p->depth++] = (struct level){0, 0, false};
    while (p->depth)
        if (!read_next(p, json_next(&p->json)))
            return false;
    return true;
}

static bool orbax_pax_read_file(struct padding *p)
{
    if (json_next(&p->json) != JSON_OBJECT)
        return true;
    while (json_next(&p->json) == JSON_KEY) {
        bool tree = json_is(&p->json, TREE_KEY);
        if (tree ? !orbax_pax_read_tree(p)
                 : json_next(&p->json) == JSON_FAIL || !json_skip(&p->json))
            return false;
    }
    return p->json.type == JSON_OBJECT_END;
}

bool orbax_is_padding(const char *path)
{
    uint8_t head[PROBE_HEAD_BYTES];
    struct error ignored = {.offset = NO_OFFSET};
    struct source *s = NULL;
    if (source_open_file(path, SOURCE_HEADERS, &s, NULL, &ignored) != OK)
        return false;
    struct probe p = {.head = {head, s->size < sizeof(head) ? (size_t)s->size : sizeof(head)}};
    bool found =
        source_read(s, 0, head, p.head.len, &ignored) == OK && probe_holds(&p, "\"" TREE_KEY "\"");
    source_close(s);
    return found;
}

enum status orbax_padding_read(struct orbax_item *item)
{
    struct padding p = {.item = item, .key.limit = LIMIT_NAME_BYTES};
    struct arena arena = {.ceiling = LIMIT_ARENA_BYTES}; /* holds the text */
    struct error err = {.offset = NO_OFFSET};
    struct job *job = item->job;
    struct bytes text;
    const char *slash = strrchr(job->path, '/');
    char *step = arena_copy(job->arena, job->path, slash ? (size_t)(slash - job->path) : 0);
    const char *path = step ? orbax_path(job->arena, step, METADATA_FILE) : NULL;
    if (!path)
        return job_no_memory(job);
    if (!orbax_is_padding(path))
        return OK;
    if (orbax_read(job, path, "config", &arena, &text, &err) == OK && text.at) {
        json_init(&p.json, cursor_over(text, 0), &arena, path, &err);
        p.json.python = true;
        orbax_pax_read_file(&p);
    }
    text_release(&p.key);
    arena_release(&arena);
    if (err.status != OK)
        job_issue_error(job, ISSUE_WARNING, &err);
    if (p.padded)
        job_issue(job, ISSUE_WARNING, NULL, NO_OFFSET, "padded",
                  "arrays that are stored larger than they are: %llu; the facts "
                  "unpadded_shape:NAME tell their true shapes",
                  (unsigned long long)p.padded);
    return job->err->status;
}

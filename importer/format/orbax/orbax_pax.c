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
#include <string.h>

#include "importer/format/orbax/orbax.h"
#include "importer/job/name_tree.h"

#define METADATA_FILE "metadata/metadata"
#define TREE_KEY      "train_state_metadata" /* near the beginning of the file */

struct padding {
    struct orbax_store *store;
    struct json json;
    struct name_tree keys;
    uint64_t padded;
};

/* State the true shape of the current object's array if it is stored with another. */
static bool orbax_pax_compare(struct padding *p, const uint64_t *shape, unsigned rank)
{
    const struct orbax_store *store = p->store;
    const char *key = text_str(&p->keys.path);
    size_t len = p->keys.path.len;
    uint64_t position = key ? orbax_store_find(store, key, len) : ORBAX_NONE;
    unsigned stored_rank = 0;
    const uint64_t *stored =
        position == ORBAX_NONE ? NULL : orbax_store_shape(store, position, &stored_rank);
    if (!stored || (rank == stored_rank && memcmp(stored, shape, rank * sizeof(*shape)) == 0))
        return true;
    p->padded++;
    struct text text = {0}, fact = {.limit = LIMIT_FACT_KEY};
    text_addf(&fact, "unpadded_shape:%s", orbax_name_of_key(store->job->arena, key, len));
    shape_print(&text, shape, rank);
    bool good = !text_str(&fact) || (text_str(&text) && job_meta_text(store->job, text_str(&fact),
                                                                      text.at, text.len) == OK);
    text_release(&fact);
    text_release(&text);
    return good;
}

/* Read the true shape of the array that the current object describes. */
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

static bool padding_see(void *context)
{
    struct padding *p = context;
    bool shape = p->json.type == JSON_KEY && json_is(&p->json, "unpadded_shape");
    return !shape || orbax_pax_read_shape(p);
}

static bool padding_tree(void *context, struct json *j)
{
    struct padding *p = context;
    struct json ahead = *j;
    return json_want(&ahead, JSON_OBJECT, "a tree of arrays") &&
           name_tree_json(&p->keys, j, padding_see, p);
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

void orbax_padding_read(struct orbax_store *store)
{
    static const struct json_member table[] = {{TREE_KEY, padding_tree}, {0}};
    struct padding p = {.store = store};
    struct error err = {.offset = NO_OFFSET};
    struct arena arena = {.ceiling = LIMIT_ARENA_BYTES, .err = &err}; /* holds the text */
    struct job *job = store->job;
    struct bytes text;
    const char *slash = strrchr(job->path, '/');
    char *step = arena_copy(job->arena, job->path, slash ? (size_t)(slash - job->path) : 0);
    const char *path = array_below(job->arena, step, METADATA_FILE);
    if (!orbax_is_padding(path))
        return;
    if (orbax_read(job, path, "config", &arena, &text, &err) == OK && text.at) {
        json_init(&p.json, cursor_over(text, 0), &arena, path, &err);
        p.json.python = true;
        name_tree_init(&p.keys, '.', path, &err);
        if (json_next(&p.json) == JSON_OBJECT)
            json_members(&p.json, table, &p);
    }
    name_tree_release(&p.keys);
    arena_release(&arena);
    if (err.status != OK)
        job_issue_error(job, ISSUE_WARNING, &err);
    if (p.padded)
        job_issue(job, ISSUE_WARNING, NULL, NO_OFFSET, "padded",
                  "arrays that are stored larger than they are: %llu; the facts "
                  "unpadded_shape:NAME tell their true shapes",
                  (unsigned long long)p.padded);
}

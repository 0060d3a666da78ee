/*
 * orbax_aggregate.c - `checkpoint`: the tree of an item as older Orbax wrote it.
 *
 * The file is one msgpack value as Flax writes them (flax_tree.c). Small leaves are in it; for an
 * array stored elsewhere it has the text "PLACEHOLDER://KEY".
 *
 * Source: orbax/checkpoint/_src/handlers/{pytree_checkpoint_handler,utils}.py (2023).
 */
#include <string.h>

#include "catalog/data/store/store.h"
#include "importer/container/flax_leaf.h"
#include "importer/format/orbax/orbax.h"

#define AGGREGATE_FILE "checkpoint"

static const char *const markers[] = {"PLACEHOLDER://", "AGGREGATED://"};

struct aggregate {
    struct flax_sink sink;
    struct orbax_item *item;
    struct text key; /* of the current placeholder */
};

/* Whether the leaf is a placeholder for an array elsewhere; a->key is then the key it is stored
 * under. */
static bool is_placeholder(struct aggregate *a, const struct flax_leaf *leaf)
{
    if (leaf->kind != FLAX_TEXT)
        return false;
    for (size_t i = 0; i < sizeof(markers) / sizeof(markers[0]); i++) {
        struct msgpack_item part = *leaf->item;
        size_t len = strlen(markers[i]);
        if (part.len < len)
            continue;
        part.len = len;
        if (!msgpack_is(leaf->reader, &part, markers[i]))
            continue;
        part = *leaf->item;
        part.data += len;
        part.len -= len;
        text_reset(&a->key);
        return msgpack_add(leaf->reader, &part, &a->key) && text_str(&a->key);
    }
    return false;
}

static enum status orbax_aggregate_see_leaf(void *context, const struct flax_leaf *leaf)
{
    struct aggregate *a = context;
    const char *kept;
    bool added;
    strmap_keep(&a->item->noted, a->sink.job->arena, leaf->name, leaf->name_len, &kept, &added);
    if (is_placeholder(a, leaf))
        return orbax_item_emit(a->item, a->key.at, a->key.len, leaf->name, leaf->name_len);
    return flax_leaf_emit(&a->sink, leaf);
}

/* Whether the file begins with a msgpack map. If not, it is some other file of the same name. */
static bool begins_map(const struct source *s)
{
    uint8_t first = 0;
    struct error ignored = {.offset = NO_OFFSET};
    return s->size && source_read(s, 0, &first, 1, &ignored) == OK &&
           ((first >= 0x80 && first <= 0x8F) || first == 0xDE || first == 0xDF);
}

enum status orbax_aggregate_read(struct orbax_item *item, const char *directory)
{
    struct aggregate a = {.sink.job = item->job, .item = item, .key.limit = LIMIT_NAME_BYTES};
    const struct flax_visitor visitor = {.leaf = orbax_aggregate_see_leaf, .context = &a};
    struct job *job = item->job;
    struct error err = {.offset = NO_OFFSET};
    struct source *s = NULL;
    const char *path = array_below(job->arena, directory, AGGREGATE_FILE);
    if (!path_is(path, ENTRY_FILE))
        return OK;
    if (job_open_path(job, path, "data", &s, &a.sink.file, &err) != OK) {
        job_issue_error(job, ISSUE_ERROR, &err);
    } else if (begins_map(s)) {
        a.sink.source = s;
        item->aggregated = true;
        flax_walk(job, s, &visitor);
    }
    /* An error in this file is no reason to drop the arrays found elsewhere. */
    if (job->err->status != ERR_MEMORY && job->err->status != OK &&
        (item->tree.known || orbax_store_count(&item->store))) {
        job_issue_error(job, ISSUE_ERROR, job->err);
        error_clear(job->err);
    }
    text_release(&a.key);
    return job->err->status;
}

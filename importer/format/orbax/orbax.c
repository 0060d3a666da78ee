/*
 * orbax.c - one item of an Orbax checkpoint: a tree of arrays that JAX programs save.
 *
 *   _METADATA                      the names of the tree (orbax_tree.c)
 *   manifest.ocdbt, d/...          arrays in a database (orbax_store.c, orbax_list.c), or
 *   KEY/.zarray, KEY/zarr.json     in zarr directories
 *   _strings.json                  strings
 *   checkpoint                     tree and small arrays: older Orbax. One msgpack value, as Flax
 *                                  writes them (flax_tree.c); for an array stored elsewhere it has
 *                                  the text "PLACEHOLDER://KEY"
 *   _sharding, array_metadatas/    how the arrays were sharded over devices; not read
 *
 * Names are the components of the tree's paths, joined by '/'. Keys are the same joined by '.'. An
 * array that `_METADATA` does not name gets its key as name, with '/' for every '.'. Tensors are in
 * the order of `_METADATA`; those that it does not name follow, sorted by key.
 *
 * Sources: orbax/checkpoint/_src/handlers/base_pytree_checkpoint_handler.py;
 * {pytree_checkpoint_handler,utils}.py (2023).
 */
#include "importer/format/orbax/orbax.h"

#include <string.h>

#include "catalog/data/store/store.h"
#include "importer/container/flax_leaf.h"

/* Entries of a directory, and how many bits of evidence each is. Each alone is enough, except weak
 * ones, which directories of other formats have too. */
static const struct {
    const char *name;
    int bits;
    bool directory, weak;
} marks[] = {
    {"_METADATA", 72, false, false},
    {"_sharding", 72, false, false},
    {"array_metadatas", 120, true, false},
    {"manifest.ocdbt", 112, false, true},
    {"_CHECKPOINT_METADATA", 160, false, true},
    {"commit_success.txt", 144, false, true},
};

static bool has_process(const struct probe_dir *p)
{
    for (uint64_t i = 0; i < p->dir_count; i++)
        if (strncmp(p->dirs[i], ORBAX_PROCESS_PREFIX, strlen(ORBAX_PROCESS_PREFIX)) == 0 &&
            !array_probe_node(p, p->dirs[i]))
            return true;
    return false;
}

/* Whether `checkpoint` is the tree of an item of older Orbax: a map with placeholders for arrays.
 * */
static bool has_placeholders(const struct probe_dir *p)
{
    if (!probe_dir_has_file(p, "checkpoint"))
        return false;
    struct probe file = {.head = p->peek(p, "checkpoint")};
    return file.head.len && file.head.at[0] >= 0x80 && probe_holds(&file, "PLACEHOLDER://");
}

/* Whether the tree's file is all there is, with all arrays in it: what Flax wrote through older
 * Orbax for arrays on one device. */
static bool is_tree_alone(const struct probe_dir *p)
{
    static const char *const others[] = {"commit_success.txt", "_CHECKPOINT_METADATA"};
    if (p->dir_count || !probe_dir_has_file(p, "checkpoint"))
        return false;
    for (uint64_t i = 0; i < p->file_count; i++)
        if (strcmp(p->files[i], "checkpoint") != 0 && strcmp(p->files[i], others[0]) != 0 &&
            strcmp(p->files[i], others[1]) != 0)
            return false;
    const struct bytes head = p->peek(p, "checkpoint");
    const uint64_t size = head.len < PROBE_HEAD_BYTES ? head.len : UINT64_MAX;
    return flax_evidence(head, size) >= 64;
}

static int orbax_probe(const struct probe_dir *p)
{
    bool process = has_process(p), strong = process;
    int bits = process ? 112 : 0;
    for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++) {
        bool found = marks[i].directory ? probe_dir_has_dir(p, marks[i].name)
                                        : probe_dir_has_file(p, marks[i].name);
        bits += found ? marks[i].bits : 0;
        strong |= found && !marks[i].weak;
    }
    /* An OCDBT database counts only with a file beside it that Orbax alone writes. */
    bool database =
        probe_dir_has_file(p, "manifest.ocdbt") &&
        (probe_dir_has_file(p, "_CHECKPOINT_METADATA") ||
         probe_dir_has_file(p, "commit_success.txt") || probe_dir_has_file(p, "checkpoint"));
    if (strong || database)
        return bits;
    if (has_placeholders(p))
        return 104;
    return is_tree_alone(p) ? 64 : 0; /* less than for a step of T5X, which has it too */
}

/* --- the tree ----------------------------------------------------------------------- */

struct orbax_item {
    struct job *job;
    struct orbax_tree tree;
    struct orbax_store store;
    bool aggregated;     /* it has a `checkpoint` file of older Orbax, */
    struct strmap noted; /* and these are the leaves that it names */
    bool marked;         /* orbax_tree_mark_inner() has run */
    uint64_t missing, unnamed;
    const char *first_missing, *first_unnamed;
};

/* Emit a tensor without data, and count it as missing. */
static void orbax_emit_lost(struct orbax_item *o, const char *name, size_t len)
{
    if (o->missing++ == 0)
        o->first_missing = arena_copy(o->job->arena, name, len);
    job_tensor(o->job,
               &(struct tensor_claim){
                   .name = name, .name_len = len, .dtype_unknown = true, .shape_unknown = true});
}

static void emit_leaf(struct orbax_item *o, struct orbax_leaf *leaf)
{
    if (strmap_get(&o->noted, leaf->name, leaf->len))
        return;
    uint64_t position =
        leaf->empty ? ORBAX_NONE : orbax_store_find(&o->store, leaf->key, leaf->len);
    if (position != ORBAX_NONE) {
        orbax_store_emit(&o->store, position, leaf->name, leaf->len);
    } else if (leaf->empty || leaf->skipped) {
        job_node(o->job, leaf->name, leaf->len, leaf->empty ? leaf->empty : "null");
    } else { /* neither the store nor `checkpoint` has it */
        if (!o->marked)
            orbax_tree_mark_inner(o->job, &o->tree);
        o->marked = true;
        if (!leaf->inner)
            orbax_emit_lost(o, leaf->name, leaf->len);
    }
}

/* --- older Orbax -------------------------------------------------------------------- */

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

static void orbax_aggregate_see_leaf(void *context, const struct flax_leaf *leaf)
{
    struct aggregate *a = context;
    const char *kept;
    bool added;
    strmap_keep(&a->item->noted, a->sink.job->arena, leaf->name, leaf->name_len, &kept, &added);
    if (!is_placeholder(a, leaf)) {
        flax_leaf_emit(&a->sink, leaf);
        return;
    }
    uint64_t position = orbax_store_find(&a->item->store, a->key.at, a->key.len);
    if (position == ORBAX_NONE)
        orbax_emit_lost(a->item, leaf->name, leaf->name_len);
    else
        orbax_store_emit(&a->item->store, position, leaf->name, leaf->name_len);
}

/* Whether the file begins with a msgpack map. If not, it is some other file of the same name. */
static bool begins_map(const struct source *s)
{
    uint8_t first = 0;
    struct error ignored = {.offset = NO_OFFSET};
    return s->size && source_read(s, 0, &first, 1, &ignored) == OK &&
           ((first >= 0x80 && first <= 0x8F) || first == 0xDE || first == 0xDF);
}

/* Emit the leaves in and named by the item's `checkpoint` file, if it has one. */
static void orbax_aggregate_read(struct orbax_item *item)
{
    struct aggregate a = {.sink.job = item->job, .item = item, .key.limit = LIMIT_NAME_BYTES};
    const struct flax_visitor visitor = {.leaf = orbax_aggregate_see_leaf, .context = &a};
    struct job *job = item->job;
    struct error err = {.offset = NO_OFFSET};
    struct source *s = NULL;
    const char *path = array_below(job->arena, job->path, "checkpoint");
    if (!path_is(path, ENTRY_FILE))
        return;
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
}

/* --- the item ----------------------------------------------------------------------- */

static void orbax_report(struct orbax_item *o)
{
    bool none = !orbax_store_count(&o->store);
    if (o->missing && !o->store.broken)
        job_issue(o->job, ISSUE_ERROR, NULL, NO_OFFSET, "missing-array",
                  "arrays that are not stored here: %llu, the first \"%.200s\"; "
                  "listed without data%s",
                  (unsigned long long)o->missing, o->first_missing,
                  none ? " (no manifest.ocdbt, no .zarray, no zarr.json)" : "");
    if (o->unnamed && (o->tree.known || o->aggregated))
        job_issue(o->job, ISSUE_WARNING, NULL, NO_OFFSET, "not-in-metadata",
                  "arrays that the tree does not name: %llu, the first "
                  "\"%.200s\"; named by their keys",
                  (unsigned long long)o->unnamed, o->first_unnamed);
}

/* Orbax does not restore a tree without `_METADATA`; only an array that was saved alone lacks
 * it. */
static void report_no_tree(struct orbax_item *o)
{
    static const char *const alone[] = {"checkpoint", "array", "random_key", "jax_random_key"};
    size_t len;
    uint64_t count = orbax_store_count(&o->store);
    if (o->tree.known || o->tree.damaged || o->aggregated || !count)
        return;
    const char *key = orbax_store_key(&o->store, 0, &len);
    for (size_t i = 0; count == 1 && i < sizeof(alone) / sizeof(alone[0]); i++)
        if (len == strlen(alone[i]) && memcmp(key, alone[i], len) == 0)
            return;
    job_issue(o->job, ISSUE_WARNING, NULL, NO_OFFSET, "no-metadata",
              "no _METADATA, without which Orbax restores nothing: names are guessed from "
              "the keys of the arrays, every '.' taken for a '/'");
}

static void index_item(struct orbax_item *o)
{
    struct job *job = o->job;
    orbax_place(job, job->path);
    if (orbax_tree_read(job, job->path, &o->tree) == OK)
        orbax_store_open(&o->store, job, job->path, o->tree.in_folders);
    if (job->err->status == OK) {
        if (o->tree.all_stored)
            orbax_store_miss_absent(&o->store);
        orbax_aggregate_read(o);
    }
    if (job->err->status != OK)
        return;
    uint64_t stored = orbax_store_count(&o->store);
    bool listed = o->store.listed && !o->store.broken;
    if (!o->tree.known && !o->aggregated && !stored && !listed)
        error_set(job->err, ERR_MISSING, job->path, NO_OFFSET,
                  "looks like an item of Orbax, but neither its names (_METADATA) "
                  "nor its arrays can be read");
    job_expect(job, stored > o->tree.count ? stored : o->tree.count);
    for (uint64_t i = 0; i < o->tree.count && job->err->status == OK; i++)
        emit_leaf(o, &o->tree.leaves[i]);
    /* Emit the arrays and strings that the tree does not name. */
    uint64_t count = orbax_store_count(&o->store);
    for (uint64_t i = 0; i < count && o->job->err->status == OK; i++) {
        size_t len;
        if (o->store.used[i])
            continue;
        const char *key = orbax_store_key(&o->store, i, &len);
        const char *name = orbax_name_of_key(o->job->arena, key, len);
        if (o->unnamed++ == 0)
            o->first_unnamed = name;
        orbax_store_emit(&o->store, i, name, len);
    }
    if (job->err->status == OK) {
        orbax_report(o);
        report_no_tree(o);
        orbax_padding_read(&o->store);
    }
}

static enum status orbax_index(struct job *job)
{
    struct orbax_item o = {.job = job, .noted.err = job->err};
    index_item(&o);
    orbax_store_release(&o.store);
    strmap_release(&o.noted);
    return job->err->status;
}

const struct format format_orbax = {
    .name = "orbax",
    .summary = "Orbax (JAX): an item of a step",
    .suffixes = "",
    .separator = '/',
    .placed_by = {"_CHECKPOINT_METADATA", "jax_random_key_metadata/metadata",
                  "np_random_key_metadata/metadata"},
    .probe_dir = orbax_probe,
    .index = orbax_index,
};

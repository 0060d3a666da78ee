/*
 * jax_pytree.c - a pytree that JAX has serialised (jax.experimental.array_serialization).
 *
 *   pytreedef.json                  the tree and its leaves (jax_tree.c)
 *   array_store/                    an OCDBT database of zarr arrays, named by the numbers of
 *                                   their leaves; older versions wrote `array_store.tensorstore`,
 *                                   for a time in `leaf_data`
 *   array_store/process_ID/         the part that each process has written
 *   archive.zip, obj_data.zip       Python values that are leaves: not read
 *
 * Names are the paths of the tree, joined by '/'; tensors come in its order.
 *
 * Source: jax/experimental/array_serialization/pytree_serialization.py.
 */
#include <string.h>

#include "importer/format/orbax/jax_tree.h"
#include "importer/format/orbax/orbax.h"

#define TREE_FILE      "pytreedef.json"
#define PROCESS_PREFIX "process_"

struct pytree {
    struct job *job;
    struct jax_tree tree;
    struct orbax_store store;
    uint64_t missing, values;
    const char *first_missing, *first_value;
};

static int jax_pytree_probe(const struct probe_dir *p)
{
    if (!probe_dir_has_file(p, TREE_FILE))
        return 0;
    struct probe file = {.head = p->peek(p, TREE_FILE)};
    return probe_holds(&file, JAX_TREE_KEY) ? 8 * (int)strlen(JAX_TREE_KEY) : 0;
}

/* Open the store of arrays; it stays empty if its directory is missing. */
static void open_store(struct pytree *t)
{
    static const char *const places[] = {"array_store", "array_store.tensorstore",
                                         "leaf_data/array_store.tensorstore"};
    struct file_identity leaf_data;
    struct error none = {.offset = NO_OFFSET};
    const char *parent = array_below(t->job->arena, t->job->path, "leaf_data");
    if (file_identify(parent, &leaf_data, &none) == OK)
        array_root_record(t->job, parent);
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        struct file_identity identity;
        struct error absent = {.offset = NO_OFFSET};
        const char *path = array_below(t->job->arena, t->job->path, places[i]);
        if (file_identify(path, &identity, &absent) == OK) {
            orbax_store_open_of(&t->store, t->job, path, PROCESS_PREFIX);
            return;
        }
    }
}

/* Emit an array that is not stored, with the dtype and shape that its leaf states. */
static void jax_pytree_emit_lost(struct pytree *t, const struct jax_leaf *leaf)
{
    struct dtype dtype = {.kind = DTYPE_UNKNOWN};
    if (leaf->dtype)
        dtype_find(leaf->dtype, &dtype);
    if (t->missing++ == 0)
        t->first_missing = leaf->name;
    job_tensor(t->job, &(struct tensor_claim){.name = leaf->name,
                                              .name_len = leaf->len,
                                              .dtype = dtype.name,
                                              .shape = leaf->shape,
                                              .rank = leaf->rank,
                                              .dtype_unknown = dtype.kind == DTYPE_UNKNOWN,
                                              .shape_unknown = !leaf->shape});
}

static void jax_pytree_report(struct pytree *t)
{
    uint64_t count = orbax_store_count(&t->store), unnamed = 0;
    for (uint64_t i = 0; t->store.used && i < count; i++)
        unnamed += !t->store.used[i];
    if (t->missing && !t->store.broken)
        job_issue(t->job, ISSUE_ERROR, NULL, NO_OFFSET, "missing-array",
                  "arrays that are not stored here: %llu, the first \"%.200s\"; "
                  "listed without data",
                  (unsigned long long)t->missing, t->first_missing);
    if (t->values)
        job_issue(t->job, ISSUE_WARNING, NULL, NO_OFFSET, "unsupported",
                  "leaves that are Python values, which are not read: %llu, the first of "
                  "them \"%.200s\"",
                  (unsigned long long)t->values, t->first_value);
    if (unnamed)
        job_issue(t->job, ISSUE_WARNING, NULL, NO_OFFSET, "not-in-metadata",
                  "arrays that the tree does not name, which are not listed: %llu",
                  (unsigned long long)unnamed);
}

static enum status jax_pytree_index(struct job *job)
{
    static const char *const own[] = {"array_store", "array_store.tensorstore", "leaf_data"};
    struct pytree t = {.job = job};
    struct bytes text;
    const char *path = array_below(job->arena, job->path, TREE_FILE);
    if (orbax_read(job, path, "index", job->arena, &text, job->err) == OK &&
        jax_tree_parse(text, path, job->arena, &t.tree, job->err) == OK)
        open_store(&t);
    if (job->err->status == OK) {
        array_tree_report_foreign(job, job->path, own, sizeof(own) / sizeof(own[0]));
        job_expect(job, t.tree.count);
    }
    for (uint64_t i = 0; i < t.tree.count && job->err->status == OK; i++) {
        const struct jax_leaf *leaf = &t.tree.leaves[i];
        uint64_t position =
            leaf->empty ? ORBAX_NONE : orbax_store_find(&t.store, leaf->key, strlen(leaf->key));
        if (leaf->empty)
            job_node(t.job, leaf->name, leaf->len, leaf->empty);
        else if (position != ORBAX_NONE)
            orbax_store_emit(&t.store, position, leaf->name, leaf->len);
        else if (leaf->array)
            jax_pytree_emit_lost(&t, leaf);
        else if (strcmp(leaf->type, "null") == 0)
            job_node(t.job, leaf->name, leaf->len, "null");
        else if (t.values++ == 0)
            t.first_value = leaf->name;
    }
    if (job->err->status == OK)
        jax_pytree_report(&t);
    orbax_store_release(&t.store);
    return job->err->status;
}

const struct format format_jax_pytree = {
    .name = "jax_pytree",
    .summary = "JAX: a serialised pytree",
    .suffixes = "",
    .separator = '/',
    .probe_dir = jax_pytree_probe,
    .index = jax_pytree_index,
};

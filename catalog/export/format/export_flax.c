/*
 * export_flax.c - the msgpack file that flax.serialization reads (msgpack_tree.h).
 */
#include "catalog/export/format/msgpack_tree.h"

static void export_flax_lay_out(struct export_layout *l)
{
    struct msgpack_tree tree = {.l = l};
    struct export_tensor **order = export_order(l->plan, export_by_tree, l->err);
    /* Alone, an array is the file, without a map. */
    const bool alone = !l->plan->count || !*l->plan->tensor[0].name;
    lay_file(l, l->path);
    if (!alone)
        msgpack_tree_open(&tree);
    for (size_t i = 0; order && i < l->plan->count && lay_ok(l); i++) {
        if (!alone)
            msgpack_tree_key(&tree, order[i]->name);
        msgpack_array(&tree.text, order[i]);
        lay_add(l, &tree.text);
        lay_tensor(l, order[i]);
    }
    msgpack_tree_close(&tree);
}

const struct exporter exporter_flax = {
    .name = "flax",
    .suffix = ".msgpack",
    .summary = "Flax's msgpack, as flax.serialization reads it",
    .holds = msgpack_holds,
    .check = export_check_tree,
    .lay_out = export_flax_lay_out,
};

/*
 * ocdbt_tree.h - a store of TensorStore's OCDBT: keys, and values that are texts or ranges of the data file.
 *
 *   struct ocdbt_tree tree = {.l = l};
 *   lay_file(l, OCDBT_DATA_FILE), lay_tensor(l, t) ...      values that are tensors
 *   ocdbt_add(&tree, key, text, len);                       in any order; keys and texts are copied
 *   ocdbt_add_range(&tree, key, offset, len);
 *   ocdbt_finish(&tree);                                    nodes, behind the values; the manifest
 *
 * Source: TensorStore's kvstore/ocdbt/format (btree.rst, manifest.rst). Nodes are not compressed.
 */
#pragma once

#include "catalog/export/export_layout.h"

#define OCDBT_DATA_FILE "d/00000000000000000000000000000001"

struct ocdbt_tree {
    struct export_layout *l;
    struct ocdbt_entry *entry;
    size_t count, space;
};

void ocdbt_add(struct ocdbt_tree *, const char *key, const void *value, size_t len);
void ocdbt_add_range(struct ocdbt_tree *, const char *key, uint64_t offset, uint64_t len);
void ocdbt_finish(struct ocdbt_tree *);

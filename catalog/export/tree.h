/*
 * tree.h - for formats that are trees: each '/' in a name is one level.
 */
#ifndef CKPTDB_TREE_H
#define CKPTDB_TREE_H

#include "catalog/export/export.h"

/* A `check` for struct exporter: refuse a tensor below another one, as no node is both. A tensor
 * called "" is the root, and must be the only one. */
enum status export_check_tree(struct export_plan *, struct error *err);

/* An order of tensors by name, with '/' before all other characters, so that what is below a name
 * follows it. */
int export_by_tree(const struct export_tensor *, const struct export_tensor *);

#endif

/*
 * tree.h - for formats that are trees: a '/' of a name is a step down.
 */
#ifndef CKPTDB_EXPORT_TREE_H
#define CKPTDB_EXPORT_TREE_H

#include "catalog/export/export.h"

/* For struct exporter's `check`: a tensor that lies below another one is refused, for no node is
 * both. A tensor called "" is the root, and has to be the only one. */
enum status export_check_tree(struct export_plan *, struct error *err);

#endif

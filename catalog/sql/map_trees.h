/*
 * map_trees.h - the trees that a question reads again and again: of each source for many targets, of all
 * checkpoints for many rule sets. They are kept by layout, as many as there is room for.
 */
#ifndef CKPTDB_SQL_MAP_TREES_H
#define CKPTDB_SQL_MAP_TREES_H

#include "catalog/sql/map_load.h"

struct map_trees {
    struct arena arena;
    struct kept_tree **list;
    size_t count, space;
    struct strmap layouts; /* their places in the list */
};

/* As map_load_leaves(), of the layout of a checkpoint. What is kept is read once, and names are matched
 * each time. */
int map_trees_load(struct map_trees *, struct map_statements *, const struct dialect *,
                   struct rules *, const struct map_source *, struct map_task *,
                   struct map_tree *);
void map_trees_release(struct map_trees *);

#endif

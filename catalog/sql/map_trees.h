/*
 * map_trees.h - the trees that a question reads again and again: of each source for many targets, of all
 * checkpoints for many rule sets. They are kept by layout, as many as there is room for.
 */
#ifndef CKPTDB_SQL_MAP_TREES_H
#define CKPTDB_SQL_MAP_TREES_H

#include "catalog/sql/map_load.h"

/* In the order of `place`, and empty containers after all others. */
struct map_kept {
    sqlite3_int64 layout;
    struct map_tree tree;
    size_t leaves; /* of the tree, without empty containers */
};

struct map_trees {
    struct arena arena;
    struct map_kept **list;
    size_t count, space, leaves; /* trees, room for them; leaves of all */
    struct strmap layouts;       /* their places in the list */
};

/* The tree of a checkpoint's layout. NULL: it is not kept, for want of room. An SQLite code. */
int map_trees_get(struct map_trees *, struct map_statements *, const struct map_source *,
                  const struct map_kept **);
void map_trees_release(struct map_trees *);

#endif

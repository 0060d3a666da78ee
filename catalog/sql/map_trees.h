/*
 * map_trees.h - caches trees that a query reads repeatedly: of each source for many targets, of all
 * checkpoints for many rule sets. They are kept by layout, up to a maximum.
 */
#pragma once

#include "catalog/sql/map_load.h"

/* A cached tree, sorted by `place`; empty containers come last. */
struct map_kept {
    sqlite3_int64 layout;
    struct map_tree tree;
    size_t leaves; /* of the tree, without empty containers */
    bool compared; /* by map_trees_compare(), which sets `differ` */
    bool differ;   /* all leaves have different names */
};

struct map_trees {
    struct arena arena;
    struct map_kept **list;
    size_t count, space, leaves; /* of `list`; leaves: the sum over all trees */
    struct strmap layouts;       /* layout to index in `list` */
};

/* The tree of a checkpoint's layout. NULL: it does not fit into the cache. Returns an SQLite
 * code. */
int map_trees_get(struct map_trees *, struct map_statements *, const struct map_source *,
                  struct map_kept **);
/* Set `differ` of a cached tree. False: out of memory. */
bool map_trees_compare(struct map_kept *);
void map_trees_release(struct map_trees *);

/*
 * module_lists.h - the modules of each layout in memory, and lists in the order of columns, for the
 * table by_module (vt_module.c). Functions return SQLite codes; the reason of a failure is sqlite3_errmsg(), or
 * blocks_damage().
 */
#pragma once

#include "catalog/data/model/module_sums.h"
#include "catalog/sql/tensor_blocks.h"

/* Columns of by_module. */
enum module_column {
    MODULE_CHECKPOINT_ID,
    MODULE_CHECKPOINT,
    MODULE_NAME,
    MODULE_DEPTH,
    MODULE_TENSORS,
    MODULE_PARAMETERS,
    MODULE_NBYTES,
    MODULE_COLUMNS
};

struct module_list {
    struct layout *layout;
    struct module_sums sums;
    bool plain; /* no name has a NUL: its text in SQLite has the same length and depth */
};

struct module_lists {
    struct blocks blocks;
    struct module_list **list; /* [layout.index]; NULL: not read yet */
    size_t space;
    sqlite3_stmt *find, *rows;
    bool find_failed;  /* there is no such table */
    struct block *own; /* of module_name(), */
    struct text name;  /* and its result */
};

/* A module of a layout, or a value that several share (module_lists_sort_values()); `group` tells unequal neighbours apart. */
struct module_entry {
    uint32_t layout, at, group;
};

struct module_key {
    enum module_column column; /* MODULE_NAME or later */
    bool backwards;
};

void module_lists_forget(struct module_lists *);
void module_lists_close(struct module_lists *);
int module_lists_get(struct module_lists *, struct layout *, struct module_list **out);

/* The value of one of the last columns that a sum has. */
static inline int64_t module_sum_number(const struct module_sum *s, enum module_column column)
{
    return column == MODULE_TENSORS      ? s->tensors
           : column == MODULE_PARAMETERS ? s->parameters
                                         : s->nbytes;
}

/* Where in list.sums.depth a module is. */
static inline size_t module_depth_at(const struct module_list *l, uint32_t at)
{
    size_t i = 0;
    while (i + 1 < l->sums.depths && l->sums.depth[i + 1].first <= at)
        i++;
    return i;
}

/* Read modules of one depth, and of the depth of one module. */
int module_lists_read(struct module_lists *, struct module_list *, size_t depth);
static inline int module_read(struct module_lists *m, struct module_list *l, uint32_t at)
{
    const size_t depth = module_depth_at(l, at);
    return l->sums.depth[depth].read ? SQLITE_OK : module_lists_read(m, l, depth);
}

/* A number of a module. */
static inline int module_number(struct module_lists *m, struct module_list *l, uint32_t at,
                                enum module_column column, int64_t *out)
{
    if (column == MODULE_DEPTH) {
        *out = l->sums.depth[module_depth_at(l, at)].depth;
        return SQLITE_OK;
    }
    int rc = module_read(m, l, at);
    if (rc == SQLITE_OK)
        *out = module_sum_number(&l->sums.sum[l->sums.module[at].sum], column);
    return rc;
}

/* The name of a module; valid until the next call. */
int module_name(struct module_lists *, struct module_list *, uint32_t at, struct cell *out);

/* Put entries of lists that were read in the order of keys; alike ones keep their order. */
int module_lists_sort(struct module_lists *, struct module_entry *, size_t count,
                      const struct module_key *, size_t keys);
/* The same for entries that each mean the modules of a layout with sums.depth[at], or with sums.sum[at], by the
 * column that this determines. */
int module_lists_sort_values(struct module_lists *, struct module_entry *, size_t count,
                             struct module_key);

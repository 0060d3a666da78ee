/*
 * tensor_groups.h - tensors of layouts one after the other, by name or in the order of some of their
 * columns, for the plans of the table `tensor` that do not begin with checkpoints.
 */
#pragma once

#include "catalog/base/text.h"
#include "catalog/sql/tensor_blocks.h"
#include "catalog/sql/tensor_plan.h"

struct group_entry {
    uint32_t rank; /* of its key among all keys */
    uint32_t layout;
    uint32_t ord : 31, row : 1; /* row: of all tensors that have this row of the packed columns */
};

struct tensor_groups {
    struct blocks *blocks;
    sqlite3_stmt *stream; /* ids, and keys, in their order; NULL: the entries have them */
    struct group_entry *entry;
    size_t count, space, at;
    uint32_t ord, rank; /* where to go on in the tensors of a row, and the key of the last tensor */
    struct text key;    /* of the last one of the stream */
    struct cell from, to; /* of the stream's names; to.at NULL: it has no end */
    bool begun, ended;
    bool by_size;                   /* the stream has the sizes of layouts, */
    const struct tensor_plan *plan; /* in this order, */
    struct layout *layout;          /* and this is one, with the `left` next tensors of */
    struct sized *sized;            /* [layout.index] */
    size_t sized_space, left;
    int64_t number; /* bytes or elements */
    uint64_t given;
    bool same; /* as the last tensor that was given */
    /* Names are read when they decide: of the tensors that are alike in the keys before them. */
    struct tensor_plan head,
        tail; /* keys of the one, and of the other; tail.keys 0: there is none */
    struct {
        struct layout *layout; /* NULL: none */
        uint32_t ord;
    } next;                    /* with which the run after this begins */
    struct tensor_groups *run; /* that are alike in the head, in the order of the tail */
    struct block *row;
};

/* Add the tensors with names from one to another. */
int groups_between(struct tensor_groups *, struct blocks *, struct cell from, struct cell to);
/* The wanted tensors of a layout: `count` ascending numbers, or NULL: all. */
typedef int groups_filter(void *of, struct layout *, const uint32_t **ords, uint32_t *count);
/* All tensors in the order of a plan's keys; with a filter (may be NULL) only those that pass. */
int groups_ordered(struct tensor_groups *, struct blocks *, const struct tensor_plan *,
                   groups_filter *, void *of);
/* Put *count tensors of a layout in the order of a plan's keys, where equal keys stay as they were, or only
 * the first of these (EACH_KEY); `ords` NULL: all. */
int groups_sort_layout(struct blocks *, const struct tensor_plan *, struct layout *,
                       const uint32_t *ords, uint32_t *count, uint32_t *sorted);
/* Put the tensors that were added in the order of a plan's keys. */
int groups_sort(struct tensor_groups *, const struct tensor_plan *);
/* The columns of blocks that a column of the table is made of. */
unsigned tensor_block_columns(int column);
/* Add a column to a key: memcmp() orders these as SQLite orders the values. */
void groups_key_number(struct text *, int64_t);
void groups_key_text(struct text *, struct cell);
void groups_key(struct text *, const struct block *, uint32_t ord, int column);
/* Whether packed columns have all of these columns of keys; */
bool groups_packable(unsigned columns);
/* and their rows, as tensors of a block. */
struct block groups_rows(const struct packed_columns *);
/* The next tensor, SQLITE_ROW or SQLITE_DONE; *same: it has the key of the one before. */
int groups_next(struct tensor_groups *, struct layout **, uint32_t *ord, bool *same);
void groups_end(struct tensor_groups *);

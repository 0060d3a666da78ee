/*
 * blocks.h - what two lists of tensors have in common, found without reading their rows (the table
 * layout_blocks; schema/function/unlike.sql).
 *
 *   struct blocks b;
 *   blocks_begin(&b);
 *   for (each tensor, in order) blocks_add(&b, (struct block_row){...});
 *   keep(blocks_end(&b));               // BLOCK_BYTES for each block: its digest, and how many tensors
 *   blocks_release(&b);
 *
 * The digest is of names, dtypes and shapes as the rows of layout_tensors have them: of equal digests,
 * the rows are equal. Which name ends a block depends on that name alone, so that a tensor put in or left
 * out changes the block that it is in, and no other: one of 64 does.
 */
#ifndef CKPTDB_MODEL_BLOCKS_H
#define CKPTDB_MODEL_BLOCKS_H

#include <stdbool.h>

#include "catalog/base/text.h"
#include "catalog/model/fields.h"

#define BLOCKS_FROM 1024 /* tensors: the rows of fewer are read as fast as their blocks */
#define BLOCK_BYTES (FIELDS_DIGEST + 4)

struct blocks {
    struct fields fields; /* of the block that is not over */
    uint32_t rows;        /* in it */
    struct text out;
};

struct block_row {
    const char *name;
    size_t name_len;
    const char *dtype, *shape; /* NULL: not known */
};

void blocks_begin(struct blocks *);
void blocks_add(struct blocks *, struct block_row);
/* All of them, until blocks_release(). `at` is NULL: no memory. */
struct bytes blocks_end(struct blocks *);
void blocks_release(struct blocks *);

/* Tensors a.. of one list and b.. of another, so many of each; `alike`: they are the same ones. Each tensor
 * is in one run. What is not alike comes in pairs that lie between the same neighbours. */
struct blocks_run {
    uint32_t a, a_rows, b, b_rows;
    bool alike;
};

struct blocks_side {
    struct bytes
        blocks; /* none (`at` NULL), or not of so many tensors: nothing is known of these */
    uint64_t tensors;
};

/* All runs, in the order of a, those of b alone last; malloc'ed. NULL: no memory. */
struct blocks_run *blocks_compare(struct blocks_side a, struct blocks_side b,
                                  size_t *count);

#endif

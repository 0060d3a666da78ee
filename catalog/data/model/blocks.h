/*
 * blocks.h - finds what two lists of tensors have in common from digests of blocks of tensors,
 * without reading their rows (the table _layout_blocks; schema/function/unlike.sql).
 *
 *   struct blocks b;
 *   blocks_begin(&b);
 *   for (each tensor, in order) blocks_add(&b, (struct block_row){...});
 *   keep(blocks_end(&b));               // BLOCK_BYTES per block: digest, number of tensors (u32le)
 *   blocks_release(&b);
 *
 * The digest covers names, dtypes and shapes as in the rows of _layout_tensors: blocks with equal
 * digests have equal rows. Whether a name ends a block depends on that name alone (one in 64 does),
 * so inserting or removing a tensor changes the block that it is in (or splits it, or joins it with
 * the next), and no other.
 */
#pragma once

#include <stdbool.h>

#include "catalog/base/text.h"
#include "catalog/data/model/fields.h"

#define BLOCKS_FROM 1024 /* fewer tensors have no blocks: reading their rows is as fast */
#define BLOCK_BYTES (FIELDS_DIGEST + 4)

struct blocks {
    struct fields fields; /* digest of the current block */
    uint32_t rows;        /* tensors in it so far */
    struct text out;
};

struct block_row {
    const char *name;
    size_t name_len;
    const char *dtype, *shape; /* NULL: not known */
};

void blocks_begin(struct blocks *);
void blocks_add(struct blocks *, struct block_row);
/* All blocks; valid until blocks_release(). `at` is NULL: no memory. */
struct bytes blocks_end(struct blocks *);
void blocks_release(struct blocks *);

/* `a_rows` tensors from number `a` on of one list, and `b_rows` from `b` on of the other.
 * `alike`: they are the same tensors. Otherwise they are between the same neighbours, and either
 * may be empty. Each tensor is in exactly one run. */
struct blocks_run {
    uint32_t a, a_rows, b, b_rows;
    bool alike;
};

struct blocks_side {
    struct bytes blocks; /* `at` NULL, or of another number of tensors: not known */
    uint64_t tensors;
};

/* All runs in the order of a, then those with tensors of b only; malloc'ed. NULL: no memory. */
struct blocks_run *blocks_compare(struct blocks_side a, struct blocks_side b, size_t *count);

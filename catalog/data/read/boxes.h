/*
 * boxes.h - a run of positions of a slice, as boxes; a box and an extent, as a gather.
 *
 * All numbers are in units (tiles.h).
 */
#ifndef CKPTDB_BOXES_H
#define CKPTDB_BOXES_H

#include "catalog/data/model/slice.h"
#include "catalog/data/model/tensor.h"
#include "catalog/data/read/gather.h"

/* Indexes into a slice: lo[d] .. lo[d] + n[d] - 1 of dimension d. */
struct box {
    unsigned rank;
    uint64_t lo[TENSOR_RANK_MAX], n[TENSOR_RANK_MAX];
    uint64_t units;
};

/* The largest box that begins at `position` (C order within the slice) and holds at most
 * `left` units that follow each other. */
void box_next(const struct slice *slices, unsigned rank, uint64_t position, uint64_t left,
              struct box *out);

/* Lowest and highest position in the tensor, in C order, that the box selects. */
void box_range(const struct box *, const struct slice *slices, const uint64_t *shape,
               uint64_t *first, uint64_t *last);

/* A part of the tensor as it is stored in a source: its box, and its strides there. */
struct part {
    const uint64_t *origin; /* NULL: zeros */
    const uint64_t *shape;
    const int64_t *strides;
};

/* What to copy from the part to memory that holds the box, packed. False: they do not overlap. */
bool box_gather(const struct box *, const struct slice *slices, const struct part *,
                struct gather *out);

#endif

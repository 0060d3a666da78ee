/*
 * band.h - a part of a slice that needs the same chunks.
 *
 * A band is a box of the slice that is complete in the last dimensions and, in the dimension before
 * them, as high as a row of chunks, or several rows where chunks are small. A slice
 * of 100 x 1000 elements in chunks of 10 x 200: ten bands of 10 x 1000, each of 5 chunks.
 */
#pragma once

#include "catalog/data/read/gather.h"

/* The band with `position` (C order within the slice, in units); returns the position where it
 * begins. `most`: the most units in a band of several rows of chunks. */
uint64_t band_find(const struct ckptdb_slice *slices, unsigned rank, const uint64_t *chunk,
                   uint64_t position, uint64_t most, struct box *out);

/* The chunks that a band touches, numbered in C order. */
struct band_cells {
    uint64_t count;
    unsigned rank;
    const uint64_t *chunk;
    const struct ckptdb_slice *slices;
    const struct box *box;
    struct band_axis {
        uint64_t count, first;
        bool back;   /* towards lower indexes */
        bool sparse; /* steps are larger than chunks: one chunk a step */
    } axis[TENSOR_RANK_MAX];
};

void band_cells(const struct ckptdb_slice *slices, const struct box *box, const uint64_t *chunk,
                struct band_cells *out);
/* The place of chunk `number` in the grid: `rank` numbers. */
void band_cell(const struct band_cells *, uint64_t number, uint64_t *at);
/* The lowest and the highest place along each axis. */
void band_corners(const struct band_cells *, uint64_t *low, uint64_t *high);

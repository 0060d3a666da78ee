/*
 * band.h - a run of a slice that needs the same chunks.
 *
 * A band is a box of the slice that has all of the later dimensions, and of one before them
 * as many steps as one row of chunks holds; several rows of small ones.
 */
#ifndef CKPTDB_READ_BAND_H
#define CKPTDB_READ_BAND_H

#include "catalog/read/boxes.h"

/* The band that holds `position` (C order within the slice, in units). `most`: units of a band
 * of more than one row of chunks. Returns the position where it begins. */
uint64_t band_find(const struct slice *slices, unsigned rank, const uint64_t *chunk,
                   uint64_t position, uint64_t most, struct box *out);

/* The chunks that it touches, numbered in C order. */
struct band_cells {
    uint64_t count;
    unsigned rank;
    const uint64_t *chunk;
    const struct slice *slices;
    const struct box *box;
    struct band_axis {
        uint64_t count, first;
        bool back;   /* to lower ones */
        bool sparse; /* steps are larger than chunks: one chunk a step */
    } axis[TENSOR_RANK_MAX];
};

void band_cells(const struct slice *slices, const struct box *box, const uint64_t *chunk,
                struct band_cells *out);
/* The place of chunk `number` in the grid: rank numbers. */
void band_cell(const struct band_cells *, uint64_t number, uint64_t *at);
/* The lowest and the highest place along each axis. */
void band_corners(const struct band_cells *, uint64_t *low, uint64_t *high);

#endif

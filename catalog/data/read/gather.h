/*
 * gather.h - runs of positions of a slice, as boxes; and copying a strided box of elements from a source into strided memory.
 *
 * The one place that knows how to read well: dimensions are sorted by their step in the source,
 * those that continue each other are merged, long runs are read straight into place, and short
 * ones that lie close together are read through a small buffer.
 */
#pragma once

#include "catalog/data/model/slice.h"
#include "catalog/data/model/tensor.h"
#include "catalog/data/store/source.h"

struct gather_dim {
    uint64_t count;
    int64_t from; /* step in the source, in units */
    int64_t to;   /* step in memory, in units */
};

struct gather {
    size_t unit;   /* bytes of an element, or of a block of packed ones */
    uint64_t from; /* first unit in the source */
    uint64_t to;   /* first unit in memory */
    unsigned rank;
    struct gather_dim dim[TENSOR_RANK_MAX];
};

/* Every unit must lie inside the source and inside dst: the caller vouches for it. Changes *g. */
enum status gather_run(struct gather *g, const struct source *s, uint8_t *dst, struct error *err);

/* Whether the units form one run in the source and in memory. */
bool gather_is_run(const struct gather *g);

/* As gather_run(), from memory. A step of 0 in the source repeats a unit. */
void gather_copy(struct gather *g, const uint8_t *from, uint8_t *dst);

/* As gather_run(), into a temporary file (temporary.h) instead of memory: byte 0 of the file is
 * what would be dst. `what` names it in error messages. */
enum status gather_to_file(struct gather *g, const struct source *s, int fd, const char *what,
                           struct error *err);

/* --- boxes, in units ------------------------------------------------------------ */

/* Indexes into a slice: lo[d] .. lo[d] + n[d] - 1 of dimension d. */
struct box {
    unsigned rank;
    uint64_t lo[TENSOR_RANK_MAX], n[TENSOR_RANK_MAX];
    uint64_t units;
};

/* The largest box that begins at `position` (C order within the slice) and holds at most
 * `left` units that follow each other. */
void box_next(const struct ckptdb_slice *slices, unsigned rank, uint64_t position, uint64_t left,
              struct box *out);

/* Lowest and highest position in the tensor, in C order, that the box selects. */
void box_range(const struct box *, const struct ckptdb_slice *slices, const uint64_t *shape,
               uint64_t *first, uint64_t *last);

/* A part of the tensor as it is stored in a source: its box, and its strides there. */
struct part {
    const uint64_t *origin; /* NULL: zeros */
    const uint64_t *shape;
    const int64_t *strides;
};

/* What to copy from the part to memory that holds the box, packed. False: they do not overlap. */
bool box_gather(const struct box *, const struct ckptdb_slice *slices, const struct part *,
                struct gather *out);

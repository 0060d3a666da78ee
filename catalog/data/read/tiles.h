/*
 * tiles.h - the boxes of a tensor that lies in several extents: do they tile it, and which
 * of them does a part touch?
 *
 * All numbers are in units: elements, or blocks of packed ones along the last dimension.
 */
#ifndef CKPTDB_TILES_H
#define CKPTDB_TILES_H

#include "catalog/data/model/tensor.h"

struct tiles;

/* Fails with ERR_CORRUPT unless the boxes of the tensor's extents cover every element of it
 * exactly once; ERR_UNSUPPORTED when a box cuts a block of packed elements. */
enum status tiles_open(const struct stored_tensor *, struct tiles **out, struct error *err);
void tiles_close(struct tiles *);

/* The extents that may touch units of the tensor between two positions in C order, both
 * included: candidates [*begin, *end) for tiles_extent(). */
void tiles_between(const struct tiles *, uint64_t first, uint64_t last, uint64_t *begin,
                   uint64_t *end);
uint64_t tiles_extent(const struct tiles *, uint64_t candidate);

#endif

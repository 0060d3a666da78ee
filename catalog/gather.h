/*
 * gather.h - copy a strided box of elements from a source into strided memory.
 *
 * The one place that knows how to read well: dimensions are put in the order of the
 * source, neighbours that continue each other become one, long runs go straight to their
 * place, short ones that lie close together come through one small buffer.
 */
#ifndef CKPTDB_GATHER_H
#define CKPTDB_GATHER_H

#include "catalog/store/source.h"
#include "catalog/tensor.h"

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

/* The caller vouches that every unit lies inside the source and inside dst. Changes *g. */
enum status gather_run(struct gather *g, const struct source *s, uint8_t *dst,
                       struct error *err);

#endif

/*
 * view.h - a tensor's elements in another arrangement, without moving any.
 *
 * A view has a shape; each of its axes steps through the tensor's elements, which count from 0
 * in C order, in one or more dims, the outermost first:
 *
 *   [4, 6], whole          axes (4 by 6), (6 by 1)
 *   transposed             axes (6 by 1), (4 by 6)
 *   flattened after that   axis  (6 by 1)(4 by 6)
 *
 * All that is ever asked for is numbers: shapes of results before a byte is read, and gathers
 * (gather.h) when they are.
 */
#ifndef CKPTDB_COMPOSE_VIEW_H
#define CKPTDB_COMPOSE_VIEW_H

#include "catalog/base/arena.h"
#include "catalog/compose/operation.h"

#define VIEW_RANK_MAX 32
#define VIEW_DIMS_MAX 64

struct view_dim {
    uint64_t count, step;
};

struct view {
    unsigned rank;
    uint64_t shape[VIEW_RANK_MAX];
    unsigned first[VIEW_RANK_MAX + 1]; /* dims of axis a: first[a] up to first[a + 1] */
    struct view_dim dim[VIEW_DIMS_MAX];
    uint64_t offset; /* element where it begins */
    double scale;    /* 1: none */
    bool zeros;      /* of the tensor nothing but its dtype is used */
};

/* The tensor as it is. ERR_ARGUMENT with more than VIEW_RANK_MAX axes. */
enum status view_init(struct view *, const uint64_t *shape, unsigned rank,
                      struct error *err);

/* Do one operation. A cast is left to others. ERR_ARGUMENT, in the words of "ValueError: ...",
 * for what is impossible and for operations of several tensors. */
enum status view_apply(struct view *, const struct operation *, struct error *err);

/* Do all operations of a text. */
enum status view_apply_all(struct view *, const char *operations, struct error *err);

/* An axis as NumPy counts them, negative from the end. Argument `i` of the operation. */
enum status view_axis(unsigned rank, const struct operation *, unsigned i, unsigned *axis,
                      struct error *err);

#define PARTS_MAX 1000000 /* that one tensor can become */

/* The sizes of the pieces that a split asks for along an axis of `size`, in the arena; *count of
 * them, at most PARTS_MAX. */
enum status view_split(const struct operation *, uint64_t size, struct arena *,
                       uint64_t **out, size_t *count, struct error *err);

/* Elements; the shape's product, which fits. */
uint64_t view_elements(const struct view *);

/* Whether the elements follow each other in the tensor. */
bool view_is_run(const struct view *);

#endif

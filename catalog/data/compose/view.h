/*
 * view.h - a tensor's elements in another arrangement, without moving any.
 *
 * A view has a shape. Each of its axes steps through the tensor's elements, which are numbered from
 * 0 in C order, in one or more dims "(COUNT by STEP)", the outermost first:
 *
 *   [4, 6], whole          axes (4 by 6), (6 by 1)
 *   transposed             axes (6 by 1), (4 by 6)
 *   flattened after that   axis  (6 by 1)(4 by 6)
 *
 * A view is only numbers: they give the shapes of results before a byte is read, and gathers
 * (gather.h) when bytes are read.
 */
#pragma once

#include "catalog/base/arena.h"
#include "catalog/data/compose/operation.h"

#define VIEW_RANK_MAX 32
#define VIEW_DIMS_MAX 64

struct view_dim {
    uint64_t count, step;
};

struct view {
    unsigned rank;
    uint64_t shape[VIEW_RANK_MAX];
    unsigned first[VIEW_RANK_MAX + 1]; /* first dim of each axis, and the end */
    struct view_dim dim[VIEW_DIMS_MAX];
    uint64_t offset; /* number of its first element */
    double scale;    /* 1: none */
    double add;      /* to the scaled elements; 0: nothing */
    bool zeros;      /* all zeros: only the dtype of the tensor is used */
};

/* A view of the whole tensor. ERR_ARGUMENT if it has more than VIEW_RANK_MAX axes. */
enum status view_init(struct view *, const uint64_t *shape, unsigned rank, struct error *err);

/* Apply one operation. A cast changes nothing here. ERR_ARGUMENT for what is impossible and for
 * operations that divide or join tensors. */
enum status view_apply(struct view *, const struct operation *, struct error *err);

/* Apply all operations of a text. */
enum status view_apply_all(struct view *, const char *operations, struct error *err);

/* The axis in argument `i` of an operation; as in NumPy, negative numbers count from the end. */
enum status view_axis(unsigned rank, const struct operation *, unsigned i, unsigned *axis,
                      struct error *err);

#define PARTS_MAX 1000000 /* most tensors into which one can be divided */

/* The sizes of the *count pieces (at most PARTS_MAX) into which a split divides an axis of
 * `size`, in the arena, which has an `err`. */
enum status view_split(const struct operation *, uint64_t size, struct arena *, uint64_t **out,
                       size_t *count, struct error *err);

/* Number of elements: the product of the shape, which fits. */
uint64_t view_elements(const struct view *);

/* Whether the elements of the view are consecutive in the tensor. */
bool view_is_run(const struct view *);

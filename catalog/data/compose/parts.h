/*
 * parts.h - splits operations that turn one tensor into several, or several into one.
 *
 *   [["transpose"], ["unstack", 1]]  parts "0", "1", ...: [["transpose"], ["take", 1, 0]], ...
 *   [["transpose"], ["stack", 0, 3], ["flatten", 0, 1]]
 *                                    a join ["stack", 0] with key 3, and the operations before
 *                                    and after it
 */
#pragma once

#include "catalog/base/arena.h"
#include "catalog/data/compose/shapes.h"

/* One of the tensors into which one is divided. */
struct operation_part {
    const char *label;      /* its number, or its label in the operation */
    const char *operations; /* operations that make it; "[]": none */
};

/* The parts, in the arena. *count 0: no operation divides. ERR_ARGUMENT if one does, but is not
 * possible with this shape. */
void parts_of(const char *operations, const char *shape, struct arena *,
              struct operation_part **out, size_t *count, struct error *err);

struct operation_join {
    const char *join; /* ["stack", AXIS] or ["concat", AXIS]; NULL: none */
    bool counted;     /* its key is a whole number, `key` */
    int64_t key;
    const char *before, *after; /* lists of operations */
};

/* Split the operations at the one that joins. `out` is in the arena. ERR_ARGUMENT if it is not a
 * list of operations, ERR_MEMORY. */
enum status join_of(const char *operations, struct arena *, struct operation_join *out,
                    struct error *err);

/* The size of the axis along which a concat joins; false if it is not a concat, or there is no such
 * axis. */
bool join_along(const char *join, const char *shape, uint64_t *size);

/* Append the shape of the result of a join and of the operations `after` it. `shape` is one part's;
 * `count` is the number of parts, or for a concat the sum of their sizes along its axis.
 * ERR_ARGUMENT. */
void join_shape(const char *join, uint64_t count, const char *shape, const char *after,
                struct text *out, struct error *err);

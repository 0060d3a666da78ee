/*
 * parts.h - operations that make several tensors of one, or one of several, taken apart.
 *
 *   [["transpose"], ["unstack", 1]]  parts "0", "1", ...: [["transpose"], ["take", 1, 0]], ...
 *   [["transpose"], ["stack", 0, 3], ["flatten", 0, 1]]
 *                                    a join: ["stack", 0], its key 3, what is before it and after
 */
#ifndef CKPTDB_COMPOSE_PARTS_H
#define CKPTDB_COMPOSE_PARTS_H

#include "catalog/base/arena.h"
#include "catalog/compose/shapes.h"

/* One of the tensors that become of one. */
struct operation_part {
    const char *label;      /* its number, or as the operation calls it */
    const char *operations; /* that make it; "[]": none */
};

/* The parts, in the arena. *count 0: the operations do not divide. ERR_ARGUMENT where they would,
 * but cannot with this shape. */
enum status parts_of(const char *operations, const char *shape, struct arena *,
                     struct operation_part **out, size_t *count, struct error *err);

struct operation_join {
    const char
        *join; /* ["stack", AXIS] or ["concat", AXIS], without white space; NULL: none */
    bool counted; /* its key is a whole number: */
    int64_t key;
    const char *before, *after; /* lists of operations */
};

/* Where the operations join. `out` is in the arena. ERR_ARGUMENT where it is not a list of
 * operations, ERR_MEMORY. */
enum status join_of(const char *operations, struct arena *, struct operation_join *out,
                    struct error *err);

/* The size of the axis that a concat joins; false: it is none, or there is no such axis. */
bool join_along(const char *join, const char *shape, uint64_t *size);

/* Append the shape of what is joined: of `count` parts, or of as many along a concat's axis, `shape`
 * being that of one; and after the operations that follow. ERR_ARGUMENT. */
enum status join_shape(const char *join, uint64_t count, const char *shape,
                       const char *after, struct text *out, struct error *err);

#endif

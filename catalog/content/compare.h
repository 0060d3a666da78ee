/*
 * compare.h - how far apart the values of two tensors of one shape are, in one pass over both.
 *
 * Integers are compared as such, quantised ones (qint8) as they are stored; other values, and
 * integers with floats, as float64. NaN at the same place in both is no difference; NaN on one side
 * is one: it is counted, but left out of the sums. Block types are dequantised. Large tensors
 * are compared on all cores; sums are added in an order that depends neither on the number of
 * threads nor on the processor.
 */
#pragma once

#include "catalog/data/convert/loss.h"
#include "catalog/data/model/tensor.h"

struct comparison {
    double max_abs; /* of b - a */
    /* Norm of b - a divided by the norm of a; infinite if only a's norm is 0. */
    double rel_l2;
    double delta_l2;  /* the norm of b - a */
    double cosine;    /* NaN where a norm is 0 */
    uint64_t unequal; /* elements that differ */
    uint64_t nans;    /* elements that are NaN on one side only */
    struct loss lost; /* lost by the cast of a */
    /* Where shapes differ in the first dimension alone: the rows that both have, which were compared; else 0 */
    uint64_t rows;
};

/* Called on the caller's thread now and then, with the bytes of both tensors compared
 * since the last call. */
struct compare_watch {
    void *context;
    enum status (*read)(void *context, uint64_t bytes, struct error *err);
    unsigned threads; /* that compare; 0: one per core */
};

/* `as` (NULL: no cast): a is cast to it first, as an export would. ERR_ARGUMENT if the numbers of
 * elements differ, and not through the first dimension alone; ERR_UNSUPPORTED if values are not real numbers, or quantised integers
 * meet floats; otherwise errors from reading, casting and `watch` (NULL: none). */
enum status tensor_compare(const struct stored_tensor *a, const struct dtype *as,
                           const struct stored_tensor *b, const struct compare_watch *watch,
                           struct comparison *out, struct error *err);

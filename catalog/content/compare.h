/*
 * compare.h - how far apart the values of two tensors of one shape are, in one pass over both.
 *
 * Values become float64 first, but for two tensors of the same 64-bit integers; NaN at the same place in both is no difference, at one of them alone
 * it is: it is counted, and left out of the sums. Block types are dequantised. The sums do not
 * depend on threads: there is one.
 */
#ifndef CKPTDB_CONTENT_COMPARE_H
#define CKPTDB_CONTENT_COMPARE_H

#include "catalog/model/tensor.h"

struct comparison {
    double max_abs; /* of b - a */
    double
        rel_l2; /* norm of b - a over that of a; NaN where a's norm is 0 and b's is not */
    double cosine;    /* NaN where a norm is 0 */
    uint64_t unequal; /* elements that differ */
    uint64_t nans;    /* elements that are NaN on one side alone */
};

/* Asked after every block that is read. */
struct compare_watch {
    void *context;
    enum status (*read)(void *context, uint64_t bytes, struct error *err);
};

/* ERR_ARGUMENT where they have not as many elements; ERR_UNSUPPORTED where values are no real
 * numbers; else the errors of reading, and those of `watch` (NULL: nobody). */
enum status tensor_compare(const struct stored_tensor *a, const struct stored_tensor *b,
                           const struct compare_watch *watch, struct comparison *out,
                           struct error *err);

#endif

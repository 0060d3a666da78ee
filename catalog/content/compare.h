/*
 * compare.h - how far apart the values of two tensors of one shape are, in one pass over both.
 *
 * Values become float64 first, but for two tensors of the same 64-bit integers; NaN at the same place
 * in both is no difference, at one of them alone it is: it is counted, and left out of the sums. Block
 * types are dequantised. The sums do not depend on threads: there is one.
 */
#ifndef CKPTDB_CONTENT_COMPARE_H
#define CKPTDB_CONTENT_COMPARE_H

#include "catalog/convert/loss.h"
#include "catalog/model/tensor.h"

struct comparison {
    double max_abs; /* of b - a */
    /* Norm of b - a over that of a; infinite where a's norm is 0 and b's is not. */
    double rel_l2;
    double cosine;    /* NaN where a norm is 0 */
    uint64_t unequal; /* elements that differ */
    uint64_t nans;    /* elements that are NaN on one side alone */
    struct loss lost; /* by the cast of a */
};

/* Called after every block that is read of either: how many of the tensor's bytes it has. */
struct compare_watch {
    void *context;
    enum status (*read)(void *context, uint64_t bytes, struct error *err);
};

/* `as` (NULL: as it is): a is cast to it before it is compared, as an export would.
 * ERR_ARGUMENT where they have not as many elements; ERR_UNSUPPORTED where values are no real
 * numbers; else the errors of reading and casting, and those of `watch` (NULL: none). */
enum status tensor_compare(const struct stored_tensor *a, const struct dtype *as,
                           const struct stored_tensor *b,
                           const struct compare_watch *watch, struct comparison *out,
                           struct error *err);

#endif

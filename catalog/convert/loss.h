/*
 * loss.h - what a conversion between floats loses, counted from both sides of it: numbers that
 * were finite and are not, that were not zero and are, that became NaN. A complex element is two.
 */
#ifndef CKPTDB_CONVERT_LOSS_H
#define CKPTDB_CONVERT_LOSS_H

#include <stdbool.h>
#include <stdint.h>

#include "catalog/model/dtype.h"

struct loss {
    uint64_t out_of_range; /* finite, and infinity or NaN now */
    uint64_t to_zero;
    uint64_t to_nan; /* where a dtype has no infinity, what is out of range, too */
};

/* Whether a conversion can lose numbers and they can be counted: floats of 8 to 64 bits, or
 * complex numbers of such, to other ones. */
bool loss_possible(const struct dtype *from, const struct dtype *to);

/* Add what the conversion of `count` elements lost. */
void loss_count(const struct dtype *from, const void *before, const struct dtype *to,
                const void *after, uint64_t count, struct loss *);

#endif

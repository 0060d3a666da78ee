/*
 * loss.h - counts what a conversion between floats loses, by comparing input and output: numbers
 * that became infinite, zero or NaN. A complex element counts as two numbers. Where floats become
 * blocks, rounding is intended, also to zero: a number counts only if its block makes it infinite or
 * NaN, because the scale overflows float16, or another number of the block is not finite.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "catalog/data/model/dtype.h"

struct loss {
    uint64_t out_of_range; /* were finite, and are infinity or NaN now */
    uint64_t to_zero;
    uint64_t to_nan; /* also numbers out of range, if the dtype has no infinity */
};

/* Whether a conversion can lose numbers that can be counted: between different float dtypes of 8 to
 * 64 bits, from these to blocks, or different complex dtypes. */
bool loss_possible(const struct dtype *from, const struct dtype *to);

/* Add what the conversion of `count` elements lost. */
void loss_count(const struct dtype *from, const void *before, const struct dtype *to,
                const void *after, uint64_t count, struct loss *);

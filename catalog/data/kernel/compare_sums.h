/*
 * compare_sums.h - distances of numbers, block by block, with sums of squares that neither overflow
 * nor underflow.
 *
 *   struct compare_sums all = compare_none;
 *   ... fill a and b of a block ...
 *   compare_floats(&block, &sums)
 *   compare_join(&all, &sums)
 */
#pragma once

#include "catalog/data/kernel/compare_kernels.h"

struct compare_sums {
    struct compare_products of; /* of numbers multiplied by 2 to these powers: */
    int power_a, power_b, power_d;
    double max_abs;   /* of b - a */
    uint64_t unequal; /* elements that differ */
    uint64_t nans;    /* elements that are NaN on one side only */
};

/* Sums of no numbers. */
extern const struct compare_sums compare_none;

/* Of a block of float64. NaN in both is no difference; NaN in one is, and is left out of the sums,
 * and replaced. */
void compare_floats(struct compare_block *, struct compare_sums *out);

/* Of a block of 64-bit integers, which float64 does not always tell apart: their bits are in place
 * of the numbers, which replace them. */
void compare_integers(struct compare_block *, bool a_signed, bool b_signed,
                      struct compare_sums *out);

/* Add the second to the first. */
void compare_join(struct compare_sums *, const struct compare_sums *);

/* For tests: use the portable kernels only. */
extern bool compare_scalar_only;

/*
 * compare_kernels.h - distances of two blocks of numbers and sums of squares, for any machine and for
 * x86-64 with AVX2 or AVX-512.
 *
 * All variants are compiled from one text, compare_loops.h, whose sums have eight lanes: element i
 * goes to lane i mod 8, and lanes are added in order. So all agree to the bit.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define COMPARE_BLOCK 1024 /* elements: what a kernel works on stays in the L1 cache */
#define COMPARE_LANES 8

/* Numbers of two tensors and their distances b - a; the last row of lanes is padded with zeros. */
struct compare_block {
    double a[COMPARE_BLOCK], b[COMPARE_BLOCK], d[COMPARE_BLOCK];
    size_t count;
};

/* What is known of a block before its squares are added. */
struct compare_extremes {
    double a, b, d;   /* the largest magnitude of each */
    uint64_t unequal; /* elements that differ */
    bool nans;        /* a or b has a NaN: nothing else here may be used */
};

struct compare_products {
    double aa, bb, ab, dd;
};

struct compare_kernels {
    /* Compute d from a and b; 0 between infinities of one sign. */
    void (*distances)(struct compare_block *, struct compare_extremes *);
    /* Sum up, after a, b and d have been multiplied by their factors. */
    void (*sums)(const struct compare_block *, const double factors[3], struct compare_products *);
};

extern const struct compare_kernels compare_plain;
/* x86-64 only; call them only if the CPU has these instructions. */
extern const struct compare_kernels compare_avx2, compare_avx512;

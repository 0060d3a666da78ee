/*
 * stat_kernels.h - statistics of a block of numbers, for any machine and for x86-64 with AVX2 or
 * AVX-512.
 *
 * All variants are compiled from one text, stat_loops.h, whose sums have sixteen lanes: element i
 * goes to lane i mod 16, and lanes are added in order. So all agree to the bit.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "catalog/content/stat_grid.h"

#define STAT_BLOCK 8192 /* the most elements that a kernel is given */

/* Statistics of a run of elements. NaN and infinities are counted, but left out of the rest. */
struct stat_sums {
    uint64_t finite, zeros, nans, infs;
    uint64_t subnormals; /* not 0, but smaller than the least normal number */
    double least, most;  /* without numbers: infinity, minus infinity */
    double mean;
    double spread; /* sum of the squares of the differences from the mean */
    int scale;     /* mean is times 2 to the power of this, spread times its square */
};

/* `values` are `count` floats or doubles, not necessarily aligned. `tiny`: the least normal
 * number; 0: there are no subnormals. The numbers are also counted in the grid. */
typedef void stat_kernel(const void *values, size_t count, double tiny, struct stat_sums *out,
                         struct stat_grid *);

struct stat_kernels {
    stat_kernel *of_32, *of_64;
};

extern const struct stat_kernels stat_plain;
/* x86-64 only; call them only if the CPU has these instructions. */
extern const struct stat_kernels stat_avx2, stat_avx512;

/*
 * stat_kernels.h - statistics of a block of numbers, for any machine and for x86-64 with AVX2 or AVX-512.
 *
 * All are compiled from one text, stat_loops.h, whose sums have sixteen lanes: element i goes to lane
 * i mod 16, and lanes are added in order. So all agree to the bit.
 */
#ifndef CKPTDB_CONTENT_STAT_KERNELS_H
#define CKPTDB_CONTENT_STAT_KERNELS_H

#include <stddef.h>
#include <stdint.h>

#include "catalog/content/stat_grid.h"

#define STAT_BLOCK 8192 /* elements at most that a kernel is given */

/* Of a run of elements. NaN and infinities are counted, and left out of the rest. */
struct stat_sums {
    uint64_t finite, zeros, nans, infs;
    uint64_t subnormals; /* neither 0 nor as large as the least normal number */
    double least, most;  /* of none: infinity, minus infinity */
    double mean;
    double spread; /* sum of the squares of values less their mean */
};

/* `values` are `count` floats, or doubles, wherever they lie. `tiny`: the least normal number, 0: there
 * are no subnormal ones. The numbers are added to the grid. */
typedef void stat_kernel(const void *values, size_t count, double tiny,
                         struct stat_sums *out, struct stat_grid *);

struct stat_kernels {
    stat_kernel *of_32, *of_64;
};

extern const struct stat_kernels stat_plain;
/* x86-64 only, and only where the CPU has it. */
extern const struct stat_kernels stat_avx2, stat_avx512;

#endif

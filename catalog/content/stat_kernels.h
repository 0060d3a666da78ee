/*
 * stat_kernels.h - statistics of a block of numbers, for any machine and for AVX2.
 *
 * Both are compiled from one text, stat_loops.h, whose sums have eight lanes: element i goes to lane
 * i mod 8, and lanes are added in order. So both agree to the bit.
 *
 * The histogram's finest bins are those of the sign, the exponent and the first bits of the
 * mantissa: 128 an octave of float32, 16 of float64.
 */
#ifndef CKPTDB_CONTENT_STAT_KERNELS_H
#define CKPTDB_CONTENT_STAT_KERNELS_H

#include <stddef.h>
#include <stdint.h>

#define STAT_BLOCK 8192 /* elements at most that a kernel is given */
#define STAT_BITS  16   /* of a number that are its bin: the upper half of a float32 */

/* Of a run of elements. NaN and infinities are counted, and left out of the rest. */
struct stat_sums {
    uint64_t finite, zeros, nans, infs;
    uint64_t subnormals; /* neither 0 nor as large as the least normal number */
    double least, most;  /* of none: infinity, minus infinity */
    double mean;
    double spread; /* sum of the squares of values less their mean */
};

/* The last row of 8 values is filled up with NaN. `tiny`: the least normal number. `bins` are added to: two tables of 2^STAT_BITS, which together
 * are the histogram (so that equal neighbours need not wait for each other). */
struct stat_kernels {
    void (*of_32)(const float *values, size_t count, float tiny, struct stat_sums *out,
                  uint32_t *bins);
    void (*of_64)(const double *values, size_t count, double tiny, struct stat_sums *out,
                  uint32_t *bins);
};

extern const struct stat_kernels stat_plain;
extern const struct stat_kernels
    stat_avx2; /* x86-64 only, and only where the CPU has it */

#endif

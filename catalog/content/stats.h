/*
 * stats.h - statistics of the values of tensors, kept in the catalog (tables `statistics`,
 * `_tensor_statistics`; view `stats`).
 *
 * Values are numbers: bool is 0 and 1, a complex number is its magnitude, block types are
 * dequantised; strings, times and raw bytes have none. A 64-bit integer counts as the nearest
 * float64. NaN and infinities are counted, but left out of the rest.
 *
 * Elements are taken in groups of STAT_GROUP, whatever the container and the number of threads,
 * so that results depend only on the values and their order. Within a block of 8192, sums are of
 * the differences from one of its values, in sixteen lanes; means and sums of squares of blocks
 * are then combined (Chan, Golub, LeVeque 1979). For dtypes of 8 and 16 bits with many elements,
 * the codes are counted, and the rest is computed from the counts. Mean and std are accurate to
 * some 1e-12 of the largest value; counts, min, max and the histogram are exact. Where sums or
 * squares are beyond float64, they are of the values times 2^-600; squares of values below 1e-162 are 0.
 *
 * The histogram has 16 to 32 bins (fewer if there are few values, or if they lie close together
 * far from 0). Its inner edges are multiples of a power of 2; all bins have one width, except for
 * the first and the last, which end at the least and the greatest value. A positive edge, and 0,
 * belongs to the bin above it, a negative one to the bin below it (stat_grid.h).
 */
#pragma once

#include "catalog/content/hashes.h"

#define STAT_GROUP (UINT64_C(1) << 23) /* elements */

/* Compute the statistics of all tensors of a checkpoint that have numbers, or of those in whose
 * name a Python regex is found (NULL: all). What is known is not computed again, unless the work
 * asks for it; a tensor with the hash and dtype of one that has statistics shares them.
 * *complete: all could be read. */
enum status content_stats(const struct content_work *, int64_t checkpoint, const char *regex,
                          bool *complete, struct error *err);

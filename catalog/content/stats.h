/*
 * stats.h - what the values of tensors are like: kept in the catalog (tables `statistics`,
 * `tensor_statistics`; view `stats`).
 *
 * Values are numbers: bool is 0 and 1, complex numbers are their magnitude, block types are
 * dequantised; strings, times and raw bytes have none. Integers of 64 bits count as the nearest
 * float64. NaN and infinities are counted, and left out of the rest.
 *
 * Elements are taken in groups of STAT_GROUP, whatever the container and the number of threads, so
 * that results depend on the values and their order alone. Within a block of 8192 sums are of
 * values less one of them, in sixteen lanes; means and sums of squares of blocks are then joined
 * (Chan, Golub, LeVeque 1979). Of dtypes of 8 and 16 bits with many elements, how often each code
 * comes is counted, and the rest follows from that. Mean and std are good to some 1e-12 of the
 * largest value; counts, min, max and the histogram are exact.
 *
 * The histogram has 16 to 32 bins (fewer where there are few values, or where they lie close together
 * far from 0). Its edges between the least and the greatest value are multiples of a power of 2: all bins
 * are of one width, but for the first and the last, which end with the values. A positive edge, and 0,
 * belongs to the bin above it, a negative one to that below it (stat_grid.h).
 */
#ifndef CKPTDB_CONTENT_STATS_H
#define CKPTDB_CONTENT_STATS_H

#include "catalog/content/content.h"

#define STAT_GROUP (UINT64_C(1) << 23) /* elements */

/* Those of all tensors of a checkpoint that have numbers, or of those whose name a Python regex is
 * found in (NULL: all). What is known is not computed again, unless the work asks for it; tensors
 * with the hash and dtype of one that has statistics share them. *complete: all could be read. */
enum status content_stats(const struct content_work *, int64_t checkpoint,
                          const char *regex, bool *complete, struct error *err);

#endif

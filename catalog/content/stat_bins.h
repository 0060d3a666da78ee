/*
 * stat_bins.h - the finest bins of a histogram (stat_kernels.h), and the few that are kept.
 */
#ifndef CKPTDB_CONTENT_STAT_BINS_H
#define CKPTDB_CONTENT_STAT_BINS_H

#include <stdbool.h>

#include "catalog/base/text.h"
#include "catalog/content/stat_kernels.h"

struct stat_count {
    uint32_t bin; /* or code */
    uint64_t count;
};

/* The finest bin of a number, of float32's (`narrow`) or of float64's. */
uint32_t stat_bin(double value, bool narrow);

/* Append {"edges":[...],"counts":[...]} of the finite numbers in these bins, of which there are some:
 * no more bins than numbers. */
void stat_histogram(struct text *out, const struct stat_count *bins, size_t count,
                    bool narrow, const struct stat_sums *);

#endif

/*
 * stat_bins.h - the finest bins of a histogram (stat_kernels.h), and the few that are kept.
 */
#ifndef CKPTDB_CONTENT_STAT_BINS_H
#define CKPTDB_CONTENT_STAT_BINS_H

#include "catalog/base/text.h"
#include "catalog/content/stat_kernels.h"

/* The finest bin of a finite number, of float32's bins or of float64's. */
uint32_t stat_bin(double value, unsigned bits);

/* Append {"edges":[...],"counts":[...]} of 2^bits finest bins, between the least and the most of the
 * numbers in them. */
void stat_histogram(struct text *out, const uint64_t *bins, unsigned bits, double least,
                    double most);

#endif

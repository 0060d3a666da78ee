/*
 * stat_read.h - statistics of a part of a tensor (sweep.h), on any thread.
 */
#pragma once

#include <pthread.h>

#include "catalog/content/stat_kernels.h"
#include "catalog/content/sweep.h"

/* How the statistics of a dtype are computed. */
enum stat_way {
    STAT_NONE,  /* its values are not numbers */
    STAT_CODES, /* by counting each code of 8 or 16 bits */
    STAT_32,    /* as float32, which represents them exactly */
    STAT_64,    /* as float64 */
};

enum stat_way stat_way(const struct stored_tensor *);

/* The least normal number of a dtype; 0: it has no subnormals. */
double stat_tiny(const struct dtype *);

/* Bytes of a part: of STAT_GROUP elements. */
uint64_t stat_part_bytes(const struct stored_tensor *);

#define STAT_HOLD (UINT64_C(1) << 31) /* elements that 32-bit counters can count */

struct stat_count {
    uint32_t code;
    uint64_t count;
};

struct stat_outcome {
    struct error err;
    bool absent; /* it has no numbers, or no bytes to read, as the import has reported */
    struct stat_sums *groups; /* one per STAT_GROUP elements; none if codes are counted */
    size_t group_count;
    struct stat_grid grid;    /* empty if codes are counted */
    struct text histogram;    /* if the part is the whole tensor; else empty */
    struct stat_count *codes; /* a code may occur once per STAT_HOLD elements */
    size_t code_count, code_space;
};

/* Tables of counters for codes, two times 2^16 each, which are all 0 while not in use. */
struct stat_tables;
struct stat_tables *stat_tables_new(void); /* NULL without memory */
void stat_tables_free(struct stat_tables *);

/* NULL without memory. *bytes: its size. */
struct stat_outcome *stat_read(struct stat_tables *, const struct sweep_part *, uint64_t *bytes);
void stat_outcome_free(void *outcome);

/* Add the second run of elements to the first. */
void stat_join(struct stat_sums *a, const struct stat_sums *b);
/* Mean and spread as float64 can add and square whatever it holds. */
void stat_scale(struct stat_sums *);

/* For tests: use the portable kernels only. */
extern bool stat_scalar_only;
const struct stat_kernels *stat_kernels(void);

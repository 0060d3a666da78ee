/*
 * stat_read.h - statistics of a part of a tensor (sweep.h), on any thread.
 */
#ifndef CKPTDB_CONTENT_STAT_READ_H
#define CKPTDB_CONTENT_STAT_READ_H

#include <pthread.h>

#include "catalog/content/stat_kernels.h"
#include "catalog/content/sweep.h"

/* How the values of a dtype are counted. */
enum stat_way {
    STAT_NONE,  /* they are not numbers */
    STAT_CODES, /* how often each code of 8 or 16 bits comes */
    STAT_32,    /* as float32, which holds them */
    STAT_64,    /* as float64 */
};

enum stat_way stat_way(const struct stored_tensor *);

/* The least normal number of a dtype; 0: it has no subnormal ones. */
double stat_tiny(const struct dtype *);

/* Bytes of a part: of STAT_GROUP elements. */
uint64_t stat_part_bytes(const struct stored_tensor *);

#define STAT_HOLD (UINT64_C(1) << 31) /* elements that tables of 32 bits can count */

struct stat_count {
    uint32_t code;
    uint64_t count;
};

struct stat_outcome {
    struct error err;
    bool absent; /* it has no bytes to read, which import has reported, or no numbers */
    struct stat_sums *groups; /* of STAT_GROUP elements each; none of codes */
    size_t group_count;
    struct stat_grid grid;    /* of no codes */
    struct text histogram;    /* of a grid that is all of a tensor; else empty */
    struct stat_count *codes; /* of STAT_HOLD elements one may come twice */
    size_t code_count, code_space;
};

/* Tables of codes that are filled and emptied again: two of them, of 2^16 numbers each, all 0. */
struct stat_tables;
struct stat_tables *stat_tables_new(void); /* NULL without memory */
void stat_tables_free(struct stat_tables *);

/* NULL without memory. *bytes: what it holds. */
struct stat_outcome *stat_read(struct stat_tables *, const struct sweep_part *,
                               uint64_t *bytes);
void stat_outcome_free(struct stat_outcome *);

/* Join two runs of elements, into the first. */
void stat_join(struct stat_sums *a, const struct stat_sums *b);

/* Whether the plain kernels alone are used: for tests. */
extern bool stat_scalar_only;
const struct stat_kernels *stat_kernels(void);

#endif

/*
 * npyhead.h - the header of a NumPy array: what .npy files and .npz members begin with.
 */
#pragma once

#include "catalog/base/arena.h"
#include "catalog/base/bits.h"
#include "catalog/base/error.h"

#define NPY_MAGIC       "\x93NUMPY"
#define NPY_MAGIC_BYTES 6
#define NPY_FIXED_BYTES 12 /* enough to know the size of any header */

struct npy_head {
    uint64_t size;     /* of the header: the first element begins here */
    uint64_t nbytes;   /* of all elements as stored */
    uint64_t items;    /* elements */
    const char *dtype; /* canonical, or "unknown(X)" */
    const char *codec; /* "swap:4", "strings:S5", ...; NULL: none */
    uint64_t *shape;   /* outermost first, also in Fortran order */
    unsigned rank;
    int64_t *strides; /* in elements; NULL: C order */
};

/* Size of the whole header, computed from its first NPY_FIXED_BYTES
 * (fewer if the file is shorter). */
enum status npy_head_size(struct bytes start, const char *source, uint64_t *size, struct error *);

/* Parse a whole header. ERR_CORRUPT for one that NumPy would refuse (and for duplicate
 * keys); ERR_UNSUPPORTED, with the codes "object-dtype", "structured-dtype" and
 * "unknown-dtype", for arrays that are not plain tensors. All memory is the arena's. */
enum status npy_head_parse(struct bytes head, const char *source, struct arena *,
                           struct npy_head *out, struct error *);

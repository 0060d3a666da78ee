/*
 * dtype.h - what an element is.
 *
 * A dtype is a row of a table, counted in blocks: float32 is 1 element in 4 bytes, q4_0 is 32
 * elements in 18. The spelling is NumPy's and ml_dtypes' (lower case); a format's own spelling is
 * translated in that format's file. Three families have a parameter in their name: void<bits>,
 * datetime64[unit], timedelta64[unit]. Everything else that a file may say is kept by name as
 * "unknown(NAME)": it has no size, and is catalogued but not materialised.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum dtype_kind {
    DTYPE_BOOL,
    DTYPE_INT, /* two's complement, `bits` wide */
    DTYPE_UINT,
    DTYPE_FLOAT,   /* any binary float, from float4 to float64 */
    DTYPE_COMPLEX, /* two floats of bits / 2 */
    DTYPE_TIME,    /* datetime64, timedelta64: an int64 */
    DTYPE_VOID,    /* raw bytes */
    DTYPE_BLOCK,   /* GGML blocks */
    DTYPE_STRING,  /* byte strings of varying length; no size */
    DTYPE_OPAQUE,  /* variant, resource: present, never read */
    DTYPE_UNKNOWN,
};

struct dtype {
    const char *name;
    enum dtype_kind kind;
    uint16_t bits;        /* logical width of an element; 0 for blocks and unsized */
    uint16_t block_elems; /* elements of a block: 1, or 8 / bits for packed types */
    uint16_t block_bytes; /* bytes of a block; 0: no size */
};

/* Look a canonical name up: fills *out, whose name is `name` itself for the
 * families with a parameter and for unknown ones (so `name` must outlive it),
 * else a constant. Never fails: kind DTYPE_UNKNOWN is the answer for the rest. */
void dtype_find(const char *name, struct dtype *out);

/* The canonical name of what other programs call `name`: bf16, F32, torch.half, np.float32, <f4.
 * NULL: it is no such name, or a canonical one. */
const char *dtype_alias(const char *name);

/* dtype_find() for a name that a person gave, who may use an alias. */
void dtype_called(const char *name, struct dtype *out);

/* A suggestion for a name that is no dtype: the dtype that other programs call by it, else
 * the one with the nearest spelling. NULL: none is near. */
const char *dtype_nearest(const char *name);

static inline bool dtype_is_integer(const struct dtype *d)
{
    return d->kind == DTYPE_INT || d->kind == DTYPE_UINT;
}

/* The dtypes whose names have no parameter, in the order of the table; NULL past the end. */
const struct dtype *dtype_at(size_t index);

static inline bool dtype_sized(const struct dtype *d)
{
    return d->block_bytes != 0;
}

/* Bytes of `count` elements, packed: ceil(count * bits / 8), or whole blocks.
 * False when it overflows, is not whole blocks, or the dtype has no size. */
bool dtype_nbytes(const struct dtype *d, uint64_t count, uint64_t *nbytes);

/* Width in bytes of the unit that byte order applies to: 4 for float32 and
 * complex64; 1 where order means nothing. */
unsigned dtype_swap_width(const struct dtype *d);

/* Whether `parameters` counts this dtype's elements: all but string, variant, resource. */
bool dtype_counts(const struct dtype *d);

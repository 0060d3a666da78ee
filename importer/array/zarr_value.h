/*
 * zarr_value.h - values in the metadata of a zarr node, and what its parts are parsed into by
 * zarr_type.c (dtypes and fill values) and zarr_shard.c (lists of codecs), for zarr_metadata.c.
 *
 * Functions that return bool are false after an error in z->err, or without memory, which only the
 * arena says.
 */
#pragma once

#include "catalog/base/json.h"
#include "catalog/data/model/dtype.h"
#include "importer/array/zarr_metadata.h"
#include "importer/container/numpytype.h"

/* The elements as stored. */
struct zarr_type {
    struct dtype dtype;
    unsigned item; /* bytes per element; 0: they vary */
    unsigned swap; /* width in bytes of the units that byte order applies to; 1: none */
    bool big;      /* version 2: big-endian */
    char strings[NUMPY_TYPE_BYTES]; /* argument of the step strings:X; "" for all else */
};

struct zarr_parsing {
    struct arena *arena;
    const char *source;
    struct error *err;
    struct zarr_array *array; /* the result */
    struct zarr_type type;
    bool fill_is_bytes; /* fill values of strings are base64 */
    bool fill_by_str;   /* Python's str() is applied to a fill value that is not text */
};

/* A value inside the text. */
struct zarr_value {
    enum json_type type; /* JSON_FAIL: no value */
    struct bytes text;   /* with its quotes and brackets */
    uint64_t at;         /* where it begins */
};

/* Start reading a value again; its first token has been read. */
void zarr_enter(struct zarr_parsing *, const struct zarr_value *, struct json *);

/* Find members of an object: values[i] is the value of the i-th of `names`, which are separated by
 * spaces. No value has no members. A named member that occurs twice is ERR_CORRUPT. `other` (may be
 * NULL) gets all others. */
bool zarr_members(struct zarr_parsing *, const struct zarr_value *object, const char *names,
                  struct zarr_value *values,
                  bool (*other)(struct zarr_parsing *, struct bytes name,
                                const struct zarr_value *));

/* The next value of a list, or the value after a key; `j` is moved past it. False at the
 * end of the list and after an error. */
bool zarr_next(struct json *, struct zarr_value *);

/* An extension point of version 3: {"name": …, "configuration": {…}}, or the name alone.
 * `name` has room for NUMPY_TYPE_BYTES. */
bool zarr_extension(struct zarr_parsing *, const struct zarr_value *, char *name,
                    struct zarr_value *configuration);

/* A string without NUL that fits into `out`; false (no error) for anything else. */
bool zarr_word(struct zarr_parsing *, const struct zarr_value *, char *out, size_t size);

/* Whether a value is this whole number. */
bool zarr_is(struct zarr_parsing *, const struct zarr_value *, uint64_t number);

/* ERR_CORRUPT at a value; false. */
bool zarr_bad(struct zarr_parsing *, const struct zarr_value *, const char *fmt, ...)
    PRINTF_LIKE(3, 4);

/* Why the elements cannot be read; the first reason stays. Returns true: parsing goes on. */
bool zarr_unreadable(struct zarr_parsing *, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* At most TENSOR_RANK_MAX whole numbers. */
bool zarr_numbers(struct zarr_parsing *, const struct zarr_value *, const char *what,
                  uint64_t **numbers, unsigned *count);

/* zarr_type.c */
bool zarr_type_v2(struct zarr_parsing *, const struct zarr_value *);
bool zarr_type_v3(struct zarr_parsing *, const struct zarr_value *);
bool zarr_fill(struct zarr_parsing *, const struct zarr_value *);

/* zarr_shard.c: need the type and the level 0 shape. */
bool zarr_chain_v2(struct zarr_parsing *, const struct zarr_value *filters,
                   const struct zarr_value *compressor);
bool zarr_chain_v3(struct zarr_parsing *, const struct zarr_value *codecs);

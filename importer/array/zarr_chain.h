/*
 * zarr_chain.h - building a chain of steps: zarr_chain.c (steps), zarr_codec.c (codecs as steps).
 *
 *   struct zarr_chain c;
 *   zarr_chain_begin(&c, z, shape_of_chunk, ZARR_STAGE_BYTES) &&
 *       zarr_add_codec(&c, "delta", &settings, true) && ... && zarr_chain_finish(&c, &codec);
 *
 * False: an error is in z->err. An unknown codec is not an error: z->array->unreadable then says
 * why nothing is read, and parsing continues.
 */
#pragma once

#include "catalog/data/codec/codec.h"
#include "importer/array/zarr_value.h"

#define ZARR_STEPS_MAX 16 /* of one chain */

enum zarr_stage {
    ZARR_STAGE_ARRAY, /* version 3, before the codec that makes bytes */
    ZARR_STAGE_BYTES
};

struct zarr_chain {
    struct zarr_parsing *z;
    char steps[ZARR_STEPS_MAX][CODEC_STEP_BYTES]; /* in the order of encoding */
    unsigned count, first;                        /* steps; those not from a codec */
    uint64_t size;                                /* bytes of a chunk after the codecs so far */
    bool exact;                                   /* `size` is exact, not only a bound */
    enum zarr_stage stage;
    unsigned item, swap;               /* of the elements so far, as in struct zarr_type */
    char dtype[NUMPY_TYPE_BYTES + 16]; /* and their dtype */
    bool ordered;                      /* a step depends on the order of the elements */
    bool shuffled;    /* transposed after that: numcodecs then follows the strides */
    const char *word; /* name of the codec being added, for messages */
};

/* Start with the steps that turn decoded bytes into logical elements. `chunk`: the
 * shape of what the chain decodes. */
bool zarr_chain_begin(struct zarr_chain *, struct zarr_parsing *, const uint64_t *chunk,
                      enum zarr_stage);
/* Add a step; two swaps of the same width cancel out. */
bool zarr_step(struct zarr_chain *, const char *fmt, ...) PRINTF_LIKE(2, 3);
bool zarr_step_swap(struct zarr_chain *, unsigned width);
/* The steps in the order of decoding; NULL: none. */
bool zarr_chain_finish(struct zarr_chain *, const char **codec);

/* The most bytes that a compressor can make of `size` bytes. */
uint64_t zarr_compressed_bound(uint64_t size);

/* zarr_codec.c: add a codec by its name; `settings` is the object that holds them. */
bool zarr_add_codec(struct zarr_chain *, const char *name, const struct zarr_value *settings,
                    bool v2);
/* Its settings are unknown: like zarr_unreadable(). */
bool zarr_bad_setting(struct zarr_chain *);

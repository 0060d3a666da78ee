/*
 * flax_array.h - one array in a tree serialised by Flax: an extension, or a map of chunks.
 * flax_array.c describes the layout.
 */
#pragma once

#include "importer/container/msgpack.h"

#define FLAX_RANK_MAX  64 /* NumPy's, since its version 2 */
#define FLAX_DTYPE_MAX 64 /* bytes of a dtype's name */

/* Types of extensions. */
#define FLAX_EXTENSION_ARRAY   1
#define FLAX_EXTENSION_COMPLEX 2
#define FLAX_EXTENSION_SCALAR  3

/* The first key of a map of chunks. */
#define FLAX_CHUNKED_MARKER "__msgpack_chunked_array__"

/* A run of an array's elements in the file. The runs of an array together are its elements,
 * row-major. */
struct flax_run {
    uint64_t offset, len; /* in bytes of the file */
    uint64_t elements;    /* as the file states */
    uint64_t position;    /* among the runs of its array */
};

struct flax_array {
    char dtype[FLAX_DTYPE_MAX + 1]; /* as the file spells it */
    uint64_t shape[FLAX_RANK_MAX];
    unsigned rank;
    struct flax_run *runs; /* of a chunked array in the arena, else &run */
    uint64_t run_count;
    struct flax_run run;
};

static inline bool flax_is_array(const struct msgpack_item *item)
{
    return item->type == MSGPACK_EXTENSION &&
           (item->kind == FLAX_EXTENSION_ARRAY || item->kind == FLAX_EXTENSION_SCALAR);
}

/* Read the payload of an extension that is an array; the reader is then after it, even after an
 * error. False with the reader's error, or if only the head of a file was given and the payload
 * goes past it. */
bool flax_array_read(struct msgpack *, const struct msgpack_item *, struct flax_array *);

/* Read what follows the marker in a map of three entries. */
bool flax_chunks_read(struct msgpack *, struct arena *, struct flax_array *);

/*
 * tf_slices.h - keys of slices, and the pieces of partitioned variables in a tensor bundle.
 *
 * Their keys begin with a zero byte, so they come before all names. They are collected in the
 * order of the table, which is sorted, and searched when their variable comes.
 */
#pragma once

#include "catalog/base/arena.h"
#include "catalog/base/bits.h"
#include "catalog/base/text.h"
#include "tf_bundle.pb-c.h"

/* One run of bytes, from a checked entry of the index. */
struct tf_run {
    int32_t dtype;
    unsigned rank;
    uint64_t *shape;
    uint64_t elements;
    uint32_t shard;
    uint64_t offset, size; /* in its data file, in bytes */
    uint32_t crc;          /* not masked */
};

/* The part of one dimension that a slice covers, as keys and lists spell it. */
struct tf_extent {
    int64_t start, length; /* the whole dimension: 0 and -1 */
};

struct tf_slice {
    const char *name; /* of the variable */
    size_t name_len;
    struct tf_extent *extents; /* run.rank */
    struct tf_run run;
    bool used;
};

/* Parse the key of a slice: the variable's name is put into `name`, the *rank extents
 * into the arena, which keeps lack of memory. False: it is not such a key, or no memory. */
bool tf_slice_key(struct bytes key, struct text *name, struct arena *arena,
                  struct tf_extent **extents, unsigned *rank);

/* All slices of a bundle, ordered as their keys are. */
struct tf_slices {
    struct tf_slice *list;
    uint64_t count;
    size_t space;
    struct text name; /* scratch, to be released */
};

/* Add the slice under `key`; `run` lives in the arena. False: it is not the key of a slice of
 * run->rank dimensions, or no memory. */
bool tf_slices_add(struct tf_slices *, struct bytes key, const struct tf_run *run,
                   struct arena *arena);

/* The slice of variable `name` with exactly these extents, or NULL. */
struct tf_slice *tf_slices_find(struct tf_slices *, struct bytes name,
                                const struct tf_extent *extents, unsigned rank);

/*
 * zarr_metadata.h - the metadata of one zarr node: `.zarray` and `.zgroup` (version 2), `zarr.json`
 * (version 3).
 *
 * It says what the array is, how it is cut into chunks and how these are encoded; not which
 * chunks there are. Sources: zarr version 2 and 3 specifications, numcodecs, TensorStore's
 * zarr and zarr3 drivers.
 */
#pragma once

#include "catalog/base/arena.h"
#include "catalog/base/bits.h"
#include "catalog/base/error.h"
#include "catalog/data/model/grid.h"

enum zarr_kind { ZARR_ARRAY, ZARR_GROUP };

/* Everything lives in the arena it was parsed into. */
struct zarr_array {
    enum zarr_kind kind; /* nothing else is set for groups */
    unsigned version;    /* 2 or 3 */
    unsigned rank;
    uint64_t *shape;
    const char *dtype; /* canonical, or "unknown(X)" */
    const char *codec; /* of one chunk (catalog/data/codec/codec.h); NULL: none */
    struct grid grid;  /* levels, key rule, fill; no directory, runs or values yet. No
                          levels: they are not known, and `unreadable` says why */
    /* Version 2 does not say which separator its keys have: it is '.', or '/' of writers
     * that did not state it. */
    bool separator_guessed;
    /* The writer stores every chunk (version 2 with a null fill value): absent ones are lost. */
    bool absent_is_lost;
    /* Why the elements cannot be read although the array is described (an unknown codec, an
     * extension that must be understood); NULL: they can. */
    const char *unreadable;
};

/* `source` is for messages. ERR_CORRUPT if this is not zarr metadata or contradicts itself;
 * ERR_UNSUPPORTED for structured dtypes. The arena reports lack of memory to an `err`. */
enum status zarr_parse(struct bytes metadata, unsigned version, const char *source, struct arena *,
                       struct zarr_array *out, struct error *err);

/* Other parts of a zarr.json (and the `metadata` of a .zmetadata), as
 * parts of its text; empty: none. */
struct zarr_parts {
    struct bytes attributes;   /* an object */
    struct bytes consolidated; /* an object: metadata of nodes below, by path */
};
enum status zarr_parts(struct bytes metadata, const char *source, struct arena *,
                       struct zarr_parts *out, struct error *err);

/* Read the next node of `consolidated`: its path and its metadata; in version 2 only arrays.
 * The object's first token must have been read. False at the end and after an error. */
struct json;
bool zarr_next_node(struct json *, unsigned version, struct bytes *path, struct bytes *metadata);

/* The index in the level 0 grid of the value with this key ("0.1", "c/0/1"). False: not a
 * key of this array (signs, leading zeros, outside the grid, another separator). */
bool zarr_key_index(const struct zarr_array *, const char *key, size_t len, uint64_t *index);

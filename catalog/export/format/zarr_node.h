/*
 * zarr_node.h - a node of a zarr hierarchy, as versions 2 and 3 describe it in JSON.
 */
#pragma once

#include "catalog/export/export.h"

#define ZARR_CHUNK_BYTES ((uint64_t)8 << 20) /* of a chunk, by default */
#define ZARR_CHUNK_MOST  ((uint64_t)1 << 30)

enum zarr_codec { ZARR_NONE, ZARR_GZIP, ZARR_ZSTD, ZARR_BLOSC };

/* How arrays are stored. */
struct zarr_how {
    unsigned version;
    uint64_t chunk_bytes; /* at most, not encoded */
    enum zarr_codec codec;
    int level;
};

/* From --option codec, level and chunk. ERR_ARGUMENT. */
enum status zarr_settings(const struct export_options *, unsigned version, struct zarr_how *out,
                          struct error *err);

/* Whether arrays can have such elements. */
bool zarr_has_dtype(const struct dtype *);
/* Whether zarr-python knows it, too: it cannot use consolidated metadata with dtypes that it does
 * not know. */
bool zarr_is_common(const struct dtype *);

/* Chunks are runs of elements in C order: as many of the last dimensions as fit are whole, the
 * one before is cut, and those before that have size 1. Sets t->piece and t->run. */
void zarr_cut(const struct zarr_how *, struct export_tensor *t, uint64_t *chunk);

/* The codec as a chain of catalog/data/codec/encode.h. */
void zarr_chain(const struct zarr_how *, const struct dtype *, struct text *out);

/* The metadata of an array (version 3: with `attributes`, which may be NULL) and of a group. */
void zarr_array(const struct zarr_how *, struct export_tensor *, const char *const *attributes,
                struct text *out);
void zarr_attributes(const char *const *attributes, struct text *out);

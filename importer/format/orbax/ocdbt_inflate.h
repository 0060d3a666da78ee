/*
 * ocdbt_inflate.h - decode the body of an OCDBT frame, whose decoded length is not stored.
 */
#pragma once

#include "catalog/base/bits.h"
#include "catalog/base/error.h"
#include "importer/format/orbax/ocdbt_node.h"

/* A buffer that only grows. */
struct buffer {
    uint8_t *at;
    size_t space;
    size_t len; /* bytes in use */
};
bool buffer_reserve(struct buffer *, size_t len);

/* State kept from one body to the next; initialise with zeros. */
struct inflater {
    void *context;
};

/* Decode one zstd stream, which must take up all of `packed`, into `out`, which grows as
 * needed. ERR_LIMIT past `most` bytes; ERR_UNSUPPORTED if the library is not installed. */
enum status ocdbt_inflate(struct inflater *, struct bytes packed, uint64_t most,
                          struct ocdbt_place at, struct buffer *out, struct error *err);
void inflater_release(struct inflater *);

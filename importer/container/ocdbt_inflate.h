/*
 * ocdbt_inflate.h - decode the body of an OCDBT frame, which does not say how long it becomes.
 */
#ifndef CKPTDB_CONTAINER_OCDBT_INFLATE_H
#define CKPTDB_CONTAINER_OCDBT_INFLATE_H

#include "catalog/base/bits.h"
#include "catalog/base/error.h"
#include "importer/container/ocdbt_node.h"

/* Memory that only grows. */
struct buffer {
    uint8_t *at;
    size_t space;
    size_t len; /* bytes in use */
};
bool buffer_reserve(struct buffer *, size_t len);

/* What decoding keeps from one body to the next; zeroed before the first. */
struct inflater {
    void *context;
};

/* Decode one zstd stream, which must take up all of `packed`, into `out`, whose memory grows
 * with what comes out. ERR_LIMIT past `most` bytes; ERR_UNSUPPORTED where the library is not
 * installed. */
enum status ocdbt_inflate(struct inflater *, struct bytes packed, uint64_t most,
                          struct ocdbt_place at, struct buffer *out, struct error *err);
void inflater_release(struct inflater *);

#endif

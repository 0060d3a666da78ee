/*
 * ocdbt_inflate.h - decode the body of an OCDBT frame, which does not say how long it becomes.
 */
#ifndef CKPTDB_CONTAINER_OCDBT_INFLATE_H
#define CKPTDB_CONTAINER_OCDBT_INFLATE_H

#include "catalog/base/bits.h"
#include "catalog/base/error.h"

struct inflater;

/* ERR_UNSUPPORTED where the zstd library is not installed. */
enum status inflater_new(struct inflater **out, struct error *err);
void inflater_free(struct inflater *);

/* Memory that only grows. */
struct buffer {
    uint8_t *at;
    size_t space;
};
bool buffer_reserve(struct buffer *, size_t len);

/* Decode one zstd stream, which must take up all of `packed`, into `out`, *len bytes. The
 * memory grows with what comes out. ERR_LIMIT past `most` bytes. `name` and `offset` are for
 * messages. */
enum status inflate_zstd(struct inflater *, struct bytes packed, uint64_t most,
                         struct buffer *out, size_t *len, const char *name,
                         uint64_t offset, struct error *err);

#endif

/*
 * stream.h - a tensor or a slice of one from front to back, in blocks, of the dtype wanted.
 *
 *   struct stream *s;
 *   stream_open(&tensor, slices, &dtype, &s, err)
 *   while ((status = stream_next(s, &block, err)) == OK && block.len)
 *       use(block);
 *   stream_close(s);
 *
 * Memory does not grow with the tensor. The last stream_next() has verified the checksums
 * that the file states of the extents, unless a slice was asked for.
 */
#ifndef CKPTDB_STREAM_H
#define CKPTDB_STREAM_H

#include "catalog/convert.h"
#include "catalog/read.h"

struct stream;

/* `slices` NULL: all of it; `to` NULL: the tensor's own dtype. The tensor must outlive the
 * stream, `slices` need not. Statuses are those of reader_open() and converter_find(). */
enum status stream_open(const struct stored_tensor *, const struct slice *slices,
                        const struct dtype *to, struct stream **out, struct error *err);
void stream_close(struct stream *);

const struct dtype *stream_dtype(const struct stream *);
uint64_t stream_elements(const struct stream *);
uint64_t stream_nbytes(const struct stream *); /* of all blocks together */

/* The next block, valid until the next call; whole elements (and whole bytes of packed
 * ones); empty at the end. */
enum status stream_next(struct stream *, struct bytes *block, struct error *err);

#endif

/*
 * tensor_stream.h - a tensor or a slice from front to back, in blocks, as any dtype.
 *
 *   struct tensor_stream *s;
 *   tensor_stream_open(&tensor, NULL, slices, &dtype, &s, err)
 *   while ((status = tensor_stream_next(s, &block, err)) == OK && block.len)
 *       use(block);
 *   tensor_stream_close(s);
 *
 * Memory does not grow with the tensor. The last tensor_stream_next() has verified the checksums
 * that the file states of the extents, unless a slice was asked for.
 */
#pragma once

#include "catalog/data/convert/convert.h"
#include "catalog/data/read/read.h"

struct tensor_stream;

/* `slices` NULL: the whole tensor; `to` NULL: the tensor's own dtype. The tensor and `files` (as
 * for reader_open()) must outlive the stream, `slices` need not. Statuses come from reader_open()
 * and converter_find(). */
enum status tensor_stream_open(const struct stored_tensor *, struct file_cache *files,
                               const struct ckptdb_slice *slices, const struct dtype *to,
                               struct tensor_stream **out, struct error *err);
void tensor_stream_close(struct tensor_stream *);

uint64_t tensor_stream_nbytes(const struct tensor_stream *); /* of all blocks together */

/* The next block, valid until the next call; whole elements (and whole bytes of packed
 * ones); empty at the end. */
enum status tensor_stream_next(struct tensor_stream *, struct bytes *block, struct error *err);

/* All blocks of a stream that was just opened, into tensor_stream_nbytes() bytes: without a copy on the way
 * where nothing is converted. */
void tensor_stream_all(struct tensor_stream *, void *to, struct error *err);

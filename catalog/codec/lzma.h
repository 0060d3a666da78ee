/*
 * lzma.h - what the two codecs of liblzma share: lzma.c (with a header), rawlzma.c (without).
 */
#ifndef CKPTDB_CODEC_LZMA_H
#define CKPTDB_CODEC_LZMA_H

#include "catalog/codec/library.h"

/* All of `in` through a decoder that has begun, into `room` bytes: liblzma's last word. The counts
 * are in *z, which the caller ends. `to_end`: of a stream whose data fills the room its end is
 * looked for, too; a byte more of data makes total_out `room` + 1. */
lzma_ret codec_lzma_run(const struct liblzma *, lzma_stream *z, struct bytes in,
                        uint8_t *out, size_t room, bool to_end);

#endif

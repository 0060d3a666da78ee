/*
 * lzma.h - what the two codecs of liblzma share: lzma.c (with a header), rawlzma.c (without).
 */
#pragma once

#include "catalog/data/codec/shared_library.h"

/* Decode all of `in` into `room` bytes with a decoder that was initialised; returns liblzma's last
 * result. The counts are in *z, which the caller ends. `to_end`: when the output is full, also look
 * for the end of the stream; if there is another byte of data instead, total_out is `room` + 1. */
lzma_ret codec_lzma_run(const struct liblzma *, lzma_stream *z, struct bytes in, uint8_t *out,
                        size_t room, bool to_end);

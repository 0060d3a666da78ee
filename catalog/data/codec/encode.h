/*
 * encode.h - chains of codecs in the other direction: from elements to the bytes of a file.
 *
 * A chain is text as in codec.h, applied left to right, and the arguments are settings:
 *
 *   gzip:L, zlib:L     level 0 to 9
 *   shuffle:W          bytes of an element
 *   zstd:L             level -7 to 22
 *   blosc:C,L,S,W      inner codec (zstd, lz4, ...), level 0 to 9, shuffle 0 to 2, bytes of an
 *                      element
 *
 *   encoder_open("zstd:3", &e, err);
 *   encoder_run(e, chunk, &stored, err);      `stored` is valid until the next run
 *   encoder_close(e);
 *
 * One thread at a time. Needs the memory of what comes out of each of two steps.
 */
#pragma once

#include "catalog/data/codec/codec.h"

struct encoder;

/* ERR_ARGUMENT if a step cannot encode or has bad settings. ERR_UNSUPPORTED or ERR_IO if a library
 * cannot do it or is missing. Chain NULL or "": the bytes stay as they are. */
enum status encoder_open(const char *chain, struct encoder **out, struct error *err);
enum status encoder_run(struct encoder *, struct bytes in, struct bytes *out, struct error *err);
void encoder_close(struct encoder *);

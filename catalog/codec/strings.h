/*
 * strings.h - the encodings of string tensors: the last step of their codec chain.
 *
 *   strings:tf    TensorFlow: all lengths, a checksum of them, all bytes
 *   strings:F<f>  the fields of number f of a protobuf message (TensorFlow's first version)
 *   strings:vlen  zarr: how many, and each with its length in front
 *   strings:S<n>  NumPy bytes: n bytes each, NULs at the end left out
 *   strings:Z<n>  HDF5: n bytes each, up to the first NUL
 *   strings:P<n>  HDF5: n bytes each, spaces at the end left out
 *   strings:U<n>  NumPy text: n UCS-4 units each, little-endian; given as UTF-8
 */
#ifndef CKPTDB_CODEC_STRINGS_H
#define CKPTDB_CODEC_STRINGS_H

#include "catalog/store/source.h"

struct strings;

/* Whether the strings of a chain (may be NULL) differ in length: all but S and U. */
bool strings_vary(const char *chain);

/* Bytes of an element of a chain's encoding; 0 where they differ, false where the chain
 * has no encoding that is known. */
bool strings_width(const char *chain, uint64_t *width);

/* A text (UTF-8) as an element of a fixed width, which `out` has room for. False where it does
 * not fit, or has no such form. */
bool strings_put(const char *chain, struct bytes text, uint8_t *out);

/* `count` strings over their stored bytes, in order. Owns `bytes`. Reads the lengths and
 * verifies their checksum; memory is in proportion to count / 256. One thread at a time. */
enum status strings_open(struct source *bytes, const char *chain, uint64_t count,
                         struct strings **out, struct error *err);
void strings_close(struct strings *);
/* Valid until the next call. */
enum status strings_at(struct strings *, uint64_t index, struct bytes *out,
                       struct error *err);

/* The checksum that a TensorFlow entry states of its strings (not masked): of the lengths as
 * numbers of 4 bytes (8 where they need it), of the checksum of these, of all bytes. */
enum status strings_tf_sum(const struct source *bytes, uint64_t count, uint32_t *sum,
                           struct error *err);

#endif

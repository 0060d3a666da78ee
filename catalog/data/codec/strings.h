/*
 * strings.h - the encodings of string tensors: the last step of their codec chain.
 *
 *   strings:tf    TensorFlow: all lengths, their checksum, all bytes
 *   strings:F<f>  the fields with number f of a protobuf message (TensorFlow's first version)
 *   strings:vlen  zarr: their number, then each with its length in front
 *   strings:S<n>  NumPy bytes: n bytes each, without trailing NULs
 *   strings:Z<n>  HDF5: n bytes each, up to the first NUL
 *   strings:P<n>  HDF5: n bytes each, without trailing spaces
 *   strings:U<n>  NumPy text: n UCS-4 units each, little-endian; returned as UTF-8
 */
#pragma once

#include "catalog/data/store/source.h"

struct strings;

/* Whether the stored strings of a chain (may be NULL) differ in length: tf, F and vlen. */
bool strings_vary(const char *chain);

/* Bytes per element in a chain's encoding; 0 if they differ. False if the chain has no known
 * encoding of strings. */
bool strings_width(const char *chain, uint64_t *width);

/* Write a text (UTF-8) as an element of fixed width; `out` has room for one. False if it does not
 * fit or cannot be encoded. */
bool strings_put(const char *chain, struct bytes text, uint8_t *out);

/* `count` strings over their stored bytes, in order. Owns `bytes`. Reads the lengths and
 * verifies their checksum; memory is in proportion to count / 256. One thread at a time. */
enum status strings_open(struct source *bytes, const char *chain, uint64_t count,
                         struct strings **out, struct error *err);
void strings_close(struct strings *);
/* Valid until the next call. */
enum status strings_at(struct strings *, uint64_t index, struct bytes *out, struct error *err);

/* The checksum of its strings that a TensorFlow entry states (not masked): the CRC-32C of the
 * lengths, each as 4 bytes (8 if it does not fit), then the stored checksum of these, then all
 * bytes of the strings. */
enum status strings_tf_sum(const struct source *bytes, uint64_t count, uint32_t *sum,
                           struct error *err);

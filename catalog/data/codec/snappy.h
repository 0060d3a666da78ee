/*
 * snappy.h - decode a raw Snappy block (not the framing format of .sz files).
 *
 *   uint64_t len;
 *   if (snappy_length(block, &len) && len <= LIMIT && (out = malloc(len)))
 *       ok = snappy_decode(block, out, len);
 */
#pragma once

#include "catalog/base/bits.h"

/* The decoded size that the block states. False if it is not a Snappy block, or if a block of this
 * size cannot decode to that many bytes: the number is safe to allocate. */
bool snappy_length(struct bytes block, uint64_t *len);

/* Decode into exactly `len` bytes, snappy_length()'s. False when the block is damaged; `out` is
 * then unspecified. */
bool snappy_decode(struct bytes block, uint8_t *out, size_t len);

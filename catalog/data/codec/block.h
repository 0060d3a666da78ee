/*
 * block.h - chains of codecs on bytes in memory: decodes a chunk of an array, whose stored bytes
 * are all there, into a buffer of known size. The fast way: each step decodes all bytes at
 * once, the last one straight into the caller's buffer.
 *
 * No number in the file alone decides an allocation: buffers begin in proportion to the stored
 * bytes, and grow as decoding needs it, up to the size that the chain states.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "catalog/base/bits.h"
#include "catalog/base/error.h"

struct block {
    const char *chain;   /* codec.h; NULL: none. A "strings:" step at its end is ignored */
    struct bytes stored; /* all stored bytes */
    const char *name;    /* for messages: their file, and their offset in it */
    uint64_t offset;
};

/* Scratch memory and contexts of libraries, reused from block to block by one thread. NULL: no
 * memory. */
struct block_decoder *block_decoder_new(void);
void block_decoder_free(struct block_decoder *decoder);

/* Decode to exactly `out_len` bytes. After an error `out` may hold anything. */
enum status block_decode(struct block_decoder *decoder, const struct block *block, uint8_t *out,
                         uint64_t out_len, struct error *err);

/* The same if the size is not known (strings of varying length): at most `cap` bytes, into
 * a malloc'ed buffer, the caller's to free. */
enum status block_decode_all(struct block_decoder *decoder, const struct block *block, uint64_t cap,
                             uint8_t **out, uint64_t *out_len, struct error *err);

/* Whether every step has a decoder, and a valid argument (its library may still be missing). */
bool block_decodable(const char *chain);

/* The most memory that a decoder holds, beside the stored bytes and the `out_len` decoded
 * ones, after decoding `stored` bytes. UINT64_MAX: the chain makes no sense. */
uint64_t block_memory(const char *chain, uint64_t stored, uint64_t out_len);

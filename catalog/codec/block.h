/*
 * block.h - chains of codecs on bytes in memory: a chunk of an array, all of whose stored
 * bytes are there, into a buffer of known size. The fast way: each step decodes all bytes at
 * once, the last one straight into the caller's buffer.
 *
 * Nothing is allocated from a number in the file alone: buffers begin in proportion to the
 * bytes that are there, and grow, up to what the chain says, where these need it.
 */
#ifndef CKPTDB_CODEC_BLOCK_H
#define CKPTDB_CODEC_BLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "catalog/base/bits.h"
#include "catalog/base/error.h"

struct block {
    const char
        *chain; /* codec.h; NULL: none. A "strings:" step at its end is left alone */
    struct bytes stored; /* all of them */
    const char *name; /* for messages: the file they are of, and where they begin in it */
    uint64_t offset;
};

/* Scratch memory and contexts of libraries, used again and again by one thread. NULL where
 * there is no memory. */
struct block_decoder *block_decoder_new(void);
void block_decoder_free(struct block_decoder *decoder);

/* Exactly `out_len` bytes come out, or it fails; `out` may then hold anything. */
enum status block_decode(struct block_decoder *decoder, const struct block *block,
                         uint8_t *out, uint64_t out_len, struct error *err);

/* The same if the size is not known (strings of varying length): at most `cap` bytes, into
 * a buffer of malloc. */
enum status block_decode_all(struct block_decoder *decoder, const struct block *block,
                             uint64_t cap, uint8_t **out, uint64_t *out_len,
                             struct error *err);

/* Whether there is a decoder for every step (its library may be absent still). */
bool block_decodable(const char *chain);

/* The most memory that a decoder holds, beside the stored bytes and the `out_len` decoded
 * ones, after decoding `stored` bytes. UINT64_MAX: the chain makes no sense. */
uint64_t block_memory(const char *chain, uint64_t stored, uint64_t out_len);

#endif

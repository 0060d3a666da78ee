/*
 * digest.h - the content hash of a tensor's logical bytes: equal for the same values in any
 * container, sharding, chunking, compression, byte and memory order.
 *
 * The bytes (C order, little-endian, as tensor_bytes() gives them) are cut into blocks of
 * DIGEST_BLOCK; each block's digest is XXH3-128 with seed 0, as its canonical (big-endian) 16
 * bytes. The hash is the digest of the only block, or, where there are more or none, XXH3-128
 * of the digests in a row. So the blocks of one tensor can be made on all cores.
 *
 * It finds copies. It is no protection against somebody who forges two tensors with one hash.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define DIGEST_BLOCK UINT64_C(1048576) /* bytes */
#define DIGEST_BYTES 16

struct digest_block {
    uint8_t at[DIGEST_BYTES];
};

/* The digests of whole blocks, folded in their order. */
struct digest_fold;
struct digest_fold *digest_fold_new(void); /* NULL without memory */
void digest_fold_add(struct digest_fold *, const struct digest_block *blocks, uint64_t count);
/* The hash of all blocks so far. Resets the fold. */
void digest_fold_end(struct digest_fold *, struct digest_block *hash);
void digest_fold_free(struct digest_fold *);

/* XXH3-128 of bytes that come in pieces of any size: of a block, or of a list of lines. */
struct digest;
struct digest *digest_new(void); /* NULL without memory */
void digest_update(struct digest *, const void *bytes, size_t len);
/* The digest of the bytes since digest_new() or the last digest_end(). */
void digest_end(struct digest *, struct digest_block *out);
void digest_free(struct digest *);

/* The digests of the blocks of bytes that come in pieces of any size; `out` has room for all. */
struct digest_blocks {
    struct digest *digest;
    struct digest_block *out; /* the next one */
    uint64_t in_block;        /* bytes so far */
};
void digest_blocks_add(struct digest_blocks *, const void *bytes, size_t len);
/* End the last block, unless it is whole. */
void digest_blocks_end(struct digest_blocks *);
/* The number of blocks in `len` bytes. */
uint64_t digest_block_count(uint64_t len);

/* 32 lower-case hex digits and a NUL. */
#define DIGEST_TEXT 33
void digest_print(const struct digest_block *, char out[DIGEST_TEXT]);

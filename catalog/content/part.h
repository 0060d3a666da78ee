/*
 * part.h - the bytes of a tensor, or of a part of one (sweep.h), read from end to end: checksums
 * and codecs are verified on the way, digests computed on request.
 */
#ifndef CKPTDB_CONTENT_PART_H
#define CKPTDB_CONTENT_PART_H

#include "catalog/content/digest.h"
#include "catalog/content/sweep.h"

enum part_reading {
    PART_CHECKED, /* nothing is made of the bytes */
    PART_HASHED,  /* one digest a block */
    PART_SHA256,  /* the 32 bytes of it in blocks[0] and [1]; of whole tensors */
};

struct part_outcome {
    struct error err;
    bool absent; /* it has no bytes to read, which import has reported */
    bool opened; /* what is wrong is in its data */
    struct digest_block blocks[];
};

/* Strings are read, and never hashed. To be freed; NULL without memory. *bytes: what it holds. */
struct part_outcome *part_read(const struct sweep_part *, enum part_reading,
                               uint64_t *bytes);

/* Bytes of a part (struct sweep) of which digests are made, or nothing. */
uint64_t part_bytes(const struct stored_tensor *);

/* How many DIGEST_BLOCKs this many bytes are. */
uint64_t part_blocks(uint64_t len);

#endif

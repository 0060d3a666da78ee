/*
 * part.h - reads a tensor, or a part of one (sweep.h), from end to end: checksums and codecs
 * verify the bytes on the way, and digests are computed on request.
 */
#pragma once

#include "catalog/content/sweep.h"
#include "catalog/data/kernel/digest.h"

enum part_reading {
    PART_CHECKED, /* only read */
    PART_HASHED,  /* a digest for each block */
    PART_SHA256,  /* 32 bytes, in blocks[0] and [1]; only for whole tensors */
};

struct part_outcome {
    struct error err;
    bool absent; /* it has no bytes to read, as the import has reported */
    bool opened; /* an error is in the data */
    struct digest_block blocks[];
};

/* Strings are read, but never hashed. free() it; NULL without memory. *bytes: its size. */
struct part_outcome *part_read(const struct sweep_part *, enum part_reading, uint64_t *bytes);

/* Bytes of a part (struct sweep), for hashing and checking. */
uint64_t part_bytes(const struct stored_tensor *);

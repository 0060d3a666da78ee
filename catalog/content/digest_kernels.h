/*
 * digest_kernels.h - XXH3-128 of bytes in pieces, for any machine and for x86-64 with AVX2 or AVX-512.
 *
 * All are compiled from one text, digest_loops.h, and give the same digests: xxhash's vectors differ
 * in width alone.
 */
#ifndef CKPTDB_CONTENT_DIGEST_KERNELS_H
#define CKPTDB_CONTENT_DIGEST_KERNELS_H

#include <stddef.h>
#include <stdint.h>

struct digest_kernels {
    void *(*create)(void); /* NULL without memory */
    void (*update)(void *state, const void *bytes, size_t len);
    /* The 16 bytes of the digest, the greater half first; the state starts over. */
    void (*end)(void *state, uint8_t *out);
    void (*free)(void *state);
};

extern const struct digest_kernels digest_plain;
/* x86-64 only, and only where the CPU has it. */
extern const struct digest_kernels digest_avx2, digest_avx512;

/* The quickest that this CPU has. */
const struct digest_kernels *digest_kernels(void);

#endif

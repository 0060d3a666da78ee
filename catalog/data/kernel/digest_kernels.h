/*
 * digest_kernels.h - XXH3-128 of bytes in pieces, for any machine and for x86-64 with AVX2 or
 * AVX-512.
 *
 * All variants are compiled from one text, digest_loops.h, and give the same digests: only the
 * width of xxhash's vectors differs.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct digest_kernels {
    void *(*create)(void); /* NULL without memory */
    void (*update)(void *state, const void *bytes, size_t len);
    /* The 16 bytes of the digest, the greater half first. Resets the state. */
    void (*end)(void *state, uint8_t *out);
    void (*free)(void *state);
};

extern const struct digest_kernels digest_plain;
/* x86-64 only; call them only if the CPU has these instructions. */
extern const struct digest_kernels digest_avx2, digest_avx512;

/* The fastest that this CPU can run. */
const struct digest_kernels *digest_kernels(void);

/*
 * crc32c.h - the CRC of Castagnoli, as used by TensorFlow, zarr and OCDBT.
 *
 *   crc32c_extend(0, "123456789", 9) == 0xE3069283
 *   crc32c_extend(crc32c_extend(0, a, n), b, m) is the CRC of a followed by b
 *
 * Reflected polynomial 0x82F63B78, initial and final XOR with all ones (RFC 3720, B.4).
 * Uses the processor's CRC instructions if it has them.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Extend `crc`, the CRC of earlier bytes (0: none), by `len` bytes. */
uint32_t crc32c_extend(uint32_t crc, const void *bytes, size_t len);

/* The CRC of a, then b, from each one's; b has `len` bytes. */
uint32_t crc32c_combine(uint32_t a, uint32_t b, uint64_t len);

/* For tests: the same with tables alone, as on any processor; and without carry-less products of
 * 512 bits, as on processors before AVX-512. */
uint32_t crc32c_extend_portable(uint32_t crc, const void *bytes, size_t len);
uint32_t crc32c_extend_runs(uint32_t crc, const void *bytes, size_t len);

/* LevelDB and TensorFlow store CRCs masked, since the CRC of data that contains its own CRCs is
 * weak. */
#define CRC32C_MASK_DELTA UINT32_C(0xA282EAD8)

static inline uint32_t crc32c_mask(uint32_t crc)
{
    return ((crc >> 15) | (crc << 17)) + CRC32C_MASK_DELTA;
}
static inline uint32_t crc32c_unmask(uint32_t masked)
{
    uint32_t turned = masked - CRC32C_MASK_DELTA;
    return (turned >> 17) | (turned << 15);
}

/*
 * crc32c.h - the CRC of Castagnoli, as used by TensorFlow, zarr and OCDBT.
 *
 *   crc32c_extend(0, "123456789", 9) == 0xE3069283
 *   crc32c_extend(crc32c_extend(0, a, n), b, m) is the CRC of a followed by b
 *
 * Reflected polynomial 0x82F63B78, all ones before and after (RFC 3720, B.4).
 * Uses the processor's own instructions where it has them.
 */
#ifndef CKPTDB_BASE_CRC32C_H
#define CKPTDB_BASE_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* The CRC of what `crc` is of (0: nothing) followed by `len` bytes. */
uint32_t crc32c_extend(uint32_t crc, const void *bytes, size_t len);

/* The same by tables alone: what any processor runs, and what tests compare with; and without
 * products of many bytes at once, as a processor has it that is not the newest. */
uint32_t crc32c_extend_portable(uint32_t crc, const void *bytes, size_t len);
uint32_t crc32c_extend_runs(uint32_t crc, const void *bytes, size_t len);

/* LevelDB and TensorFlow store a CRC disguised, so that the CRC of data that holds CRCs
 * keeps its strength. */
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

#endif

/*
 * bits.h - numbers in bytes: checked sums and products, little- and big-endian
 * loads and stores, LEB128 varints. Loads take any alignment.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* A read-only run of bytes; owns nothing. */
struct bytes {
    const uint8_t *at;
    size_t len;
};

/* False on overflow; *out is then unspecified. */
static inline bool add_u64(uint64_t a, uint64_t b, uint64_t *out)
{
    return !__builtin_add_overflow(a, b, out);
}
static inline bool mul_u64(uint64_t a, uint64_t b, uint64_t *out)
{
    return !__builtin_mul_overflow(a, b, out);
}

static inline uint16_t load_u16le(const void *at)
{
    const uint8_t *b = at;
    return (uint16_t)(b[0] | b[1] << 8);
}
static inline uint32_t load_u32le(const void *at)
{
    const uint8_t *b = at;
    return b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}
static inline uint64_t load_u64le(const void *at)
{
    const uint8_t *b = at;
    return load_u32le(b) | (uint64_t)load_u32le(b + 4) << 32;
}
static inline uint16_t load_u16be(const void *at)
{
    return __builtin_bswap16(load_u16le(at));
}
static inline uint32_t load_u32be(const void *at)
{
    return __builtin_bswap32(load_u32le(at));
}
static inline uint64_t load_u64be(const void *at)
{
    return __builtin_bswap64(load_u64le(at));
}
static inline void store_u16le(void *at, uint16_t v)
{
    uint8_t *b = at;
    b[0] = (uint8_t)v;
    b[1] = (uint8_t)(v >> 8);
}
static inline void store_u32le(void *at, uint32_t v)
{
    uint8_t *b = at;
    store_u16le(b, (uint16_t)v);
    store_u16le(b + 2, (uint16_t)(v >> 16));
}
static inline void store_u64le(void *at, uint64_t v)
{
    uint8_t *b = at;
    store_u32le(b, (uint32_t)v);
    store_u32le(b + 4, (uint32_t)(v >> 32));
}
static inline void store_u32be(void *at, uint32_t v)
{
    store_u32le(at, __builtin_bswap32(v));
}
static inline void store_u64be(void *at, uint64_t v)
{
    store_u64le(at, __builtin_bswap64(v));
}

/* Whether the eight bytes here are ASCII. */
static inline bool is_ascii8(const void *at)
{
    return !(load_u64le(at) & UINT64_C(0x8080808080808080));
}

/* How many leading bytes two texts of at least `n` have in common. */
static inline size_t bytes_in_common(const void *a, const void *b, size_t n)
{
    const uint8_t *x = a, *y = b;
    size_t i = 0;
    for (; n - i >= 8; i += 8) {
        const uint64_t other = load_u64le(x + i) ^ load_u64le(y + i);
        if (other)
            return i + (size_t)__builtin_ctzll(other) / 8;
    }
    while (i < n && x[i] == y[i])
        i++;
    return i;
}

#define VARINT_MAX 10 /* bytes of the longest 64-bit varint */

/* Write v at `at` (room for VARINT_MAX bytes); returns the length. */
static inline size_t varint_put(uint8_t *at, uint64_t v)
{
    size_t n = 0;
    for (; v >= 0x80; v >>= 7)
        at[n++] = (uint8_t)(v | 0x80);
    at[n++] = (uint8_t)v;
    return n;
}

/* Signed numbers small in magnitude become small unsigned ones. */
static inline uint64_t zigzag(int64_t v)
{
    return ((uint64_t)v << 1) ^ (uint64_t)(v >> 63);
}
static inline int64_t unzigzag(uint64_t v)
{
    return (int64_t)(v >> 1) ^ -(int64_t)(v & 1);
}

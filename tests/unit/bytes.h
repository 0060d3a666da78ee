/*
 * bytes.h - bytes that tests and fuzz targets put together, and random numbers.
 */
#pragma once

#include <stdlib.h>
#include <string.h>

#include "catalog/base/bits.h"
#include "catalog/base/text.h"

/* A string literal with its zero bytes. */
#define LITERAL(s) ((struct bytes){(const uint8_t *)(s), sizeof(s) - 1})

static inline struct bytes text_bytes(struct text *t)
{
    return (struct bytes){(const uint8_t *)text_str(t), t->len};
}

static inline void put_u32(struct text *out, uint32_t value)
{
    uint8_t bytes[4];
    store_u32le(bytes, value);
    text_add(out, bytes, sizeof(bytes));
}

static inline void put_u64(struct text *out, uint64_t value)
{
    uint8_t bytes[8];
    store_u64le(bytes, value);
    text_add(out, bytes, sizeof(bytes));
}

static inline void put_varint(struct text *out, uint64_t value)
{
    uint8_t bytes[VARINT_MAX];
    text_add(out, bytes, varint_put(bytes, value));
}

/* "00ff": pairs of digits. */
static inline void put_hex(struct text *out, const char *hex)
{
    for (char digits[3] = ""; *hex; hex += 2) {
        memcpy(digits, hex, 2);
        text_addc(out, (char)strtoul(digits, NULL, 16));
    }
}

/* The same numbers in every run (xorshift64). */
static uint64_t random_state = 88172645463325252u;

static inline uint64_t random_below(uint64_t n)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state % n;
}

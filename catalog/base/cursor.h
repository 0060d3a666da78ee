/*
 * cursor.h - a bounded walk over bytes that came from a file.
 *
 * Fails once and stays failed: after the first read past the end every read gives zeros and moves
 * nothing, so a record is read in a straight line and questioned once with cursor_ok(). No parser
 * forms a pointer into file bytes in any other way.
 */
#pragma once

#include "catalog/base/bits.h"

struct cursor {
    const uint8_t *begin, *at, *end;
    uint64_t file_offset; /* of `begin` in its file, in bytes */
    bool failed;
};

static inline struct cursor cursor_over(struct bytes block, uint64_t file_offset)
{
    static const uint8_t nothing[1];
    const uint8_t *begin = block.at ? block.at : nothing;
    return (struct cursor){begin, begin, begin + block.len, file_offset, false};
}
static inline bool cursor_ok(const struct cursor *c)
{
    return !c->failed;
}
static inline size_t cursor_left(const struct cursor *c)
{
    return c->failed ? 0 : (size_t)(c->end - c->at);
}
/* Offset in the file, in bytes, of the next byte to read. */
static inline uint64_t cursor_offset(const struct cursor *c)
{
    return c->file_offset + (uint64_t)(c->at - c->begin);
}
static inline void cursor_fail(struct cursor *c)
{
    c->failed = true;
}

/* The next `len` bytes, or an empty run (at == NULL) and failure. */
static inline struct bytes cursor_take(struct cursor *c, uint64_t len)
{
    if (c->failed || len > (uint64_t)(c->end - c->at)) {
        c->failed = true;
        return (struct bytes){0};
    }
    struct bytes got = {c->at, (size_t)len};
    c->at += len;
    return got;
}

uint8_t cursor_u8(struct cursor *c);
uint16_t cursor_u16le(struct cursor *c);
uint32_t cursor_u32le(struct cursor *c);
uint64_t cursor_u64le(struct cursor *c);
uint16_t cursor_u16be(struct cursor *c);
uint32_t cursor_u32be(struct cursor *c);
uint64_t cursor_u64be(struct cursor *c);

/* LEB128; fails past 10 bytes, past 2^64 - 1, and in the 32-bit form past
 * 5 bytes or 2^32 - 1. Longer than needed is legal. */
uint64_t cursor_varint(struct cursor *c);
uint32_t cursor_varint32(struct cursor *c);

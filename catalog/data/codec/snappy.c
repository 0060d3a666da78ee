/*
 * snappy.c - raw Snappy blocks.
 *
 *   length    varint32: decoded bytes
 *   elements  to the end of the block, each led by a tag whose low two bits say what it is:
 *
 *   low bits  element  length                      distance back
 *   0         literal  tag >> 2, plus 1; 60..63:   -
 *                      in the next 1..4 bytes
 *   1         copy     (tag >> 2 & 7) + 4          tag >> 5, then 1 byte
 *   2         copy     (tag >> 2) + 1              u16le
 *   3         copy     (tag >> 2) + 1              u32le
 *
 * A copy may reach into what it writes itself: the pattern then repeats.
 *
 * Source: google/snappy, format_description.txt.
 */
#include "catalog/data/codec/snappy.h"

#include "catalog/base/cursor.h"

/* Best case: a copy of 64 bytes is stored in 3. */
#define MOST_PER_BYTE 22

bool snappy_length(struct bytes block, uint64_t *len)
{
    struct cursor c = cursor_over(block, 0);
    *len = cursor_varint32(&c);
    return cursor_ok(&c) && *len / MOST_PER_BYTE <= cursor_left(&c);
}

/* Little-endian number of 1 to 4 bytes. */
static uint32_t snappy_take_number(struct cursor *c, unsigned width)
{
    uint32_t value = 0;
    for (unsigned i = 0; i < width; i++)
        value |= (uint32_t)cursor_u8(c) << (8 * i);
    return value;
}

struct output {
    uint8_t *begin, *at, *end;
};

static bool put_literal(struct cursor *c, uint8_t tag, struct output *o)
{
    uint64_t len = tag >> 2;
    if (len >= 60)
        len = snappy_take_number(c, (unsigned)len - 59);
    struct bytes literal = cursor_take(c, len + 1);
    if (!literal.at || literal.len > (size_t)(o->end - o->at))
        return false;
    memcpy(o->at, literal.at, literal.len);
    o->at += literal.len;
    return true;
}

static bool put_copy(struct cursor *c, uint8_t tag, struct output *o)
{
    size_t len = (size_t)(tag >> 2) + 1;
    size_t back;
    if ((tag & 3) == 1) {
        len = (size_t)(tag >> 2 & 7) + 4;
        back = (size_t)(tag >> 5) << 8 | cursor_u8(c);
    } else {
        back = snappy_take_number(c, (tag & 3) == 2 ? 2 : 4);
    }
    if (!cursor_ok(c) || back == 0 || back > (size_t)(o->at - o->begin) ||
        len > (size_t)(o->end - o->at))
        return false;
    for (const uint8_t *from = o->at - back; len; len--)
        *o->at++ = *from++;
    return true;
}

bool snappy_decode(struct bytes block, uint8_t *out, size_t len)
{
    struct cursor c = cursor_over(block, 0);
    struct output o;
    o.begin = o.at = out;
    o.end = out + len;
    if (cursor_varint32(&c) != len)
        return false;
    while (cursor_left(&c)) {
        uint8_t tag = cursor_u8(&c);
        if (!((tag & 3) == 0 ? put_literal(&c, tag, &o) : put_copy(&c, tag, &o)))
            return false;
    }
    return cursor_ok(&c) && o.at == o.end;
}

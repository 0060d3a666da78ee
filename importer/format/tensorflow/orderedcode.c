/*
 * orderedcode.c - increasing OrderedCode.
 *
 *   number   u8 count of significant bytes (0..8), then those, big-endian
 *   string   each byte unchanged, except 00 -> 00 ff and ff -> ff 00; ends with 00 01
 *   signed   n bytes for values in [-2^(7n-1), 2^(7n-1)), n = 1..10 and as small as possible:
 *            n one-bits, a zero-bit, the value big-endian; a negative value v is coded as
 *            ~v (which is not negative) with all bits inverted
 *
 * Source: tensorflow/core/lib/strings/ordered_code.cc.
 */
#include "importer/format/tensorflow/orderedcode.h"

uint64_t orderedcode_number(struct cursor *c)
{
    uint8_t count = cursor_u8(c);
    if (count > 8)
        cursor_fail(c);
    uint64_t value = 0;
    for (unsigned i = 0; cursor_ok(c) && i < count; i++) {
        uint8_t byte = cursor_u8(c);
        if (i == 0 && byte == 0)
            cursor_fail(c);
        value = value << 8 | byte;
    }
    return cursor_ok(c) ? value : 0;
}

bool orderedcode_string(struct cursor *c, struct text *out)
{
    while (cursor_ok(c)) {
        uint8_t byte = cursor_u8(c);
        if (byte == 0x00 || byte == 0xFF) {
            uint8_t second = cursor_u8(c);
            if (cursor_ok(c) && byte == 0x00 && second == 0x01)
                return !out->failed;
            if (second + byte != 0xFF)
                cursor_fail(c);
        }
        if (cursor_ok(c))
            text_addc(out, (char)byte);
    }
    return false;
}

int64_t orderedcode_signed(struct cursor *c)
{
    uint8_t first = cursor_u8(c);
    uint8_t flip = first & 0x80 ? 0 : 0xFF;
    first ^= flip;
    /* Count the leading one-bits: 1..8 in the first byte; 8 and more continue in the second. */
    unsigned n = 0;
    while (n < 8 && first & (0x80u >> n))
        n++;
    uint64_t value = n < 8 ? first & (0x7Fu >> n) : 0;
    unsigned left = n - 1;
    if (n == 8) {
        uint8_t second = cursor_u8(c) ^ flip;
        while (n < 11 && second & (0x80u >> (n - 8)))
            n++;
        value = second & (0x7Fu >> (n - 8));
        left = n - 2;
    }
    if (n > 10)
        cursor_fail(c);
    for (; cursor_ok(c) && left; left--) {
        if (value >> 55)
            cursor_fail(c);
        value = value << 8 | (uint8_t)(cursor_u8(c) ^ flip);
    }
    unsigned shortest = 1; /* bytes of the value's shortest code, which alone is legal */
    while (shortest < 10 && value >> (7 * shortest - 1))
        shortest++;
    if (!cursor_ok(c) || n != shortest)
        cursor_fail(c);
    return !cursor_ok(c) ? 0 : flip ? (int64_t)~value : (int64_t)value;
}

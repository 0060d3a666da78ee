#include "catalog/base/cursor.h"

#define FIXED(name, type, load)                                                                    \
    type name(struct cursor *c)                                                                    \
    {                                                                                              \
        struct bytes b = cursor_take(c, sizeof(type));                                             \
        return b.at ? load(b.at) : 0;                                                              \
    }

static inline uint8_t load_u8(const uint8_t *at)
{
    return *at;
}

FIXED(cursor_u8, uint8_t, load_u8)
FIXED(cursor_u16le, uint16_t, load_u16le)
FIXED(cursor_u32le, uint32_t, load_u32le)
FIXED(cursor_u64le, uint64_t, load_u64le)
FIXED(cursor_u16be, uint16_t, load_u16be)
FIXED(cursor_u32be, uint32_t, load_u32be)
FIXED(cursor_u64be, uint64_t, load_u64be)

uint64_t cursor_varint(struct cursor *c)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 70; shift += 7) {
        uint8_t byte = cursor_u8(c);
        if (shift == 63 && byte > 1)
            cursor_fail(c);
        value |= (uint64_t)(byte & 0x7F) << shift;
        if (!(byte & 0x80))
            return c->failed ? 0 : value;
    }
    cursor_fail(c);
    return 0;
}

uint32_t cursor_varint32(struct cursor *c)
{
    const uint8_t *start = c->at;
    uint64_t value = cursor_varint(c);
    if (value > UINT32_MAX || c->at - start > 5) {
        cursor_fail(c);
        return 0;
    }
    return (uint32_t)value;
}

/*
 * message.c - a field of a protobuf message is a varint (number << 3 | wire type), then its
 * contents:
 *
 *   wire type 0   a varint
 *             1   8 bytes
 *             2   a varint length, and as many bytes
 *             5   4 bytes
 *
 * Source: https://protobuf.dev/programming-guides/encoding/.
 */
#include "catalog/data/codec/message.h"

#include "catalog/base/cursor.h"

/* Two varints: number and length, or number and value. */
#define HEAD_MAX ((size_t)2 * VARINT_MAX)

struct message message_over(const struct source *source)
{
    return (struct message){.source = source, .end = source->size};
}

/* The next HEAD_MAX bytes from m->at on, or all that are left; none after an error. */
static struct bytes look(struct message *m, struct error *err)
{
    uint64_t left = m->source->size - m->at;
    size_t want = left < HEAD_MAX ? (size_t)left : HEAD_MAX;
    bool there = m->at >= m->window_at && m->at - m->window_at <= m->window_len &&
                 want <= m->window_len - (m->at - m->window_at);
    if (!there) {
        size_t len = left < sizeof(m->window) ? (size_t)left : sizeof(m->window);
        m->window_len = 0;
        if (source_read(m->source, m->at, m->window, len, err) != OK)
            return (struct bytes){0};
        m->window_at = m->at;
        m->window_len = len;
    }
    return (struct bytes){m->window + (m->at - m->window_at), want};
}

/* Move to the contents of a field of this wire type, and return their length. The cursor fails
 * if the wire type is not valid. */
static uint64_t contents(struct cursor *c, unsigned wire)
{
    const uint8_t *begin = c->at;
    switch (wire) {
    case WIRE_VARINT:
        cursor_varint(c);
        uint64_t len = (uint64_t)(c->at - begin);
        if (cursor_ok(c))
            c->at = begin;
        return len;
    case WIRE_FIXED64: return 8;
    case WIRE_BYTES: return cursor_varint(c);
    case WIRE_FIXED32: return 4;
    default: cursor_fail(c); return 0;
    }
}

enum status message_next(struct message *m, struct message_field *f, struct error *err)
{
    *f = (struct message_field){0};
    if (m->at >= m->end)
        return OK;
    struct cursor c = cursor_over(look(m, err), m->at);
    uint32_t tag = cursor_varint32(&c);
    uint64_t len = contents(&c, tag & 7), at = cursor_offset(&c);
    if (!cursor_ok(&c) || tag >> 3 == 0 || at > m->end || len > m->end - at)
        return error_set(err, ERR_CORRUPT, m->source->name, NO_OFFSET,
                         "a message is damaged or cut short (at its byte %llu)",
                         (unsigned long long)m->at);
    *f = (struct message_field){tag >> 3, (enum wire)(tag & 7), m->at, at, len};
    m->at = at + len;
    return OK;
}

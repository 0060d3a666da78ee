/*
 * snappy.c - raw Snappy blocks, and the codec step "snappy".
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
#include "catalog/codec/snappy.h"

#include <pthread.h>
#include <stdlib.h>

#include "catalog/base/cursor.h"
#include "catalog/codec/codec.h"

/* Best case: 64 bytes from a copy of 3. */
#define MOST_PER_BYTE 22

/* The length that a block of `size` bytes states at its beginning, `head`. */
static bool length_fits(struct bytes head, uint64_t size, uint64_t *len)
{
    struct cursor c = cursor_over(head, 0);
    *len = cursor_varint32(&c);
    return cursor_ok(&c) && *len / MOST_PER_BYTE <= size - cursor_offset(&c);
}

bool snappy_length(struct bytes block, uint64_t *len)
{
    return length_fits(block, block.len, len);
}

/* Little-endian number of 1 to 4 bytes. */
static uint32_t take_number(struct cursor *c, unsigned width)
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
        len = take_number(c, (unsigned)len - 59);
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
        back = take_number(c, (tag & 3) == 2 ? 2 : 4);
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

/* --- the codec step --------------------------------------------------------------------- */

/* Decoded as a whole when its first byte is wanted: blocks are small, and any part of one may
 * refer to any other. */
struct snappy_source {
    struct source base; /* must be first */
    struct source *inner;
    pthread_mutex_t lock; /* over `decoded` until it is there; then it stays as it is */
    _Atomic(uint8_t *) decoded;
};

static enum status damaged(const struct source *inner, struct error *err)
{
    uint64_t begin;
    source_descriptor(inner, &begin);
    return error_set(err, ERR_CORRUPT, inner->name, begin,
                     "the Snappy data of a block is damaged");
}

static enum status decode_all(struct snappy_source *s, struct error *err)
{
    size_t in_len = (size_t)s->inner->size, out_len = (size_t)s->base.size;
    uint8_t *in = malloc(in_len ? in_len : 1), *out = malloc(out_len ? out_len : 1);
    if (!in || !out)
        error_set(err, ERR_MEMORY, s->base.name, NO_OFFSET, "no memory");
    else if (source_read(s->inner, 0, in, in_len, err) == OK &&
             !snappy_decode((struct bytes){in, in_len}, out, out_len))
        damaged(s->inner, err);
    free(in);
    if (err->status == OK)
        s->decoded = out;
    else
        free(out);
    return err->status;
}

static enum status snappy_read(const struct source *base, uint64_t offset, void *dst,
                               size_t len, struct error *err)
{
    struct snappy_source *s = (struct snappy_source *)base;
    if (!s->decoded) {
        pthread_mutex_lock(&s->lock);
        enum status status = s->decoded ? OK : decode_all(s, err);
        pthread_mutex_unlock(&s->lock);
        if (status != OK)
            return status;
    }
    memcpy(dst, s->decoded + offset, len);
    return OK;
}

static void snappy_close(struct source *base)
{
    struct snappy_source *s = (struct snappy_source *)base;
    pthread_mutex_destroy(&s->lock);
    source_close(s->inner);
    free(s->decoded);
    free(s);
}

static const struct source_ops snappy_ops = {.read_at = snappy_read,
                                             .close = snappy_close};

static enum status snappy_open(struct source *inner, const char *argument,
                               struct source **out, struct error *err)
{
    uint8_t head[VARINT_MAX];
    uint64_t size = 0;
    size_t len = inner->size < sizeof(head) ? (size_t)inner->size : sizeof(head);
    if (*argument)
        return codec_bad_argument(inner, "snappy", argument, err);
    if (source_read(inner, 0, head, len, err) == OK &&
        !length_fits((struct bytes){head, len}, inner->size, &size))
        damaged(inner, err);
    if (err->status != OK) {
        source_close(inner);
        return err->status;
    }
    struct snappy_source *s = calloc(1, sizeof(*s));
    if (!s)
        return codec_no_memory(inner, err);
    pthread_mutex_init(&s->lock, NULL);
    s->base = (struct source){&snappy_ops, size, inner->name, false};
    s->inner = inner;
    *out = &s->base;
    return OK;
}

const struct codec codec_snappy = {.name = "snappy", .open = snappy_open};

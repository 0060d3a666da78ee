/*
 * msgpack.c - the first bytes of msgpack values, which say what they are and how long.
 *
 *   00..7f 80..8f 90..9f a0..bf   number, map, array, string: the value, count or length is
 *                                 the low bits
 *   c0..df                        the table below; the numbers that follow are big-endian
 *   e0..ff                        -32 .. -1
 *
 * A string, bytes or an extension continues with its length, then (an extension) its type as
 * i8, then its payload; an array or a map with its count, then that many items or pairs. c1 is
 * never used.
 *
 * Source: msgpack/spec.md.
 */
#include "importer/container/msgpack.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define PORTION_FIRST ((size_t)4 << 10)
#define PORTION_MOST  ((size_t)64 << 10)

/* What a first byte of c0 to df means: the type; the width in bytes of the number or length
 * that follows; the payload's length where the byte implies it (fixed extensions). */
static const struct head {
    uint8_t type, width, fixed;
} heads[32] = {
    {MSGPACK_NIL, 0, 0},       {MSGPACK_NIL, 0, 0}, /* c1 */
    {MSGPACK_BOOL, 0, 0},      {MSGPACK_BOOL, 0, 0},       {MSGPACK_BYTES, 1, 0},
    {MSGPACK_BYTES, 2, 0},     {MSGPACK_BYTES, 4, 0},      {MSGPACK_EXTENSION, 1, 0},
    {MSGPACK_EXTENSION, 2, 0}, {MSGPACK_EXTENSION, 4, 0},  {MSGPACK_REAL, 4, 0},
    {MSGPACK_REAL, 8, 0},      {MSGPACK_UNSIGNED, 1, 0},   {MSGPACK_UNSIGNED, 2, 0},
    {MSGPACK_UNSIGNED, 4, 0},  {MSGPACK_UNSIGNED, 8, 0},   {MSGPACK_NEGATIVE, 1, 0},
    {MSGPACK_NEGATIVE, 2, 0},  {MSGPACK_NEGATIVE, 4, 0},   {MSGPACK_NEGATIVE, 8, 0},
    {MSGPACK_EXTENSION, 0, 1}, {MSGPACK_EXTENSION, 0, 2},  {MSGPACK_EXTENSION, 0, 4},
    {MSGPACK_EXTENSION, 0, 8}, {MSGPACK_EXTENSION, 0, 16}, {MSGPACK_STRING, 1, 0},
    {MSGPACK_STRING, 2, 0},    {MSGPACK_STRING, 4, 0},     {MSGPACK_ARRAY, 2, 0},
    {MSGPACK_ARRAY, 4, 0},     {MSGPACK_MAP, 2, 0},        {MSGPACK_MAP, 4, 0},
};

/* The same of other first bytes, by their upper three bits; `fixed`: the bits of the number. */
static const struct head shorts[8] = {{MSGPACK_UNSIGNED, 1, 0xFF}, {MSGPACK_UNSIGNED, 1, 0xFF},
                                      {MSGPACK_UNSIGNED, 1, 0xFF}, {MSGPACK_UNSIGNED, 1, 0xFF},
                                      {MSGPACK_MAP, 1, 0x0F},      {MSGPACK_STRING, 1, 0x1F},
                                      {MSGPACK_NIL, 0, 0},         {MSGPACK_NEGATIVE, 1, 0xFF}};

/* --- bytes ------------------------------------------------------------------------------ */

bool msgpack_fail(struct msgpack *m, uint64_t offset, enum status status, const char *code,
                  const char *fmt, ...)
{
    char message[sizeof(m->err->message)];
    va_list args;
    va_start(args, fmt);
    vsnprintf(message, sizeof(message), fmt, args);
    va_end(args);
    error_set(m->err, status, m->source ? m->source->name : NULL, offset, "%s", message);
    if (code)
        error_code(m->err, code);
    return false;
}

enum status msgpack_open(struct msgpack *m, const struct source *source, struct arena *arena,
                         struct error *err)
{
    *m = (struct msgpack){.source = source, .err = err, .end = source->size};
    m->buffer = arena_alloc(arena, PORTION_MOST);
    m->window = m->buffer;
    return m->buffer ? OK : error_memory_at(err, source->name);
}

void msgpack_head(struct msgpack *m, struct bytes head, uint64_t size, struct error *err)
{
    *m = (struct msgpack){.err = err, .end = size, .window = head.at, .window_len = head.len};
}

/* Fill the window from m->at. The portion doubles while reading is sequential. */
static bool refill(struct msgpack *m)
{
    if (!m->source) {
        m->cut = true;
        return false;
    }
    bool goes_on = m->at >= m->window_at && m->at - m->window_at <= m->window_len;
    size_t portion = goes_on ? m->portion * 2 : 0;
    portion = portion < PORTION_FIRST  ? PORTION_FIRST
              : portion > PORTION_MOST ? PORTION_MOST
                                       : portion;
    uint64_t left = m->source->size - m->at;
    size_t len = left < portion ? (size_t)left : portion;
    m->portion = portion;
    m->window_len = 0;
    if (source_read(m->source, m->at, m->buffer, len, m->err) != OK)
        return false;
    m->window_at = m->at;
    m->window_len = len;
    return true;
}

static bool in_window(const struct msgpack *m, uint64_t at, uint64_t len)
{
    return at >= m->window_at && at - m->window_at <= m->window_len &&
           len <= m->window_len - (at - m->window_at);
}

/* The next `len` bytes, at most 8, and move m->at past them. NULL if there are fewer. */
static const uint8_t *msgpack_take(struct msgpack *m, size_t len)
{
    if (m->cut || m->err->status != OK)
        return NULL;
    if (len > m->end - m->at) {
        msgpack_fail(m, m->at, ERR_CORRUPT, "truncated", "ends where a value should go on");
        return NULL;
    }
    if (!in_window(m, m->at, len) && !refill(m))
        return NULL;
    const uint8_t *at = m->window + (m->at - m->window_at);
    m->at += len;
    return at;
}

static bool msgpack_take_number(struct msgpack *m, unsigned width, uint64_t *value)
{
    const uint8_t *at = msgpack_take(m, width);
    *value = 0;
    for (unsigned i = 0; at && i < width; i++)
        *value = *value << 8 | at[i];
    return at != NULL;
}

/* --- heads ------------------------------------------------------------------------------ */

static bool set_count(struct msgpack *m, struct msgpack_item *item, uint64_t count)
{
    uint64_t left = m->end - m->at;
    item->count = count;
    if (count <= (item->type == MSGPACK_MAP ? left / 2 : left))
        return true;
    return msgpack_fail(m, item->offset, ERR_CORRUPT, "truncated",
                        "%s of %llu items, where %llu bytes are left",
                        item->type == MSGPACK_MAP ? "a map" : "an array", (unsigned long long)count,
                        (unsigned long long)left);
}

static bool set_payload(struct msgpack *m, struct msgpack_item *item, uint64_t len)
{
    const uint8_t *kind = NULL;
    if (item->type == MSGPACK_EXTENSION && !(kind = msgpack_take(m, 1)))
        return false;
    if (kind)
        item->kind = (int8_t)*kind;
    item->data = m->at;
    item->len = len;
    if (len > m->end - m->at)
        return msgpack_fail(m, item->offset, ERR_CORRUPT, "truncated",
                            "a value of %llu bytes, where %llu are left", (unsigned long long)len,
                            (unsigned long long)(m->end - m->at));
    m->at += len;
    return true;
}

/* Interpret the number that follows the first byte. */
static bool set_value(struct msgpack *m, struct msgpack_item *item, uint64_t number, unsigned width)
{
    const unsigned shift = 64 - 8 * width;
    const uint32_t bits = (uint32_t)number;
    float single;
    switch (item->type) {
    case MSGPACK_UNSIGNED: item->number = number; return true;
    case MSGPACK_NEGATIVE:
        item->integer = (int64_t)(number << shift) >> shift;
        if (item->integer >= 0)
            item->type = MSGPACK_UNSIGNED;
        return true;
    case MSGPACK_REAL:
        memcpy(&single, &bits, sizeof(single));
        memcpy(&item->real, &number, sizeof(item->real));
        if (width == sizeof(single))
            item->real = single;
        return true;
    case MSGPACK_ARRAY:
    case MSGPACK_MAP: return set_count(m, item, number);
    default: return set_payload(m, item, number);
    }
}

bool msgpack_next(struct msgpack *m, struct msgpack_item *item)
{
    uint64_t number;
    m->heads++;
    *item = (struct msgpack_item){.offset = m->at};
    const uint8_t *at = msgpack_take(m, 1);
    if (!at)
        return false;
    uint8_t first = *at;
    if (first < 0xC0 || first >= 0xE0) { /* the number is in the low bits */
        item->type = first >> 4 == 9 ? MSGPACK_ARRAY : (enum msgpack_type)shorts[first >> 5].type;
        return set_value(m, item, first & shorts[first >> 5].fixed, 1);
    }
    if (first == 0xC1)
        return msgpack_fail(m, item->offset, ERR_CORRUPT, NULL, "the byte c1 begins no value");
    const struct head *h = &heads[first - 0xC0];
    item->type = (enum msgpack_type)h->type;
    item->truth = first == 0xC3;
    if (item->type <= MSGPACK_BOOL)
        return true;
    number = h->fixed;
    return (!h->width || msgpack_take_number(m, h->width, &number)) &&
           set_value(m, item, number, h->width);
}

bool msgpack_want(struct msgpack *m, struct msgpack_item *item, enum msgpack_type type,
                  const char *what)
{
    return msgpack_next(m, item) &&
           (item->type == type ||
            msgpack_fail(m, item->offset, ERR_CORRUPT, NULL, "%s expected", what));
}

static uint64_t items_of(const struct msgpack_item *item)
{
    return item->type == MSGPACK_ARRAY ? item->count
           : item->type == MSGPACK_MAP ? item->count * 2
                                       : 0;
}

bool msgpack_skip(struct msgpack *m, const struct msgpack_item *item)
{
    uint64_t left = items_of(item);
    struct msgpack_item inner;
    while (left--) {
        if (!msgpack_next(m, &inner))
            return false;
        left += items_of(&inner);  /* each count is at most the number of bytes left ... */
        if (left > m->end - m->at) /* ... and so must be their sum */
            return msgpack_fail(m, inner.offset, ERR_CORRUPT, "truncated",
                                "more items than bytes are left");
    }
    return true;
}

/* --- payloads --------------------------------------------------------------------------- */

/* The payload if the window holds the whole payload, else NULL. */
static const uint8_t *seen(const struct msgpack *m, const struct msgpack_item *item)
{
    return in_window(m, item->data, item->len) ? m->window + (item->data - m->window_at) : NULL;
}

bool msgpack_read(struct msgpack *m, const struct msgpack_item *item, void *dst)
{
    if (m->cut || m->err->status != OK)
        return false;
    const uint8_t *at = seen(m, item);
    if (at && item->len) {
        memcpy(dst, at, (size_t)item->len);
    } else if (!at && !m->source) {
        m->cut = true;
        return false;
    } else if (!at) {
        return source_read(m->source, item->data, dst, (size_t)item->len, m->err) == OK;
    }
    return true;
}

bool msgpack_add(struct msgpack *m, const struct msgpack_item *item, struct text *out)
{
    uint8_t part[4096];
    const uint8_t *at = seen(m, item);
    if (at)
        return text_add(out, at, (size_t)item->len);
    struct msgpack_item rest = *item;
    if (out->limit && rest.len > out->limit - out->len) {
        out->failed = true; /* before anything is read */
        return false;
    }
    while (rest.len) {
        struct msgpack_item piece = rest;
        piece.len = rest.len < sizeof(part) ? rest.len : sizeof(part);
        if (!msgpack_read(m, &piece, part) || !text_add(out, part, (size_t)piece.len))
            return false;
        rest.data += piece.len;
        rest.len -= piece.len;
    }
    return true;
}

bool msgpack_is(struct msgpack *m, const struct msgpack_item *item, const char *word)
{
    char text[64];
    size_t len = strlen(word);
    return msgpack_is_text(item) && item->len == len && len <= sizeof(text) &&
           msgpack_read(m, item, text) && memcmp(text, word, len) == 0;
}

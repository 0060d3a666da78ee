/* hdf5_read.c - reading an HDF5 file by address. */
#include "importer/format/hdf5/hdf5_read.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "catalog/data/codec/checksum.h"

#define DIRECT_BYTES 2048 /* longer structures are read directly, shorter ones through windows */

struct error *hdf5_catch(struct hdf5 *h, struct error *err)
{
    struct error *before = h->err;
    h->err = h->held.err = err;
    return before;
}

uint64_t hdf5_place(const struct hdf5 *h, uint64_t address)
{
    return h->shift + h->base + address;
}

static void note(const struct hdf5 *h, enum status status, const char *code, uint64_t offset,
                 const char *fmt, va_list args)
{
    char text[256];
    if (hdf5_ok(h)) {
        vsnprintf(text, sizeof(text), fmt, args);
        error_set(h->err, status, h->source->name, offset, "%s", text);
        if (code)
            error_code(h->err, code);
    }
}

bool hdf5_corrupt(const struct hdf5 *h, uint64_t address, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    note(h, ERR_CORRUPT, "bad-hdf5", address < h->size ? hdf5_place(h, address) : NO_OFFSET, fmt,
         args);
    va_end(args);
    return false;
}

bool hdf5_fail(const struct hdf5 *h, enum status status, const char *code, uint64_t offset,
               const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    note(h, status, code, offset, fmt, args);
    va_end(args);
    return false;
}

/* --- reading ------------------------------------------------------------------------------ */

/* Whether these bytes may be read: they are in the file and in the budget. */
static bool may_read(struct hdf5 *h, uint64_t address, uint64_t len)
{
    if (h->err->status != OK)
        return false;
    if (address > h->size || len > h->size - address)
        return hdf5_corrupt(h, address, "%llu bytes at address %llu, past the end",
                            (unsigned long long)len, (unsigned long long)address);
    if (len > h->budget) {
        h->budget = 0; /* refuse all further reads of this file */
        return hdf5_fail(h, ERR_LIMIT, NULL, NO_OFFSET,
                         "the same parts are referred to more often than in any real file");
    }
    h->budget -= len;
    return true;
}

void hdf5_expect(struct hdf5 *h, uint64_t address)
{
    if (!h->foresees || address >= h->size)
        return;
    const uint64_t at = h->base + address, begin = at - at % HDF5_WINDOW_BYTES;
    const uint64_t left = h->source->size - begin;
    h->source->ops->at_hand(h->source, begin, left < HDF5_WINDOW_BYTES ? left : HDF5_WINDOW_BYTES);
}

/* Otherwise, while a file is foreseen, it is left for later. */
static bool is_at_hand(struct hdf5 *h, uint64_t at, size_t len)
{
    if (!h->foresees || h->source->ops->at_hand(h->source, at, len))
        return true;
    h->missed = h->missed ? h->missed : at + 1;
    return error_set(h->err, ERR_UNSUPPORTED, NULL, NO_OFFSET, "not yet") == OK;
}

/* The window that holds byte `at` of the source; NULL on error. */
static const struct hdf5_window *window_at(struct hdf5 *h, uint64_t at)
{
    uint64_t begin = at - at % HDF5_WINDOW_BYTES;
    struct hdf5_window *w = &h->windows[begin / HDF5_WINDOW_BYTES % HDF5_WINDOWS];
    if (w->at == begin + 1)
        return w;
    uint64_t left = h->source->size - begin;
    w->at = 0;
    w->len = left < HDF5_WINDOW_BYTES ? (size_t)left : HDF5_WINDOW_BYTES;
    if (!is_at_hand(h, begin, w->len) ||
        source_read(h->source, begin, w->bytes, w->len, h->err) != OK)
        return NULL;
    w->at = begin + 1;
    return w;
}

void *hdf5_room(struct hdf5 *h, struct arena *arena, size_t size)
{
    void *room = arena_room(arena, size);
    if (!room)
        error_memory(h->err);
    return room;
}

/* Read what may be read. */
static bool read_bytes(struct hdf5 *h, uint64_t address, uint8_t *to, size_t len)
{
    uint64_t at = h->base + address;
    if (len > DIRECT_BYTES)
        return is_at_hand(h, at, len) && source_read(h->source, at, to, len, h->err) == OK;
    while (len) {
        const struct hdf5_window *w = window_at(h, at);
        if (!w)
            return false;
        size_t within = (size_t)(at % HDF5_WINDOW_BYTES);
        size_t n = w->len - within < len ? w->len - within : len;
        memcpy(to, w->bytes + within, n);
        to += n;
        at += n;
        len -= n;
    }
    return true;
}

bool hdf5_read(struct hdf5 *h, uint64_t address, void *dst, size_t len)
{
    bool read = may_read(h, address, len) && read_bytes(h, address, dst, len);
    if (!read)
        memset(dst, 0, len);
    return read;
}

struct bytes hdf5_take(struct hdf5 *h, uint64_t address, uint64_t len, struct arena *arena)
{
    if (!may_read(h, address, len))
        return (struct bytes){0};
    uint8_t *bytes = hdf5_room(h, arena, (size_t)len + !len);
    return bytes && read_bytes(h, address, bytes, (size_t)len) ? (struct bytes){bytes, (size_t)len}
                                                               : (struct bytes){0};
}

bool hdf5_verify(const struct hdf5 *h, uint64_t address, struct bytes all, const char *what)
{
    if (!hdf5_ok(h) || !all.at)
        return false;
    struct bytes data = {all.at, all.len - SUM_BYTES};
    uint32_t stored = load_u32le(all.at + data.len), found = jenkins_lookup3(data);
#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
    found = stored; /* a fuzzer would never guess checksums */
#endif
    return stored == found || hdf5_fail(h, ERR_CORRUPT, "checksum", hdf5_place(h, address),
                                        "the checksum of %s is %08x, but %08x is stored", what,
                                        (unsigned)found, (unsigned)stored);
}

struct bytes hdf5_take_summed(struct hdf5 *h, struct hdf5_part part, struct arena *arena)
{
    struct bytes none = {0};
    if (part.len < 4 + SUM_BYTES) {
        hdf5_corrupt(h, part.address, "%s of %llu bytes", part.signature,
                     (unsigned long long)part.len);
        return none;
    }
    struct bytes all = hdf5_take(h, part.address, part.len, arena);
    if (all.at && memcmp(all.at, part.signature, 4) != 0)
        hdf5_corrupt(h, part.address, "no %s where one is said to be", part.signature);
    return hdf5_verify(h, part.address, all, part.signature)
               ? (struct bytes){all.at, all.len - SUM_BYTES}
               : none;
}

/* --- numbers ------------------------------------------------------------------------------ */

struct cursor hdf5_cursor(const struct hdf5 *h, struct bytes bytes, uint64_t address)
{
    return cursor_over(bytes, h->base + address);
}

uint64_t hdf5_number(struct cursor *c, unsigned bytes)
{
    struct bytes b = cursor_take(c, bytes);
    uint64_t number = 0;
    for (size_t i = b.len; i-- > 0;)
        number = number << 8 | b.at[i];
    return number;
}

uint64_t hdf5_address(const struct hdf5 *h, struct cursor *c)
{
    uint64_t address = hdf5_number(c, h->offset_bytes);
    uint64_t none = h->offset_bytes == 8 ? UINT64_MAX : (UINT64_C(1) << h->offset_bytes * 8) - 1;
    return cursor_ok(c) && address != none ? address : HDF5_UNDEFINED;
}

uint64_t hdf5_length(const struct hdf5 *h, struct cursor *c)
{
    return hdf5_number(c, h->length_bytes);
}

unsigned hdf5_log2(uint64_t number)
{
    return number ? 63 - (unsigned)__builtin_clzll(number) : 0;
}

unsigned hdf5_width(uint64_t most)
{
    return hdf5_log2(most) / 8 + 1;
}

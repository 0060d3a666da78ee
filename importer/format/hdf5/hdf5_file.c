/*
 * hdf5_file.c - the superblock, and reading by address.
 *
 *   0, 1   signature, versions, sizes of addresses and lengths, B-tree ranks, flags, base, free
 *          space, end of file, driver, the root group's symbol table entry
 *   2, 3   signature, version, sizes, flags, base, extension, end of file, root group, checksum
 */
#include "importer/format/hdf5/hdf5_private.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "catalog/data/codec/checksum.h"

#define SIGNATURE       "\x89HDF\r\n\x1a\n"
#define SIGNATURE_BYTES 8
#define USER_BLOCK      512 /* the smallest; others are twice as large, and so on */

#define OPEN_FOR_WRITING 1 /* consistency flags of superblock version 3 */
#define OPEN_FOR_SWMR    4

/* Small structures are read through windows: the library writes metadata in blocks of 2 KiB. */
#define WINDOW_BYTES 4096
#define WINDOWS      256
#define DIRECT_BYTES 2048 /* longer ones are read directly */

/* How many bytes may be read altogether, as a multiple of the file's size: structures that
 * many others refer to (types, names) are read once for each reference. */
#define BUDGET_TIMES 32
#define BUDGET_LEAST ((uint64_t)1 << 20)
#define CHUNKS_LEAST ((uint64_t)1 << 16)

struct hdf5_window {
    uint64_t at; /* offset in the source + 1; 0: empty */
    size_t len;
    uint8_t bytes[WINDOW_BYTES];
};

uint64_t hdf5_place(const struct hdf5 *h, uint64_t address)
{
    return h->shift + h->base + address;
}

enum status hdf5_corrupt(const struct hdf5 *h, struct error *err, uint64_t address, const char *fmt,
                         ...)
{
    char text[256];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    error_set(err, ERR_CORRUPT, h->source->name,
              address < h->size ? hdf5_place(h, address) : NO_OFFSET, "%s", text);
    return error_code(err, "bad-hdf5");
}

enum status hdf5_no_memory(const struct hdf5 *h, struct error *err)
{
    return error_memory_at(err, h->source->name);
}

/* --- reading ------------------------------------------------------------------------------ */

static enum status check_range(struct hdf5 *h, uint64_t address, uint64_t len, struct error *err)
{
    if (address > h->size || len > h->size - address) {
        hdf5_corrupt(h, err, address, "%llu bytes at address %llu, past the end",
                     (unsigned long long)len, (unsigned long long)address);
        return ERR_CORRUPT;
    }
    if (len > h->budget) {
        h->budget = 0; /* refuse all further reads of this file */
        return error_set(err, ERR_LIMIT, h->source->name, NO_OFFSET,
                         "the same parts are referred to more often than any file's need");
    }
    h->budget -= len;
    return OK;
}

/* The window that holds byte `at` of the source; NULL on error. */
static const struct hdf5_window *window_at(struct hdf5 *h, uint64_t at, struct error *err)
{
    uint64_t begin = at - at % WINDOW_BYTES;
    struct hdf5_window *w = &h->windows[begin / WINDOW_BYTES % WINDOWS];
    if (w->at == begin + 1)
        return w;
    uint64_t left = h->source->size - begin;
    w->at = 0;
    w->len = left < WINDOW_BYTES ? (size_t)left : WINDOW_BYTES;
    if (source_read(h->source, begin, w->bytes, w->len, err) != OK)
        return NULL;
    w->at = begin + 1;
    return w;
}

enum status hdf5_read(struct hdf5 *h, uint64_t address, void *dst, size_t len, struct error *err)
{
    uint8_t *to = dst;
    if (check_range(h, address, len, err) != OK)
        return err->status;
    uint64_t at = h->base + address;
    if (len > DIRECT_BYTES)
        return source_read(h->source, at, to, len, err);
    while (len) {
        const struct hdf5_window *w = window_at(h, at, err);
        if (!w)
            return err->status;
        size_t within = (size_t)(at % WINDOW_BYTES);
        size_t n = w->len - within < len ? w->len - within : len;
        memcpy(to, w->bytes + within, n);
        to += n;
        at += n;
        len -= n;
    }
    return OK;
}

enum status hdf5_take(struct hdf5 *h, uint64_t address, uint64_t len, struct arena *arena,
                      struct bytes *out, struct error *err)
{
    if (address > h->size || len > h->size - address)
        return check_range(h, address, len, err);
    uint8_t *bytes = arena_room(arena, (size_t)len + !len);
    if (!bytes)
        return hdf5_no_memory(h, err);
    *out = (struct bytes){bytes, (size_t)len};
    return hdf5_read(h, address, bytes, (size_t)len, err);
}

enum status hdf5_verify(const struct hdf5 *h, uint64_t address, struct bytes all, const char *what,
                        struct error *err)
{
    struct bytes data = {all.at, all.len - SUM_BYTES};
    uint32_t stored = load_u32le(all.at + data.len), found = jenkins_lookup3(data);
#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
    found = stored; /* a fuzzer would never guess checksums */
#endif
    if (stored == found)
        return OK;
    error_set(err, ERR_CORRUPT, h->source->name, hdf5_place(h, address),
              "the checksum of %s is %08x, but %08x is stored", what, (unsigned)found,
              (unsigned)stored);
    return error_code(err, "checksum");
}

enum status hdf5_take_summed(struct hdf5 *h, struct hdf5_part part, struct arena *arena,
                             struct bytes *out, struct error *err)
{
    struct bytes all;
    if (part.len < 4 + SUM_BYTES)
        return hdf5_corrupt(h, err, part.address, "%s of %llu bytes", part.signature,
                            (unsigned long long)part.len);
    if (hdf5_take(h, part.address, part.len, arena, &all, err) != OK)
        return err->status;
    if (memcmp(all.at, part.signature, 4) != 0)
        return hdf5_corrupt(h, err, part.address, "no %s where one is said to be", part.signature);
    *out = (struct bytes){all.at, all.len - SUM_BYTES};
    return hdf5_verify(h, part.address, all, part.signature, err);
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

/* --- the superblock ----------------------------------------------------------------------- */

bool hdf5_signature(struct bytes head, uint64_t *base)
{
    for (uint64_t at = 0; at + SIGNATURE_BYTES <= head.len; at = at ? at * 2 : USER_BLOCK)
        if (memcmp(head.at + at, SIGNATURE, SIGNATURE_BYTES) == 0) {
            *base = at;
            return true;
        }
    return false;
}

static enum status find_superblock(struct hdf5 *h, struct error *err)
{
    uint8_t found[SIGNATURE_BYTES];
    const struct source *s = h->source;
    for (uint64_t at = 0; at <= s->size && s->size - at >= SIGNATURE_BYTES;
         at = at ? at * 2 : USER_BLOCK) {
        if (source_read(s, at, found, sizeof(found), err) != OK)
            return err->status;
        if (memcmp(found, SIGNATURE, sizeof(found)) == 0) {
            h->base = at;
            h->size = s->size - at;
            return OK;
        }
        if (at > UINT64_MAX / 4)
            break;
    }
    error_set(err, ERR_CORRUPT, s->name, 0, "no HDF5 signature");
    return error_code(err, "bad-hdf5");
}

static enum status cut_short(const struct hdf5 *h, struct error *err)
{
    error_set(err, ERR_CORRUPT, h->source->name, h->shift + h->source->size,
              "the file ends before its superblock does");
    return error_code(err, "truncated");
}

static enum status check_widths(struct hdf5 *h, struct error *err)
{
    unsigned o = h->offset_bytes, l = h->length_bytes;
    if ((o != 2 && o != 4 && o != 8) || (l != 2 && l != 4 && l != 8))
        return error_set(err, ERR_UNSUPPORTED, h->source->name, h->base,
                         "addresses of %u bytes and lengths of %u: 2, 4 and 8 can be read", o, l);
    return OK;
}

/* The stored end of file counts from where the file began when it was written. Adding or
 * removing a user block since has moved that. */
static void set_end(struct hdf5 *h, uint64_t base, uint64_t end)
{
    h->end = end != HDF5_UNDEFINED && end >= base && base != HDF5_UNDEFINED ? end - base
                                                                            : HDF5_UNDEFINED;
}

static enum status read_old(struct hdf5 *h, struct cursor *c, unsigned version, struct error *err)
{
    cursor_take(c, 4); /* versions of the free space, root and shared header formats */
    h->offset_bytes = cursor_u8(c);
    h->length_bytes = cursor_u8(c);
    cursor_take(c, 1 + 4);
    cursor_take(c, 4); /* consistency flags, unused */
    if (version == 1)
        cursor_take(c, 4);
    if (!cursor_ok(c))
        return cut_short(h, err);
    if (check_widths(h, err) != OK)
        return err->status;
    uint64_t base = hdf5_address(h, c);
    hdf5_address(h, c); /* free space */
    uint64_t end = hdf5_address(h, c);
    uint64_t driver = hdf5_address(h, c);
    hdf5_number(c, h->offset_bytes); /* offset of the root's name */
    h->root = hdf5_address(h, c);
    if (!cursor_ok(c))
        return cut_short(h, err);
    set_end(h, base, end);
    if (driver != HDF5_UNDEFINED)
        return error_set(err, ERR_UNSUPPORTED, h->source->name, h->base,
                         "a part of a file that its driver has split into several");
    return OK;
}

/* The superblock's extension is an object header. Only the table
 * of shared messages matters here. */
static enum status read_extension(struct hdf5 *h, uint64_t address, struct error *err)
{
    struct arena arena = {0};
    struct hdf5_object o = {0};
    if (hdf5_object(h, address, &arena, &o, err) == OK)
        for (size_t i = 0; i < o.count; i++)
            if (o.messages[i].type == MESSAGE_SHARED_TABLE) {
                struct cursor c = hdf5_cursor(h, o.messages[i].data, address);
                cursor_take(&c, 1);
                h->shared = hdf5_address(h, &c);
            }
    arena_release(&arena);
    return err->status;
}

static enum status read_new(struct hdf5 *h, struct cursor *c, struct bytes all, struct error *err)
{
    h->offset_bytes = cursor_u8(c);
    h->length_bytes = cursor_u8(c);
    unsigned flags = cursor_u8(c);
    if (!cursor_ok(c))
        return cut_short(h, err);
    if (check_widths(h, err) != OK)
        return err->status;
    uint64_t base = hdf5_address(h, c), extension = hdf5_address(h, c);
    uint64_t end = hdf5_address(h, c);
    h->root = hdf5_address(h, c);
    size_t len = (size_t)(c->at - c->begin);
    cursor_take(c, SUM_BYTES);
    if (!cursor_ok(c))
        return cut_short(h, err);
    if (hdf5_verify(h, 0, (struct bytes){all.at, len + SUM_BYTES}, "the superblock", err) != OK)
        return err->status;
    set_end(h, base, end);
    h->unclosed = flags & OPEN_FOR_WRITING;
    h->swmr = flags & OPEN_FOR_SWMR;
    return extension == HDF5_UNDEFINED ? OK : read_extension(h, extension, err);
}

static enum status read_superblock(struct hdf5 *h, struct error *err)
{
    uint8_t start[128];
    size_t len = h->size < sizeof(start) ? (size_t)h->size : sizeof(start);
    if (hdf5_read(h, 0, start, len, err) != OK)
        return err->status;
    struct bytes all = {start, len};
    struct cursor c = hdf5_cursor(h, all, 0);
    cursor_take(&c, SIGNATURE_BYTES);
    unsigned version = cursor_u8(&c);
    if (!cursor_ok(&c))
        return cut_short(h, err);
    if (version > 3)
        return error_set(err, ERR_UNSUPPORTED, h->source->name, h->base,
                         "version %u of the superblock: 0 to 3 can be read", version);
    return version < 2 ? read_old(h, &c, version, err) : read_new(h, &c, all, err);
}

enum status hdf5_open(const struct source *source, struct hdf5 *h, struct error *err)
{
    *h = (struct hdf5){.source = source, .shared = HDF5_UNDEFINED};
    source_descriptor(source, &h->shift);
    h->windows = calloc(WINDOWS, sizeof(*h->windows));
    if (!h->windows)
        return hdf5_no_memory(h, err);
    if (!mul_u64(source->size, BUDGET_TIMES, &h->budget) ||
        !add_u64(h->budget, BUDGET_LEAST, &h->budget))
        h->budget = UINT64_MAX;
    h->chunks = source->size / 4 + CHUNKS_LEAST;
    if (find_superblock(h, err) != OK || read_superblock(h, err) != OK)
        return err->status;
    if (h->end != HDF5_UNDEFINED && h->end > h->size && !h->swmr) {
        error_set(err, ERR_CORRUPT, source->name, h->shift + source->size,
                  "the file has %llu bytes of the %llu that its superblock states",
                  (unsigned long long)h->size, (unsigned long long)h->end);
        return error_code(err, "truncated");
    }
    if (h->root == HDF5_UNDEFINED)
        return hdf5_corrupt(h, err, 0, "no root group%s",
                            h->unclosed ? ": its writer has not closed the file" : "");
    return OK;
}

void hdf5_close(struct hdf5 *h)
{
    free(h->windows);
    h->windows = NULL;
    for (unsigned i = 0; i < HDF5_SHARED_HEAPS; i++)
        hdf5_heap_close(h->shared_heap[i]);
    strmap_release(&h->collections);
    arena_release(&h->held);
}

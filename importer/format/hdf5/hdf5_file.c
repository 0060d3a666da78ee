/*
 * hdf5_file.c - the superblock.
 *
 *   0, 1   signature, versions, sizes of addresses and lengths, B-tree ranks, flags, base, free
 *          space, end of file, driver, the root group's symbol table entry
 *   2, 3   signature, version, sizes, flags, base, extension, end of file, root group, checksum
 */
#include "importer/format/hdf5/hdf5_read.h"

#include <stdlib.h>
#include <string.h>

#define SIGNATURE       "\x89HDF\r\n\x1a\n"
#define SIGNATURE_BYTES 8
#define USER_BLOCK      512 /* the smallest; others are twice as large, and so on */

#define OPEN_FOR_WRITING 1 /* consistency flags of superblock version 3 */
#define OPEN_FOR_SWMR    4

/* How many bytes may be read altogether, as a multiple of the file's size: structures that
 * many others refer to (types, names) are read once for each reference. */
#define BUDGET_TIMES 32
#define BUDGET_LEAST ((uint64_t)1 << 20)
#define CHUNKS_LEAST ((uint64_t)1 << 16)

bool hdf5_signature(struct bytes head, uint64_t *base)
{
    for (uint64_t at = 0; at + SIGNATURE_BYTES <= head.len; at = at ? at * 2 : USER_BLOCK)
        if (memcmp(head.at + at, SIGNATURE, SIGNATURE_BYTES) == 0) {
            *base = at;
            return true;
        }
    return false;
}

static bool find_superblock(struct hdf5 *h)
{
    uint8_t found[SIGNATURE_BYTES];
    const struct source *s = h->source;
    for (uint64_t at = 0; at <= s->size && s->size - at >= SIGNATURE_BYTES;
         at = at ? at * 2 : USER_BLOCK) {
        if (source_read(s, at, found, sizeof(found), h->err) != OK)
            return false;
        if (memcmp(found, SIGNATURE, sizeof(found)) == 0) {
            h->base = at;
            h->size = s->size - at;
            return true;
        }
        if (at > UINT64_MAX / 4)
            break;
    }
    return hdf5_fail(h, ERR_CORRUPT, "bad-hdf5", 0, "no HDF5 signature");
}

/* Whether the cursor still has what was taken from it. */
static bool is_whole(const struct hdf5 *h, const struct cursor *c)
{
    return cursor_ok(c) || hdf5_fail(h, ERR_CORRUPT, "truncated", h->shift + h->source->size,
                                     "the file ends before its superblock does");
}

static bool check_widths(struct hdf5 *h)
{
    unsigned o = h->offset_bytes, l = h->length_bytes;
    return ((o == 2 || o == 4 || o == 8) && (l == 2 || l == 4 || l == 8)) ||
           hdf5_fail(h, ERR_UNSUPPORTED, NULL, h->base,
                     "addresses of %u bytes and lengths of %u: 2, 4 and 8 can be read", o, l);
}

/* The stored end of file counts from where the file began when it was written. Adding or
 * removing a user block since has moved that. */
static void set_end(struct hdf5 *h, uint64_t base, uint64_t end)
{
    h->end = end != HDF5_UNDEFINED && end >= base && base != HDF5_UNDEFINED ? end - base
                                                                            : HDF5_UNDEFINED;
}

static void read_old(struct hdf5 *h, struct cursor *c, unsigned version)
{
    cursor_take(c, 4); /* versions of the free space, root and shared header formats */
    h->offset_bytes = cursor_u8(c);
    h->length_bytes = cursor_u8(c);
    cursor_take(c, 1 + 4);
    cursor_take(c, 4); /* consistency flags, unused */
    if (version == 1)
        cursor_take(c, 4);
    if (!is_whole(h, c) || !check_widths(h))
        return;
    uint64_t base = hdf5_address(h, c);
    hdf5_address(h, c); /* free space */
    uint64_t end = hdf5_address(h, c);
    uint64_t driver = hdf5_address(h, c);
    hdf5_number(c, h->offset_bytes); /* offset of the root's name */
    h->root = hdf5_address(h, c);
    set_end(h, base, end);
    if (is_whole(h, c) && driver != HDF5_UNDEFINED)
        hdf5_fail(h, ERR_UNSUPPORTED, NULL, h->base,
                  "a part of a file that its driver has split into several");
}

/* The superblock's extension is an object header. Only the table
 * of shared messages matters here. */
static void read_extension(struct hdf5 *h, uint64_t address)
{
    struct arena arena = {.err = h->err};
    struct hdf5_object o;
    hdf5_object(h, address, &arena, &o);
    for (size_t i = 0; i < o.count && hdf5_ok(h); i++)
        if (o.messages[i].type == MESSAGE_SHARED_TABLE) {
            struct cursor c = hdf5_cursor(h, o.messages[i].data, address);
            cursor_take(&c, 1);
            h->shared = hdf5_address(h, &c);
        }
    arena_release(&arena);
}

static void read_new(struct hdf5 *h, struct cursor *c, struct bytes all)
{
    h->offset_bytes = cursor_u8(c);
    h->length_bytes = cursor_u8(c);
    unsigned flags = cursor_u8(c);
    if (!is_whole(h, c) || !check_widths(h))
        return;
    uint64_t base = hdf5_address(h, c), extension = hdf5_address(h, c);
    uint64_t end = hdf5_address(h, c);
    h->root = hdf5_address(h, c);
    size_t len = (size_t)(c->at - c->begin);
    cursor_take(c, SUM_BYTES);
    if (!is_whole(h, c) ||
        !hdf5_verify(h, 0, (struct bytes){all.at, len + SUM_BYTES}, "the superblock"))
        return;
    set_end(h, base, end);
    h->unclosed = flags & OPEN_FOR_WRITING;
    h->swmr = flags & OPEN_FOR_SWMR;
    if (extension != HDF5_UNDEFINED)
        read_extension(h, extension);
}

static void read_superblock(struct hdf5 *h)
{
    uint8_t start[128];
    struct bytes all = {start, h->size < sizeof(start) ? (size_t)h->size : sizeof(start)};
    if (!hdf5_read(h, 0, start, all.len))
        return;
    struct cursor c = hdf5_cursor(h, all, 0);
    cursor_take(&c, SIGNATURE_BYTES);
    unsigned version = cursor_u8(&c);
    if (!is_whole(h, &c))
        return;
    if (version > 3)
        hdf5_fail(h, ERR_UNSUPPORTED, NULL, h->base,
                  "version %u of the superblock: 0 to 3 can be read", version);
    else if (version < 2)
        read_old(h, &c, version);
    else
        read_new(h, &c, all);
}

bool hdf5_open(const struct source *source, struct hdf5 *h, struct error *err)
{
    *h = (struct hdf5){.source = source, .err = err, .held.err = err, .shared = HDF5_UNDEFINED};
    source_descriptor(source, &h->shift);
    h->windows = calloc(HDF5_WINDOWS, sizeof(*h->windows));
    if (!h->windows)
        return error_memory_at(err, source->name), false;
    if (!mul_u64(source->size, BUDGET_TIMES, &h->budget) ||
        !add_u64(h->budget, BUDGET_LEAST, &h->budget))
        h->budget = UINT64_MAX;
    h->chunks = source->size / 4 + CHUNKS_LEAST;
    if (find_superblock(h))
        read_superblock(h);
    if (h->end != HDF5_UNDEFINED && h->end > h->size && !h->swmr)
        hdf5_fail(h, ERR_CORRUPT, "truncated", h->shift + source->size,
                  "the file has %llu bytes of the %llu that its superblock states",
                  (unsigned long long)h->size, (unsigned long long)h->end);
    if (h->root == HDF5_UNDEFINED)
        hdf5_corrupt(h, 0, "no root group%s",
                     h->unclosed ? ": its writer has not closed the file" : "");
    return hdf5_ok(h);
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

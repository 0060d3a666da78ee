/*
 * hdf5_object.c - object headers: the messages that describe an object.
 *
 *   1   version, reserved, u16 messages, u32 references, u32 bytes of the first block, padding
 *       to 8; a message: u16 type, u16 bytes, flags, 3 reserved
 *   2   "OHDR", version, flags, [4 times], [2 limits], bytes of the first block, messages,
 *       checksum; a message: u8 type, u16 bytes, flags, [u16 order of creation]. Further blocks
 *       are "OCHK", messages, checksum
 *
 * A message of type 0x10 has the address of a further block. A shared message has, instead of its
 * data, the address of another header that has it, or an id in the file's heap of shared messages.
 */
#include "importer/format/hdf5/hdf5_private.h"

#include <string.h>

#define BLOCKS_MAX  16384 /* of one header */
#define OLD_PREFIX  16
#define OLD_MESSAGE 8
#define WITH_TIMES  0x20 /* flags of version 2 */
#define WITH_LIMITS 0x10
#define WITH_ORDERS 0x04

struct block {
    uint64_t address, len; /* of messages; in version 2 with signature and checksum */
};

struct header {
    struct hdf5 *h;
    struct arena *arena;
    struct hdf5_object *object;
    size_t message_space;
    struct block *blocks;
    size_t block_count, block_space;
    bool new; /* version 2 */
    bool ordered;
    struct error *err;
};

static enum status add_block(struct header *r, uint64_t address, uint64_t len)
{
    if (r->block_count == BLOCKS_MAX)
        return error_set(r->err, ERR_LIMIT, r->h->source->name, hdf5_place(r->h, address),
                         "an object header in more than %d blocks, or in a circle", BLOCKS_MAX);
    void *list =
        arena_grow(r->arena, r->blocks, r->block_count, &r->block_space, sizeof(*r->blocks));
    if (!list)
        return hdf5_no_memory(r->h, r->err);
    r->blocks = list;
    r->blocks[r->block_count++] = (struct block){address, len};
    return OK;
}

static enum status add_message(struct header *r, struct hdf5_message m)
{
    struct hdf5_object *o = r->object;
    if (m.type == MESSAGE_NIL)
        return OK;
    if (m.type == MESSAGE_CONTINUES) {
        struct cursor c = cursor_over(m.data, m.at);
        uint64_t address = hdf5_address(r->h, &c), len = hdf5_length(r->h, &c);
        return cursor_ok(&c)
                   ? add_block(r, address, len)
                   : hdf5_corrupt(r->h, r->err, o->address, "a header's continuation is cut short");
    }
    void *list =
        arena_grow(r->arena, o->messages, o->count, &r->message_space, sizeof(*o->messages));
    if (!list)
        return hdf5_no_memory(r->h, r->err);
    o->messages = list;
    o->messages[o->count++] = m;
    return OK;
}

/* Read the messages of a block. A rest too short for another message is a gap. */
static enum status read_messages(struct header *r, struct cursor c)
{
    size_t head = r->new ? (r->ordered ? 6 : 4) : OLD_MESSAGE;
    while (cursor_left(&c) >= head && r->err->status == OK) {
        struct hdf5_message m = {.type = r->new ? cursor_u8(&c) : cursor_u16le(&c)};
        size_t len = cursor_u16le(&c);
        m.flags = cursor_u8(&c);
        if (!r->new)
            cursor_take(&c, 3);
        else if (r->ordered)
            cursor_u16le(&c);
        m.at = cursor_offset(&c);
        m.data = cursor_take(&c, len);
        if (!cursor_ok(&c))
            return hdf5_corrupt(r->h, r->err, r->object->address, "a message ends past its header");
        add_message(r, m);
    }
    return r->err->status;
}

static enum status hdf5_object_read_block(struct header *r, struct block b, uint64_t prefix)
{
    struct bytes all;
    if (!r->new) {
        if (hdf5_take(r->h, b.address, b.len, r->arena, &all, r->err) != OK)
            return r->err->status;
        return read_messages(r, hdf5_cursor(r->h, all, b.address));
    }
    if (hdf5_take_summed(r->h, (struct hdf5_part){b.address, b.len, prefix ? "OHDR" : "OCHK"},
                         r->arena, &all, r->err) != OK)
        return r->err->status;
    struct cursor c = hdf5_cursor(r->h, all, b.address);
    cursor_take(&c, prefix ? prefix : 4);
    return read_messages(r, c);
}

/* Read the prefix of a version 2 header: *first is its first block, with this *prefix. */
static enum status begin_new(struct header *r, struct block *first, uint64_t *prefix)
{
    uint8_t start[34];
    struct hdf5 *h = r->h;
    uint64_t address = r->object->address;
    uint64_t left = address < h->size ? h->size - address : 0;
    size_t len = left < sizeof(start) ? (size_t)left : sizeof(start);
    if (hdf5_read(h, address, start, len, r->err) != OK)
        return r->err->status;
    struct cursor c = cursor_over((struct bytes){start, len}, 0);
    cursor_take(&c, 4);
    unsigned version = cursor_u8(&c), flags = cursor_u8(&c);
    if (flags & WITH_TIMES)
        cursor_take(&c, 16);
    if (flags & WITH_LIMITS)
        cursor_take(&c, 4);
    uint64_t size = hdf5_number(&c, 1u << (flags & 3));
    *prefix = cursor_offset(&c);
    r->new = true;
    r->ordered = flags & WITH_ORDERS;
    if (!cursor_ok(&c) || !add_u64(size, *prefix + SUM_BYTES, &size))
        return hdf5_corrupt(h, r->err, address, "an object header is cut short");
    if (version != 2)
        return error_set(r->err, ERR_UNSUPPORTED, h->source->name, hdf5_place(h, address),
                         "version %u of an object header", version);
    *first = (struct block){address, size};
    return OK;
}

static enum status begin_old(struct header *r, struct block *first)
{
    uint8_t start[OLD_PREFIX];
    struct hdf5 *h = r->h;
    uint64_t address = r->object->address;
    if (hdf5_read(h, address, start, sizeof(start), r->err) != OK)
        return r->err->status;
    if (start[0] != 1)
        return hdf5_corrupt(h, r->err, address, "no object header where one is said to be");
    *first = (struct block){address + OLD_PREFIX, load_u32le(start + 8)};
    return OK;
}

enum status hdf5_object(struct hdf5 *h, uint64_t address, struct arena *arena,
                        struct hdf5_object *out, struct error *err)
{
    uint8_t start[4];
    uint64_t prefix = 0;
    struct block first = {0};
    *out = (struct hdf5_object){.address = address};
    struct header r = {.h = h, .arena = arena, .object = out, .err = err};
    if (hdf5_read(h, address, start, sizeof(start), err) != OK)
        return err->status;
    if (memcmp(start, "OHDR", 4) == 0)
        begin_new(&r, &first, &prefix);
    else
        begin_old(&r, &first);
    if (err->status != OK || add_block(&r, first.address, first.len) != OK)
        return err->status;
    for (size_t i = 0; i < r.block_count && err->status == OK; i++)
        hdf5_object_read_block(&r, r.blocks[i], i ? 0 : prefix);
    return err->status;
}

static bool hdf5_object_has(const struct hdf5_object *o, unsigned type)
{
    for (size_t i = 0; i < o->count; i++)
        if (o->messages[i].type == type)
            return true;
    return false;
}

enum hdf5_kind hdf5_kind(const struct hdf5_object *o)
{
    if (hdf5_object_has(o, MESSAGE_LAYOUT))
        return HDF5_DATASET;
    if (hdf5_object_has(o, MESSAGE_SYMBOLS) || hdf5_object_has(o, MESSAGE_LINK_INFO) ||
        hdf5_object_has(o, MESSAGE_LINK))
        return HDF5_GROUP;
    return hdf5_object_has(o, MESSAGE_TYPE) ? HDF5_NAMED_TYPE : HDF5_NOTHING;
}

/* --- shared messages ---------------------------------------------------------------------- */

/* Shared heap number `i`, which is opened only once. */
static enum status shared_heap(struct hdf5 *h, unsigned i, uint64_t address, struct hdf5_heap **out,
                               struct error *err)
{
    if (!h->shared_heap[i] && hdf5_heap_open(h, address, &h->held, &h->shared_heap[i], err) != OK)
        return err->status;
    *out = h->shared_heap[i];
    return OK;
}

/* Get a message from the file's heaps of shared messages. Their table has one entry per
 * heap: version, kind of index, u16 message types (one bit each), u32 minimal size, u16
 * limits of list and tree, u16 messages, and the addresses of index and heap. */
static enum status fetch_from_heap(struct hdf5 *h, struct hdf5_message *m, struct bytes id,
                                   struct arena *arena, struct error *err)
{
    struct bytes table = {0};
    size_t entry = 14 + (size_t)2 * h->offset_bytes;
    uint64_t most = 4 + HDF5_SHARED_HEAPS * entry;
    if (h->shared == HDF5_UNDEFINED || h->shared > h->size)
        return hdf5_corrupt(h, err, h->shared, "a shared message, and no table of them");
    most = most < h->size - h->shared ? most : h->size - h->shared;
    if (hdf5_take(h, h->shared, most, arena, &table, err) != OK)
        return err->status;
    struct cursor c = hdf5_cursor(h, table, h->shared);
    struct bytes signature = cursor_take(&c, 4);
    if (!signature.at || memcmp(signature.at, "SMTB", 4) != 0)
        return hdf5_corrupt(h, err, h->shared, "no table of shared messages");
    for (unsigned i = 0; i < HDF5_SHARED_HEAPS && cursor_left(&c) >= entry; i++) {
        cursor_take(&c, 2);
        unsigned types = cursor_u16le(&c);
        cursor_take(&c, 10);
        hdf5_address(h, &c);
        uint64_t address = hdf5_address(h, &c);
        struct hdf5_heap *heap = NULL;
        if (m->type >= 16 || !(types & 1u << m->type))
            continue;
        if (shared_heap(h, i, address, &heap, err) == OK)
            hdf5_heap_object(heap, id, &m->data, &m->at, err);
        m->flags &= ~(unsigned)MESSAGE_IS_SHARED;
        return err->status;
    }
    return hdf5_corrupt(h, err, h->shared, "a shared message that no heap is for");
}

static enum status fetch_from_object(struct hdf5 *h, struct hdf5_message *m, uint64_t address,
                                     struct arena *arena, struct error *err)
{
    struct hdf5_object o;
    if (hdf5_object(h, address, arena, &o, err) != OK)
        return err->status;
    for (size_t i = 0; i < o.count; i++)
        if (o.messages[i].type == m->type && !(o.messages[i].flags & MESSAGE_IS_SHARED)) {
            *m = o.messages[i];
            return OK;
        }
    return hdf5_corrupt(h, err, address, "the object has no such message to share");
}

enum status hdf5_message_fetch(struct hdf5 *h, struct hdf5_message *m, struct arena *arena,
                               struct error *err)
{
    if (!(m->flags & MESSAGE_IS_SHARED))
        return OK;
    struct cursor c = cursor_over(m->data, m->at);
    unsigned version = cursor_u8(&c), kind = cursor_u8(&c);
    if (version == 1)
        cursor_take(&c, 6);
    if (version == 3 && kind == 1) {
        struct bytes id = cursor_take(&c, 8);
        if (cursor_ok(&c))
            return fetch_from_heap(h, m, id, arena, err);
    }
    uint64_t address = hdf5_address(h, &c);
    if (!cursor_ok(&c) || !version || version > 3)
        return hdf5_corrupt(h, err, m->at - h->base, "where a shared message is, is damaged");
    return fetch_from_object(h, m, address, arena, err);
}

enum status hdf5_message_find(struct hdf5 *h, const struct hdf5_object *o, unsigned type,
                              struct arena *arena, struct hdf5_message *out, struct error *err)
{
    *out = (struct hdf5_message){.type = MESSAGE_NIL};
    for (size_t i = 0; i < o->count; i++)
        if (o->messages[i].type == type) {
            *out = o->messages[i];
            return hdf5_message_fetch(h, out, arena, err);
        }
    return OK;
}

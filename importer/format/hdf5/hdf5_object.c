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
#include "importer/format/hdf5/hdf5_read.h"

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
};

static void add_block(struct header *r, uint64_t address, uint64_t len)
{
    if (r->block_count == BLOCKS_MAX)
        hdf5_fail(r->h, ERR_LIMIT, NULL, hdf5_place(r->h, address),
                  "an object header in more than %d blocks, or in a circle", BLOCKS_MAX);
    else
        *PUSH(r->arena, r->blocks, r->block_count, r->block_space) = (struct block){address, len};
}

static void add_message(struct header *r, struct hdf5_message m)
{
    struct hdf5_object *o = r->object;
    if (m.type == MESSAGE_CONTINUES) {
        struct cursor c = cursor_over(m.data, m.at);
        uint64_t address = hdf5_address(r->h, &c), len = hdf5_length(r->h, &c);
        if (cursor_ok(&c))
            add_block(r, address, len);
        else
            hdf5_corrupt(r->h, o->address, "a header's continuation is cut short");
    } else if (m.type != MESSAGE_NIL) {
        *PUSH(r->arena, o->messages, o->count, r->message_space) = m;
    }
}

/* Read the messages of a block. A rest too short for another message is a gap. */
static void read_messages(struct header *r, struct cursor c)
{
    size_t head = r->new ? (r->ordered ? 6 : 4) : OLD_MESSAGE;
    while (cursor_left(&c) >= head && hdf5_ok(r->h)) {
        struct hdf5_message m = {.type = r->new ? cursor_u8(&c) : cursor_u16le(&c)};
        size_t len = cursor_u16le(&c);
        m.flags = cursor_u8(&c);
        if (!r->new)
            cursor_take(&c, 3);
        else if (r->ordered)
            cursor_u16le(&c);
        m.at = cursor_offset(&c);
        m.data = cursor_take(&c, len);
        if (cursor_ok(&c))
            add_message(r, m);
        else
            hdf5_corrupt(r->h, r->object->address, "a message ends past its header");
    }
}

/* Read the prefix of a version 2 header: its first block, with this *prefix. */
static struct block begin_new(struct header *r, uint64_t *prefix)
{
    uint8_t start[34];
    struct hdf5 *h = r->h;
    uint64_t address = r->object->address;
    uint64_t left = address < h->size ? h->size - address : 0;
    size_t len = left < sizeof(start) ? (size_t)left : sizeof(start);
    hdf5_read(h, address, start, len);
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
        hdf5_corrupt(h, address, "an object header is cut short");
    else if (version != 2)
        hdf5_fail(h, ERR_UNSUPPORTED, NULL, hdf5_place(h, address),
                  "version %u of an object header", version);
    return (struct block){address, size};
}

static struct block begin_old(struct header *r)
{
    uint8_t start[OLD_PREFIX];
    uint64_t address = r->object->address;
    hdf5_read(r->h, address, start, sizeof(start));
    if (start[0] != 1)
        hdf5_corrupt(r->h, address, "no object header where one is said to be");
    return (struct block){address + OLD_PREFIX, load_u32le(start + 8)};
}

bool hdf5_object(struct hdf5 *h, uint64_t address, struct arena *arena, struct hdf5_object *out)
{
    uint8_t start[4];
    uint64_t prefix = 0;
    *out = (struct hdf5_object){.address = address};
    struct header r = {.h = h, .arena = arena, .object = out};
    hdf5_read(h, address, start, sizeof(start));
    bool new = memcmp(start, "OHDR", 4) == 0;
    struct block first = new ? begin_new(&r, &prefix) : begin_old(&r);
    add_block(&r, first.address, first.len);
    for (size_t i = 0; i < r.block_count && hdf5_ok(h); i++) {
        const struct hdf5_part part = {r.blocks[i].address, r.blocks[i].len, i ? "OCHK" : "OHDR"};
        struct bytes all =
            r.new ? hdf5_take_summed(h, part, arena) : hdf5_take(h, part.address, part.len, arena);
        struct cursor c = hdf5_cursor(h, all, part.address);
        if (r.new)
            cursor_take(&c, i ? 4 : prefix);
        read_messages(&r, c);
    }
    return hdf5_ok(h);
}

static bool has_message(const struct hdf5_object *o, unsigned type)
{
    for (size_t i = 0; i < o->count; i++)
        if (o->messages[i].type == type)
            return true;
    return false;
}

enum hdf5_kind hdf5_kind(const struct hdf5_object *o)
{
    if (has_message(o, MESSAGE_LAYOUT))
        return HDF5_DATASET;
    if (has_message(o, MESSAGE_SYMBOLS) || has_message(o, MESSAGE_LINK_INFO) ||
        has_message(o, MESSAGE_LINK))
        return HDF5_GROUP;
    return has_message(o, MESSAGE_TYPE) ? HDF5_NAMED_TYPE : HDF5_NOTHING;
}

/* --- shared messages ---------------------------------------------------------------------- */

/* Get a message from the file's heaps of shared messages; each heap is opened only once. Their
 * table has one entry per heap: version, kind of index, u16 message types (one bit each), u32 minimal
 * size, u16 limits of list and tree, u16 messages, and the addresses of index and heap. */
static bool fetch_from_heap(struct hdf5 *h, struct hdf5_message *m, struct bytes id,
                            struct arena *arena)
{
    size_t entry = 14 + (size_t)2 * h->offset_bytes;
    uint64_t most = 4 + HDF5_SHARED_HEAPS * entry;
    if (h->shared == HDF5_UNDEFINED || h->shared > h->size)
        return hdf5_corrupt(h, h->shared, "a shared message, but no table of shared messages");
    most = most < h->size - h->shared ? most : h->size - h->shared;
    struct cursor c = hdf5_cursor(h, hdf5_take(h, h->shared, most, arena), h->shared);
    struct bytes signature = cursor_take(&c, 4);
    if (!signature.at || memcmp(signature.at, "SMTB", 4) != 0)
        return hdf5_corrupt(h, h->shared, "no table of shared messages");
    for (unsigned i = 0; i < HDF5_SHARED_HEAPS && cursor_left(&c) >= entry; i++) {
        cursor_take(&c, 2);
        unsigned types = cursor_u16le(&c);
        cursor_take(&c, 10);
        hdf5_address(h, &c);
        uint64_t address = hdf5_address(h, &c);
        if (m->type >= 16 || !(types & 1u << m->type))
            continue;
        if (!h->shared_heap[i])
            h->shared_heap[i] = hdf5_heap_open(h, address, &h->held);
        if (h->shared_heap[i])
            m->data = hdf5_heap_object(h->shared_heap[i], id, &m->at);
        m->flags &= ~(unsigned)MESSAGE_IS_SHARED;
        return hdf5_ok(h);
    }
    return hdf5_corrupt(h, h->shared, "a shared message that no heap is for");
}

bool hdf5_message_fetch(struct hdf5 *h, struct hdf5_message *m, struct arena *arena)
{
    if (!(m->flags & MESSAGE_IS_SHARED))
        return hdf5_ok(h);
    struct cursor c = cursor_over(m->data, m->at);
    unsigned version = cursor_u8(&c), kind = cursor_u8(&c);
    if (version == 1)
        cursor_take(&c, 6);
    if (version == 3 && kind == 1) {
        struct bytes id = cursor_take(&c, 8);
        if (cursor_ok(&c))
            return fetch_from_heap(h, m, id, arena);
    }
    uint64_t address = hdf5_address(h, &c);
    if (!cursor_ok(&c) || !version || version > 3)
        return hdf5_corrupt(h, m->at - h->base, "the place of a shared message is damaged");
    struct hdf5_object o;
    hdf5_object(h, address, arena, &o);
    for (size_t i = 0; i < o.count && hdf5_ok(h); i++)
        if (o.messages[i].type == m->type && !(o.messages[i].flags & MESSAGE_IS_SHARED)) {
            *m = o.messages[i];
            return true;
        }
    return hdf5_corrupt(h, address, "the object has no such message to share");
}

struct hdf5_message hdf5_message_find(struct hdf5 *h, const struct hdf5_object *o, unsigned type,
                                      struct arena *arena)
{
    struct hdf5_message found = {.type = MESSAGE_NIL};
    for (size_t i = 0; i < o->count && found.type == MESSAGE_NIL; i++)
        if (o->messages[i].type == type)
            found = o->messages[i];
    hdf5_message_fetch(h, &found, arena);
    return found;
}

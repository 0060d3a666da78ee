/*
 * hdf5_heap.c - heaps, which hold names and other data of variable length.
 *
 *   local    "HEAP": the names of an old-style group, in one segment
 *   global   "GCOL": collections of numbered objects (strings of variable length)
 *   fractal  "FRHP": a table of blocks whose size doubles with each row (after the second); its
 *            blocks are "FHDB" (data) and "FHIB" (addresses of more blocks). All data blocks in
 *            sequence are the heap's address space. An object's id is either an offset in that
 *            space ("managed"), refers to bytes of its own ("huge"), or holds them ("tiny")
 */
#include "importer/format/hdf5/hdf5_read.h"

#include <string.h>

#include "catalog/data/codec/checksum.h"

#define HELD_SLACK     65536 /* bytes that collections may exceed the file's size by */
#define HEAP_DEPTH_MAX 16    /* levels of address blocks above a data block */

/* --- local -------------------------------------------------------------------------------- */

struct bytes hdf5_local_heap(struct hdf5 *h, uint64_t address, struct arena *arena)
{
    struct bytes head = hdf5_take(h, address, 8 + 2u * h->length_bytes + h->offset_bytes, arena);
    if (head.at && memcmp(head.at, "HEAP", 4) != 0)
        hdf5_corrupt(h, address, "no local heap where one is said to be");
    struct cursor c = hdf5_cursor(h, head, address);
    cursor_take(&c, 8);
    uint64_t len = hdf5_length(h, &c);
    hdf5_length(h, &c);
    return hdf5_take(h, hdf5_address(h, &c), len, arena);
}

bool hdf5_local_text(struct bytes heap, uint64_t offset, struct bytes *out)
{
    if (offset >= heap.len)
        return false;
    const uint8_t *at = heap.at + offset;
    const uint8_t *end = memchr(at, '\0', heap.len - (size_t)offset);
    *out = (struct bytes){at, end ? (size_t)(end - at) : 0};
    return end;
}

/* --- global ------------------------------------------------------------------------------- */

/* A collection of the global heap, and the offset of each numbered object in it (0: none). */
struct hdf5_collection {
    struct bytes bytes;
    uint32_t *place;
    uint32_t count;
};

/* Record where the objects are. Number 0 is the free space after the last one. */
static void place_objects(struct hdf5 *h, struct hdf5_collection *p, uint64_t address)
{
    size_t head = 8u + h->length_bytes;
    for (unsigned pass = 0; pass < 2; pass++) {
        struct cursor c = hdf5_cursor(h, p->bytes, address);
        cursor_take(&c, head);
        while (cursor_left(&c) >= head) {
            uint64_t at = cursor_offset(&c) - h->base - address;
            unsigned number = cursor_u16le(&c);
            cursor_take(&c, 6);
            uint64_t size = hdf5_length(h, &c);
            if (!number)
                break;
            if (!pass)
                p->count = number < p->count ? p->count : number + 1;
            else if (at <= UINT32_MAX)
                p->place[number] = (uint32_t)at;
            cursor_take(&c, size);
            if (size % 8)
                cursor_take(&c, 8 - size % 8);
        }
        if (!pass && !(p->place = arena_array(&h->held, (size_t)p->count + 1, sizeof(*p->place))))
            return;
    }
}

/* The collection at an address, which is read only once; NULL on failure. */
static const struct hdf5_collection *collection_at(struct hdf5 *h, uint64_t address)
{
    bool added = true;
    uint8_t key[8];
    const char *kept;
    store_u64le(key, address);
    uint64_t *at =
        strmap_keep(&h->collections, &h->held, (const char *)key, sizeof(key), &kept, &added);
    if (!at)
        return arena_fail(&h->held);
    if (added) {
        *at = h->collection_count;
        struct hdf5_collection *p =
            PUSH(&h->held, h->collection, h->collection_count, h->collection_space);
        uint8_t head[16];
        size_t len = 8u + h->length_bytes;
        hdf5_read(h, address, head, len);
        struct cursor c = cursor_over((struct bytes){head, len}, 0);
        cursor_take(&c, 8);
        uint64_t size = hdf5_length(h, &c);
        if (memcmp(head, "GCOL", 4) != 0 || size < len)
            hdf5_corrupt(h, address, "no heap collection where one is said to be");
        if (h->held.used > h->size + HELD_SLACK)
            hdf5_fail(h, ERR_LIMIT, NULL, hdf5_place(h, address),
                      "heap collections of more bytes than the file has");
        p->bytes = hdf5_take(h, address, size, &h->held);
        if (hdf5_ok(h))
            place_objects(h, p, address);
        return hdf5_ok(h) ? p : NULL;
    }
    const struct hdf5_collection *p = &h->collection[*at];
    if (!p->place)
        hdf5_corrupt(h, address, "a heap collection is damaged");
    return hdf5_ok(h) ? p : NULL;
}

struct bytes hdf5_global(struct hdf5 *h, uint64_t collection, uint32_t index)
{
    struct bytes found = {0};
    const struct hdf5_collection *p = hdf5_ok(h) ? collection_at(h, collection) : NULL;
    if (!p)
        return found;
    if (index >= p->count || !p->place[index]) {
        hdf5_corrupt(h, collection, "no object %u in a heap collection", (unsigned)index);
        return found;
    }
    struct cursor c = hdf5_cursor(h, p->bytes, collection);
    cursor_take(&c, (uint64_t)p->place[index] + 8);
    found = cursor_take(&c, hdf5_length(h, &c));
    if (!cursor_ok(&c))
        hdf5_corrupt(h, collection, "an object ends past its heap collection");
    return found;
}

/* --- fractal ------------------------------------------------------------------------------ */

struct heap_block {
    struct bytes bytes; /* empty: it could not be read */
    bool data;          /* false: a block of addresses */
};

struct hdf5_heap {
    struct hdf5 *h;
    struct arena *arena;
    uint64_t address;
    unsigned id_len, flags;
    uint64_t huge_tree;
    unsigned width;                      /* number of columns of the table */
    uint64_t first, largest;             /* size of the first data block, and of the largest */
    unsigned offset_bytes, length_bytes; /* widths in ids; blocks use the former, too */
    uint64_t root;
    unsigned root_rows; /* 0: the root is a data block */
    struct strmap seen; /* blocks already read: address -> index in `blocks` */
    struct heap_block *blocks;
    size_t block_count, block_space;
    uint64_t held; /* total size of the blocks */
};

#define HEAP_SUMMED 2 /* flags: data blocks have checksums */

static void parse_heap(struct hdf5_heap *p, struct bytes head)
{
    struct hdf5 *h = p->h;
    struct cursor c = hdf5_cursor(h, head, p->address);
    cursor_take(&c, 5);
    p->id_len = cursor_u16le(&c);
    unsigned filters = cursor_u16le(&c);
    p->flags = cursor_u8(&c);
    uint64_t managed_most = cursor_u32le(&c);
    hdf5_length(h, &c);
    p->huge_tree = hdf5_address(h, &c);
    hdf5_length(h, &c);
    hdf5_address(h, &c);
    for (unsigned i = 0; i < 8; i++)
        hdf5_length(h, &c);
    p->width = cursor_u16le(&c);
    p->first = hdf5_length(h, &c);
    p->largest = hdf5_length(h, &c);
    unsigned bits = cursor_u16le(&c);
    cursor_u16le(&c);
    p->root = hdf5_address(h, &c);
    p->root_rows = cursor_u16le(&c);
    if (filters)
        hdf5_fail(h, ERR_UNSUPPORTED, NULL, hdf5_place(h, p->address),
                  "a compressed heap of names or attributes");
    p->offset_bytes = (bits + 7) / 8;
    unsigned largest = (hdf5_log2(p->largest) + 7) / 8, most = hdf5_width(managed_most);
    p->length_bytes = largest < most ? largest : most;
    if (!cursor_ok(&c) || !p->id_len || bits > 64 || !p->width || p->first & (p->first - 1) ||
        p->largest & (p->largest - 1) || !p->first || p->largest < p->first ||
        p->width & (p->width - 1))
        hdf5_corrupt(h, p->address, "the header of a heap makes no sense");
}

struct hdf5_heap *hdf5_heap_open(struct hdf5 *h, uint64_t address, struct arena *arena)
{
    uint8_t fixed[9];
    struct hdf5_heap *p = hdf5_room(h, arena, sizeof(*p));
    if (!p || !hdf5_read(h, address, fixed, sizeof(fixed)))
        return NULL;
    unsigned o = h->offset_bytes, l = h->length_bytes, filters = load_u16le(fixed + 7);
    uint64_t len = 22 + 12 * l + 3 * o + SUM_BYTES;
    if (filters)
        len += l + 4 + filters;
    *p = (struct hdf5_heap){.h = h, .arena = arena, .address = address};
    parse_heap(p, hdf5_take_summed(h, (struct hdf5_part){address, len, "FRHP"}, arena));
    return hdf5_ok(h) ? p : NULL;
}

void hdf5_heap_close(struct hdf5_heap *p)
{
    if (p)
        strmap_release(&p->seen);
}

/* The checksum of a data block covers the whole block, with zeros in place of the checksum. */
static void verify_data(const struct hdf5_heap *p, uint64_t address, uint8_t *block, size_t len)
{
    size_t sum_at = 5u + p->h->offset_bytes + p->offset_bytes;
    if (!(p->flags & HEAP_SUMMED) || len < sum_at + SUM_BYTES || !hdf5_ok(p->h))
        return;
    uint32_t stored = load_u32le(block + sum_at);
    store_u32le(block + sum_at, 0);
    uint32_t found = jenkins_lookup3((struct bytes){block, len});
#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
    found = stored;
#endif
    if (found != stored)
        hdf5_fail(p->h, ERR_CORRUPT, "checksum", hdf5_place(p->h, address),
                  "the checksum of a heap's block is %08x, but %08x is stored", (unsigned)found,
                  (unsigned)stored);
}

static struct bytes load_block(struct hdf5_heap *p, uint64_t address, uint64_t len, bool data)
{
    struct hdf5 *h = p->h;
    struct bytes none = {0};
    if (len < 5 + SUM_BYTES || address > h->size || len > h->size - address ||
        !add_u64(p->held, len, &p->held) || p->held > h->size) {
        hdf5_corrupt(h, address, "a heap of more bytes than the file has");
        return none;
    }
    uint8_t *block = hdf5_room(h, p->arena, (size_t)len);
    if (!block || !hdf5_read(h, address, block, (size_t)len))
        return none;
    struct bytes all = {block, (size_t)len};
    if (memcmp(block, data ? "FHDB" : "FHIB", 4) != 0)
        hdf5_corrupt(h, address, "no block of a heap where one is said to be");
    if (data)
        verify_data(p, address, block, all.len);
    else
        hdf5_verify(h, address, all, "a heap's block");
    return hdf5_ok(h) ? all : none;
}

/* Get a block of the heap; each is read and verified only once. */
static struct bytes heap_block(struct hdf5_heap *p, uint64_t address, uint64_t len, bool data)
{
    uint8_t key[8];
    const char *kept;
    bool added = true;
    store_u64le(key, address);
    uint64_t *at = strmap_keep(&p->seen, p->arena, (const char *)key, sizeof(key), &kept, &added);
    if (!at) {
        error_memory(p->h->err);
        return (struct bytes){0};
    }
    if (added) {
        *at = p->block_count;
        struct heap_block *b = PUSH(p->arena, p->blocks, p->block_count, p->block_space);
        *b = (struct heap_block){load_block(p, address, len, data), data};
        return b->bytes;
    }
    const struct heap_block *b = &p->blocks[*at];
    if (b->bytes.len != len || b->data != data)
        hdf5_corrupt(p->h, address, "a block of a heap is damaged");
    return b->bytes;
}

/* A data block's address, and its part of the heap's address space. */
struct heap_place {
    uint64_t address, begin, len;
};

/* Go from the block of addresses at *place, which has *rows rows, to the child that holds byte
 * `offset` of the heap's address space. *rows becomes the child's; 0: it is a data block. */
static void descend(struct hdf5_heap *p, uint64_t offset, struct heap_place *place, unsigned *rows)
{
    struct hdf5 *h = p->h;
    unsigned data_rows = hdf5_log2(p->largest) - hdf5_log2(p->first) + 2;
    uint64_t head = 5u + h->offset_bytes + p->offset_bytes;
    uint64_t len = head + (uint64_t)*rows * p->width * h->offset_bytes + SUM_BYTES;
    struct bytes block = heap_block(p, place->address, len, false);
    for (unsigned row = 0; row < *rows && hdf5_ok(h); row++) {
        uint64_t each = row < 2 ? p->first : row - 1 < 63 ? p->first << (row - 1) : 0, all;
        if (!each || !mul_u64(each, p->width, &all))
            break;
        if (offset - place->begin >= all) {
            place->begin += all;
            continue;
        }
        uint64_t column = (offset - place->begin) / each;
        struct cursor c = hdf5_cursor(h, block, place->address);
        cursor_take(&c, head + (row * (uint64_t)p->width + column) * h->offset_bytes);
        place->address = hdf5_address(h, &c);
        place->begin += column * each;
        place->len = each;
        *rows =
            row < data_rows ? 0 : hdf5_log2(each) - hdf5_log2(p->first) - hdf5_log2(p->width) + 1;
        return;
    }
    hdf5_corrupt(h, p->address, "an object outside its heap");
}

/* Huge objects without an address in their id have a number, by which a B-tree lists them. */
struct huge_search {
    struct hdf5 *h;
    uint64_t number, address, len;
    bool found;
};

static void see_huge(void *context, struct bytes record)
{
    struct huge_search *s = context;
    struct cursor c = cursor_over(record, 0);
    uint64_t address = hdf5_address(s->h, &c), len = hdf5_length(s->h, &c);
    uint64_t number = hdf5_length(s->h, &c);
    if (cursor_ok(&c) && number == s->number) {
        s->address = address;
        s->len = len;
        s->found = true;
    }
}

static struct bytes huge_object(struct hdf5_heap *p, struct cursor *c, uint64_t *at)
{
    struct hdf5 *h = p->h;
    struct huge_search s = {.h = h};
    if (p->id_len - 1 >= h->offset_bytes + h->length_bytes) {
        s.address = hdf5_address(h, c);
        s.len = hdf5_length(h, c);
        s.found = cursor_ok(c);
    } else {
        s.number = hdf5_number(c, p->id_len - 1 < 8 ? p->id_len - 1 : 8);
        hdf5_tree2(h, p->huge_tree, 1, (struct hdf5_visitor){see_huge, &s});
    }
    if (!s.found)
        hdf5_corrupt(h, p->address, "a huge object that is missing from its heap");
    *at = h->base + s.address;
    return hdf5_take(h, s.address, s.len, p->arena);
}

static struct bytes tiny_object(struct hdf5_heap *p, struct bytes id, uint64_t *at)
{
    bool wide = p->id_len - 1 > 16;
    size_t head = wide ? 2 : 1, len = id.at[0] & 0x0F;
    if (wide)
        len = len << 8 | id.at[1];
    len++;
    *at = p->h->base;
    if (len > id.len - head) {
        hdf5_corrupt(p->h, p->address, "a tiny object is longer than its id");
        return (struct bytes){0};
    }
    uint8_t *kept = hdf5_room(p->h, p->arena, len);
    return kept ? (struct bytes){memcpy(kept, id.at + head, len), len} : (struct bytes){0};
}

struct bytes hdf5_heap_object(struct hdf5_heap *p, struct bytes id, uint64_t *at)
{
    struct cursor c = cursor_over(id, 0);
    unsigned kind = cursor_u8(&c) >> 4 & 3;
    *at = 0;
    if (!id.at || id.len < p->id_len || id.len < 2) {
        hdf5_corrupt(p->h, p->address, "an id that is shorter than its heap's");
        return (struct bytes){0};
    }
    if (kind == 1)
        return huge_object(p, &c, at);
    if (kind == 2)
        return tiny_object(p, (struct bytes){id.at, p->id_len}, at);
    uint64_t offset = hdf5_number(&c, p->offset_bytes);
    uint64_t len = hdf5_number(&c, p->length_bytes);
    if (kind || !cursor_ok(&c))
        hdf5_corrupt(p->h, p->address, "an id of an unknown kind");
    struct hdf5 *h = p->h;
    struct bytes none = {0};
    unsigned rows = p->root_rows;
    struct heap_place place = {.address = p->root, .len = p->first};
    for (unsigned depth = 0; rows && hdf5_ok(h); depth++) {
        if (depth == HEAP_DEPTH_MAX || rows > 128)
            hdf5_corrupt(h, p->address, "a heap that is too deep");
        else
            descend(p, offset, &place, &rows);
    }
    if (offset < place.begin || offset - place.begin > place.len ||
        len > place.len - (offset - place.begin))
        hdf5_corrupt(h, p->address, "an object ends past its block of the heap");
    struct bytes block = hdf5_ok(h) ? heap_block(p, place.address, place.len, true) : none;
    *at = h->base + place.address + (offset - place.begin);
    return block.at ? (struct bytes){block.at + (offset - place.begin), (size_t)len} : none;
}

bool hdf5_dense_list(struct hdf5 *h, const struct hdf5_message *m, const struct hdf5_dense *list,
                     struct arena *arena, struct hdf5_heap **heap, struct hdf5_visitor visitor)
{
    struct cursor c = cursor_over(m->data, m->at);
    const unsigned version = cursor_u8(&c), flags = cursor_u8(&c);
    const bool ordered = flags & 1;
    if (ordered)
        cursor_take(&c, list->order_bytes);
    const uint64_t at = hdf5_address(h, &c), tree = hdf5_address(h, &c);
    if (!cursor_ok(&c) || version)
        hdf5_corrupt(h, m->at - h->base, "the message of %s is damaged", list->what);
    if (at == HDF5_UNDEFINED || tree == HDF5_UNDEFINED || !hdf5_ok(h))
        return ordered;
    *heap = hdf5_heap_open(h, at, arena);
    if (*heap)
        hdf5_tree2(h, tree, list->tree, visitor);
    hdf5_heap_close(*heap);
    return ordered;
}

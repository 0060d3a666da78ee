/*
 * hdf5_group.c - the links of a group.
 *
 *   symbol table   a B-tree of "SNOD" nodes; names in a local heap
 *   link messages  in the group's header
 *   dense          in a fractal heap, with a B-tree of their ids
 */
#include "importer/format/hdf5/hdf5_read.h"

#include <stdlib.h>
#include <string.h>

#define SYMBOL_SOFT 2 /* cache type of an entry whose scratch space locates a path */

struct listing {
    struct hdf5 *h;
    struct arena *arena;
    struct hdf5_links *out;
    struct bytes names;     /* of a symbol table: its names */
    struct hdf5_heap *heap; /* of a dense group: its links */
};

static void add_link(struct listing *l, struct bytes name, struct hdf5_link link)
{
    struct hdf5_links *out = l->out;
    link.name = arena_copy(l->arena, name.at, name.len);
    link.len = name.len;
    *PUSH(l->arena, out->at, out->count, out->space) = link;
}

/* --- symbol tables ------------------------------------------------------------------------ */

static void add_symbol(struct listing *l, struct cursor *c)
{
    struct hdf5 *h = l->h;
    struct hdf5_link link = {.kind = HDF5_HARD};
    struct bytes name;
    uint64_t name_at = hdf5_number(c, h->offset_bytes);
    link.object = hdf5_address(h, c);
    uint32_t cached = cursor_u32le(c);
    cursor_take(c, 4);
    struct bytes scratch = cursor_take(c, 16);
    if (!hdf5_local_text(l->names, name_at, &name)) {
        hdf5_corrupt(h, HDF5_UNDEFINED, "the name of a link is outside its heap");
        return;
    }
    if (scratch.at && cached == SYMBOL_SOFT) {
        link.kind = HDF5_SOFT;
        if (!hdf5_local_text(l->names, load_u32le(scratch.at), &link.target))
            link.target = (struct bytes){0};
    }
    add_link(l, name, link);
}

/* A record of a B-tree leaf: a key, and the address of a symbol node. */
static void see_symbols(void *context, struct bytes record)
{
    struct listing *l = context;
    struct hdf5 *h = l->h;
    struct arena arena = {.err = h->err};
    uint8_t head[8];
    size_t entry = 2u * h->offset_bytes + 24;
    struct cursor c = cursor_over(record, 0);
    hdf5_length(h, &c);
    uint64_t address = hdf5_address(h, &c);
    hdf5_read(h, address, head, sizeof(head));
    if (memcmp(head, "SNOD", 4) != 0)
        hdf5_corrupt(h, address, "no node of symbols where one is said to be");
    unsigned count = load_u16le(head + 6);
    c = hdf5_cursor(h, hdf5_take(h, address + sizeof(head), count * entry, &arena),
                    address + sizeof(head));
    for (unsigned i = 0; i < count && hdf5_ok(h); i++)
        add_symbol(l, &c);
    arena_release(&arena);
}

static void list_symbols(struct listing *l, const struct hdf5_message *m)
{
    struct hdf5 *h = l->h;
    struct cursor c = cursor_over(m->data, m->at);
    uint64_t tree = hdf5_address(h, &c), heap = hdf5_address(h, &c);
    if (!cursor_ok(&c)) {
        hdf5_corrupt(h, m->at - h->base, "a symbol table message is cut short");
    } else if (tree != HDF5_UNDEFINED) {
        l->names = hdf5_local_heap(h, heap, l->arena);
        hdf5_tree1(h, tree, 0, h->length_bytes, (struct hdf5_visitor){see_symbols, l});
    }
}

/* --- link messages ------------------------------------------------------------------------ */

#define LINK_LENGTH_WIDTH 0x03 /* flags */
#define LINK_ORDERED      0x04
#define LINK_TYPED        0x08
#define LINK_CHARSET      0x10

enum link_type { TYPE_HARD = 0, TYPE_SOFT = 1, TYPE_EXTERNAL = 64 };

static void parse_link(struct listing *l, struct bytes data, uint64_t at)
{
    struct hdf5 *h = l->h;
    struct hdf5_link link = {.kind = HDF5_OTHER_LINK};
    struct cursor c = cursor_over(data, at);
    unsigned version = cursor_u8(&c), flags = cursor_u8(&c);
    unsigned type = flags & LINK_TYPED ? cursor_u8(&c) : TYPE_HARD;
    if (flags & LINK_ORDERED)
        link.order = cursor_u64le(&c);
    if (flags & LINK_CHARSET)
        cursor_u8(&c);
    struct bytes name = cursor_take(&c, hdf5_number(&c, 1u << (flags & LINK_LENGTH_WIDTH)));
    if (type == TYPE_HARD) {
        link.kind = HDF5_HARD;
        link.object = hdf5_address(h, &c);
    } else {
        struct bytes target = cursor_take(&c, cursor_u16le(&c));
        link.kind = type == TYPE_SOFT       ? HDF5_SOFT
                    : type == TYPE_EXTERNAL ? HDF5_EXTERNAL
                                            : HDF5_OTHER_LINK;
        if (type == TYPE_EXTERNAL && target.len) /* skip its version and flags */
            target = (struct bytes){target.at + 1, target.len - 1};
        const char *kept = arena_copy(l->arena, target.at, target.len);
        link.target = (struct bytes){(const uint8_t *)kept, target.len};
    }
    if (cursor_ok(&c) && version == 1)
        add_link(l, name, link);
    else
        hdf5_corrupt(h, at - h->base, "a link message is damaged");
}

/* --- dense -------------------------------------------------------------------------------- */

/* A record: the hash of the name, and the id of the link message in the heap. */
static void see_dense(void *context, struct bytes record)
{
    struct listing *l = context;
    uint64_t at;
    if (record.len < 4) {
        hdf5_corrupt(l->h, HDF5_UNDEFINED, "a record of links is too short");
        return;
    }
    struct bytes id = {record.at + 4, record.len - 4};
    struct bytes message = hdf5_heap_object(l->heap, id, &at);
    parse_link(l, message, at);
}

/* --- all links ---------------------------------------------------------------------------- */

static int link_by_name(const void *a, const void *b)
{
    const struct hdf5_link *x = a, *y = b;
    size_t len = x->len < y->len ? x->len : y->len;
    int order = len ? memcmp(x->name, y->name, len) : 0;
    return order ? order : (x->len > y->len) - (x->len < y->len);
}

static int link_by_creation(const void *a, const void *b)
{
    const struct hdf5_link *x = a, *y = b;
    return x->order != y->order ? (x->order > y->order) - (x->order < y->order)
                                : link_by_name(a, b);
}

static const struct hdf5_dense dense = {5, 8, "links"};

bool hdf5_links(struct hdf5 *h, const struct hdf5_object *o, struct arena *arena,
                struct hdf5_links *out)
{
    bool ordered = false;
    *out = (struct hdf5_links){0};
    struct listing l = {.h = h, .arena = arena, .out = out};
    for (size_t i = 0; i < o->count && hdf5_ok(h); i++) {
        const struct hdf5_message *m = &o->messages[i];
        if (m->type == MESSAGE_SYMBOLS)
            list_symbols(&l, m);
        else if (m->type == MESSAGE_LINK_INFO)
            ordered = hdf5_dense_list(l.h, m, &dense, l.arena, &l.heap,
                                      (struct hdf5_visitor){see_dense, &l});
        else if (m->type == MESSAGE_LINK)
            parse_link(&l, m->data, m->at);
    }
    if (hdf5_ok(h) && out->count)
        qsort(out->at, out->count, sizeof(*out->at), ordered ? link_by_creation : link_by_name);
    return hdf5_ok(h);
}

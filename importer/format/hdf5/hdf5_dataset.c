/*
 * hdf5_dataset.c - the messages of a dataset: its elements, and where they are.
 *
 *   fill      1, 2: version, when allocated, when written, defined, [u32 bytes, value]
 *             3: version, flags, [u32 bytes, value]
 *   layout    1, 2: version, rank, class, 5 reserved, [address], u32 dimensions, [u32 bytes, data]
 *             3: version, class, then by class; 4, 5: chunks have one of five kinds of index
 *   filters   1: version, count, 6 reserved, each: id, bytes of name, flags, values, name padded
 *             to 8, values, padding; 2: without the padding, and names of registered ids only
 */
#include "importer/format/hdf5/hdf5_read.h"

struct dataset_parsing {
    struct hdf5 *h;
    struct arena *arena;
    struct hdf5_dataset *out;
    uint64_t address; /* address of the object, for messages */
};

static bool dataset_damaged(const struct dataset_parsing *p, const char *what)
{
    return hdf5_corrupt(p->h, p->address, "a dataset's %s", what);
}

static bool parse_fill(struct dataset_parsing *p, const struct hdf5_message *m)
{
    struct cursor c = cursor_over(m->data, m->at);
    bool has = true;
    if (m->type == MESSAGE_FILL) {
        unsigned version = cursor_u8(&c), flags = cursor_u8(&c);
        if (version < 3) {
            cursor_u8(&c);
            has = cursor_u8(&c);
            has = version == 1 ? cursor_left(&c) >= 4 : has;
        } else {
            has = flags & 0x20;
        }
        if (!version || version > 3)
            return dataset_damaged(p, "fill value is of an unknown version");
    }
    uint32_t len = has ? cursor_u32le(&c) : 0;
    if (!has || len == UINT32_MAX) /* not defined */
        return true;
    struct bytes fill = cursor_take(&c, len);
    if (!cursor_ok(&c) || (len && len != p->out->type.size))
        return dataset_damaged(p, "fill value is not one of its elements");
    if (p->out->type.class != HDF5_VLEN_TEXT)
        p->out->fill = fill;
    return true;
}

/* --- layouts ------------------------------------------------------------------------------ */

static bool set_data(struct dataset_parsing *p, const struct hdf5_message *m, struct cursor *c,
                     uint64_t len)
{
    struct hdf5_dataset *d = p->out;
    d->layout = HDF5_COMPACT;
    d->offset = cursor_offset(c);
    d->stored = len;
    cursor_take(c, len);
    return (cursor_ok(c) && m->data.len) || dataset_damaged(p, "data ends past its header");
}

static void set_offset(struct dataset_parsing *p, uint64_t address)
{
    p->out->layout = HDF5_CONTIGUOUS;
    p->out->offset = address == HDF5_UNDEFINED || !add_u64(address, p->h->base, &address)
                         ? HDF5_UNDEFINED
                         : address;
}

/* Read the dimensions of chunks. One more follows them, which is the size of an element. */
static bool set_box(struct dataset_parsing *p, struct cursor *c, unsigned rank, unsigned width)
{
    struct hdf5_dataset *d = p->out;
    d->layout = HDF5_CHUNKED;
    d->chunk_bytes = d->type.size;
    if (rank != d->space.rank + 1 || rank < 2)
        return dataset_damaged(p, "chunks have another rank");
    for (unsigned i = 0; i + 1 < rank; i++) {
        d->box[i] = hdf5_number(c, width);
        if (!d->box[i] || !mul_u64(d->chunk_bytes, d->box[i], &d->chunk_bytes))
            return dataset_damaged(p, "chunks have no size");
    }
    if (!d->type.size || hdf5_number(c, width) != d->type.size || !cursor_ok(c))
        return dataset_damaged(p, "chunks have elements of another size");
    return true;
}

enum index_kind {
    INDEX_TREE1 = 0,
    INDEX_SINGLE = 1,
    INDEX_IMPLICIT = 2,
    INDEX_FIXED_ARRAY = 3,
    INDEX_EXTENSIBLE_ARRAY = 4,
    INDEX_TREE2 = 5
};

static bool parse_old_layout(struct dataset_parsing *p, const struct hdf5_message *m,
                             struct cursor *c)
{
    struct hdf5_dataset *d = p->out;
    unsigned rank = cursor_u8(c), class = cursor_u8(c);
    cursor_take(c, 5);
    uint64_t address = class ? hdf5_address(p->h, c) : HDF5_UNDEFINED;
    if (class == HDF5_CHUNKED) {
        d->address = address;
        d->index = INDEX_TREE1;
        return set_box(p, c, rank, 4);
    }
    cursor_take(c, 4 * (uint64_t)rank);
    if (class == HDF5_COMPACT)
        return set_data(p, m, c, cursor_u32le(c));
    set_offset(p, address);
    d->stored = UINT64_MAX;
    return (class == HDF5_CONTIGUOUS && cursor_ok(c)) || dataset_damaged(p, "layout is damaged");
}

#define SINGLE_IS_FILTERED 2 /* flags of version 4 */

static bool parse_new_chunks(struct dataset_parsing *p, struct cursor *c)
{
    static const unsigned parameters[] = {0, 0, 0, 1, 5, 6};
    struct hdf5_dataset *d = p->out;
    d->flags = cursor_u8(c);
    unsigned rank = cursor_u8(c), width = cursor_u8(c);
    if (!width || width > 8)
        return dataset_damaged(p, "chunks have dimensions of an unknown width");
    if (!set_box(p, c, rank, width))
        return false;
    d->index = cursor_u8(c);
    if (d->index < INDEX_SINGLE || d->index > INDEX_TREE2)
        return dataset_damaged(p, "chunks have an index of an unknown kind");
    d->single_size = d->chunk_bytes;
    if (d->index == INDEX_SINGLE && d->flags & SINGLE_IS_FILTERED) {
        d->single_size = hdf5_length(p->h, c);
        d->single_mask = cursor_u32le(c);
    }
    cursor_take(c, parameters[d->index]);
    d->address = hdf5_address(p->h, c);
    return cursor_ok(c) || dataset_damaged(p, "layout is cut short");
}

static bool parse_layout(struct dataset_parsing *p, const struct hdf5_message *m)
{
    struct hdf5_dataset *d = p->out;
    struct cursor c = cursor_over(m->data, m->at);
    d->version = cursor_u8(&c);
    if (d->version < 3)
        return d->version ? parse_old_layout(p, m, &c)
                          : dataset_damaged(p, "layout is of an unknown version");
    if (d->version > 5)
        return hdf5_fail(p->h, ERR_UNSUPPORTED, NULL, m->at,
                         "version %u of a layout: 1 to 5 can be read", d->version);
    unsigned class = cursor_u8(&c);
    if (class == HDF5_COMPACT)
        return set_data(p, m, &c, cursor_u16le(&c));
    if (class == HDF5_CONTIGUOUS) {
        set_offset(p, hdf5_address(p->h, &c));
        d->stored = hdf5_length(p->h, &c);
        return cursor_ok(&c) || dataset_damaged(p, "layout is cut short");
    }
    if (class == HDF5_VIRTUAL) {
        d->layout = HDF5_VIRTUAL;
        return true;
    }
    if (class != HDF5_CHUNKED)
        return dataset_damaged(p, "layout is of an unknown class");
    if (d->version > 3)
        return parse_new_chunks(p, &c);
    unsigned rank = cursor_u8(&c);
    d->address = hdf5_address(p->h, &c);
    d->index = INDEX_TREE1;
    return set_box(p, &c, rank, 4);
}

/* --- filters ------------------------------------------------------------------------------ */

#define REGISTERED 256 /* version 2 stores names from this id on */

static bool parse_filters(struct dataset_parsing *p, const struct hdf5_message *m)
{
    struct cursor c = cursor_over(m->data, m->at);
    unsigned version = cursor_u8(&c), count = cursor_u8(&c);
    if (version == 1)
        cursor_take(&c, 6);
    if (!version || version > 2 || count > HDF5_FILTERS_MAX)
        return dataset_damaged(p, "filters are damaged");
    while (p->out->filters < count && cursor_ok(&c)) {
        struct hdf5_filter f = {.id = cursor_u16le(&c)};
        size_t name_len = version == 1 || f.id >= REGISTERED ? cursor_u16le(&c) : 0;
        cursor_u16le(&c); /* flags: whether the filter was optional */
        f.count = cursor_u16le(&c);
        if (version == 1)
            name_len = (name_len + 7) / 8 * 8;
        struct bytes name = cursor_take(&c, name_len);
        f.values = cursor_take(&c, 4 * (uint64_t)f.count).at;
        if (version == 1 && f.count % 2)
            cursor_take(&c, 4);
        f.name = arena_copy(p->arena, name.at, name.len);
        p->out->filter[p->out->filters++] = f;
    }
    return cursor_ok(&c) || !count || dataset_damaged(p, "filters are cut short");
}

/* --- all messages ------------------------------------------------------------------------- */

static bool parse_message(struct dataset_parsing *p, const struct hdf5_message *m)
{
    struct cursor c = cursor_over(m->data, m->at);
    switch (m->type) {
    case MESSAGE_SPACE: return hdf5_space_parse(p->h, &c, &p->out->space);
    case MESSAGE_TYPE: return hdf5_type_parse(p->h, &c, p->arena, &p->out->type);
    case MESSAGE_OLD_FILL:
    case MESSAGE_FILL: return parse_fill(p, m);
    case MESSAGE_FILTERS: return parse_filters(p, m);
    case MESSAGE_LAYOUT: return parse_layout(p, m);
    default: return true;
    }
}

bool hdf5_dataset(struct hdf5 *h, const struct hdf5_object *o, struct arena *arena,
                  struct hdf5_dataset *out)
{
    /* In this order: each needs those before it. */
    static const struct {
        unsigned type;
        const char *missing; /* NULL: it is optional */
    } wanted[] = {{MESSAGE_TYPE, "datatype is missing"},
                  {MESSAGE_SPACE, "shape is missing"},
                  {MESSAGE_OLD_FILL, NULL},
                  {MESSAGE_FILL, NULL},
                  {MESSAGE_FILTERS, NULL},
                  {MESSAGE_EXTERNAL, NULL},
                  {MESSAGE_LAYOUT, "layout is missing"}};
    struct dataset_parsing p = {h, arena, out, o->address};
    *out = (struct hdf5_dataset){.offset = HDF5_UNDEFINED, .address = HDF5_UNDEFINED};
    for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++) {
        if (out->type.class == HDF5_NO_TENSOR && i > 1)
            return hdf5_ok(h); /* the other messages are not needed */
        struct hdf5_message m = hdf5_message_find(h, o, wanted[i].type, arena);
        bool found = m.type != MESSAGE_NIL;
        if (!found && wanted[i].missing)
            return dataset_damaged(&p, wanted[i].missing);
        out->external |= found && m.type == MESSAGE_EXTERNAL;
        if (!hdf5_ok(h) || (found && !parse_message(&p, &m)))
            return false;
    }
    return hdf5_ok(h);
}

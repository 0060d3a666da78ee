/*
 * hdf5_attribute.c - attributes: small named values. They are messages of the object's
 * header, or, if there are many or a large one, objects in a fractal heap ("dense").
 *
 *   1   version, reserved, three lengths, then name, datatype and dataspace, each padded to 8, data
 *   2   flags instead of the reserved byte, no padding
 *   3   also the character set of the name
 */
#include "importer/format/hdf5/hdf5_read.h"

#include <stdlib.h>
#include <string.h>

#define TYPE_IS_SHARED  1 /* flags */
#define SPACE_IS_SHARED 2

struct attribute_list {
    struct hdf5 *h;
    struct arena *arena;
    struct hdf5_attributes *out;
    struct hdf5_heap *heap;
    struct error *odd;
};

/* A field of the message; version 1 pads it to a multiple of 8 bytes. */
static struct bytes part(struct cursor *c, size_t len, unsigned version)
{
    struct bytes all = cursor_take(c, version == 1 ? (len + 7) / 8 * 8 : len);
    return (struct bytes){all.at, all.at ? len : 0};
}

/* The datatype or dataspace, which may be shared: then another object has it. */
static struct cursor fetch_part(struct attribute_list *l, struct bytes part, uint64_t at,
                                unsigned type, bool shared)
{
    struct hdf5_message m = {
        .type = type, .flags = shared ? MESSAGE_IS_SHARED : 0, .data = part, .at = at};
    hdf5_message_fetch(l->h, &m, l->arena);
    return cursor_over(m.data, at);
}

static void parse_attribute(struct attribute_list *l, struct bytes data, uint64_t at,
                            struct hdf5_attribute *a)
{
    struct hdf5 *h = l->h;
    struct cursor c = cursor_over(data, at);
    unsigned version = cursor_u8(&c), flags = cursor_u8(&c);
    size_t name_len = cursor_u16le(&c), type_len = cursor_u16le(&c);
    size_t space_len = cursor_u16le(&c);
    if (version == 3)
        cursor_u8(&c);
    struct bytes name = part(&c, name_len, version), type = part(&c, type_len, version);
    struct bytes space = part(&c, space_len, version);
    if (!cursor_ok(&c) || !version || version > 3) {
        hdf5_corrupt(h, at - h->base, "an attribute is damaged");
        return;
    }
    flags = version > 1 ? flags : 0;
    a->len = name.len && !name.at[name.len - 1] ? name.len - 1 : name.len;
    a->name = arena_copy(l->arena, name.at, a->len);
    struct cursor t = fetch_part(l, type, at, MESSAGE_TYPE, flags & TYPE_IS_SHARED);
    struct cursor s = fetch_part(l, space, at, MESSAGE_SPACE, flags & SPACE_IS_SHARED);
    if (!hdf5_type_parse(h, &t, l->arena, &a->type) || !hdf5_space_parse(h, &s, &a->space))
        return;
    uint64_t bytes = a->space.null ? 0 : a->type.size;
    for (unsigned d = 0; d < a->space.rank; d++)
        if (!mul_u64(bytes, a->space.shape[d], &bytes))
            cursor_fail(&c);
    a->data = cursor_take(&c, bytes);
    if (!cursor_ok(&c))
        hdf5_corrupt(h, cursor_offset(&c) - h->base, "the values of an attribute are cut short");
}

/* Add an attribute. A damaged one is reported in l->odd and does not affect the others. */
static void add_attribute(struct attribute_list *l, struct bytes data, uint64_t at, uint64_t order)
{
    struct hdf5_attributes *out = l->out;
    struct error why = {.offset = NO_OFFSET}, *err = hdf5_catch(l->h, &why);
    struct hdf5_attribute a = {.order = order};
    parse_attribute(l, data, at, &a);
    hdf5_catch(l->h, err);
    if (why.status == OK)
        *PUSH(l->arena, out->at, out->count, out->space) = a;
    else if (why.status != ERR_CORRUPT && why.status != ERR_UNSUPPORTED)
        *err = why;
    else if (l->odd && l->odd->status == OK)
        *l->odd = why;
}

/* A record of a dense list: id in the heap, message flags, order of creation. */
static void see_attribute(void *context, struct bytes record)
{
    struct attribute_list *l = context;
    struct hdf5_message m = {.type = MESSAGE_ATTRIBUTE};
    struct cursor c = cursor_over(record, 0);
    struct bytes id = cursor_take(&c, 8);
    m.flags = cursor_u8(&c);
    uint64_t order = cursor_u32le(&c);
    if (!cursor_ok(&c) || !id.at) {
        hdf5_corrupt(l->h, HDF5_UNDEFINED, "a record of attributes is too short");
        return;
    }
    if (m.flags & MESSAGE_IS_SHARED) { /* the id is in the file's shared heap */
        uint8_t shared[10] = {3, 1};
        memcpy(shared + 2, id.at, 8);
        m.data = (struct bytes){shared, sizeof(shared)};
        hdf5_message_fetch(l->h, &m, l->arena);
    } else {
        m.data = hdf5_heap_object(l->heap, id, &m.at);
    }
    if (hdf5_ok(l->h))
        add_attribute(l, m.data, m.at, order);
}

static int attribute_by_name(const void *a, const void *b)
{
    return strcmp(((const struct hdf5_attribute *)a)->name,
                  ((const struct hdf5_attribute *)b)->name);
}

static int attribute_by_creation(const void *a, const void *b)
{
    const struct hdf5_attribute *x = a, *y = b;
    return x->order != y->order ? (x->order > y->order) - (x->order < y->order)
                                : attribute_by_name(a, b);
}

static const struct hdf5_dense dense = {8, 2, "attributes"};

bool hdf5_attributes(struct hdf5 *h, const struct hdf5_object *o, struct arena *arena,
                     struct hdf5_attributes *out, struct error *odd)
{
    bool ordered = false;
    *out = (struct hdf5_attributes){0};
    struct attribute_list l = {.h = h, .arena = arena, .out = out, .odd = odd};
    for (size_t i = 0; i < o->count && hdf5_ok(h); i++) {
        struct hdf5_message m = o->messages[i];
        if (m.type == MESSAGE_ATTRIBUTE && hdf5_message_fetch(h, &m, arena))
            add_attribute(&l, m.data, m.at, i);
        else if (m.type == MESSAGE_ATTRIBUTE_INFO)
            ordered = hdf5_dense_list(l.h, &m, &dense, l.arena, &l.heap,
                                      (struct hdf5_visitor){see_attribute, &l});
    }
    if (hdf5_ok(h) && out->count)
        qsort(out->at, out->count, sizeof(*out->at),
              ordered ? attribute_by_creation : attribute_by_name);
    return hdf5_ok(h);
}

/* --- text --------------------------------------------------------------------------------- */

static struct bytes fixed_text(struct bytes all, enum hdf5_padding padding)
{
    const uint8_t *nul = all.len ? memchr(all.at, '\0', all.len) : NULL;
    if (padding == HDF5_TO_NUL && nul)
        all.len = (size_t)(nul - all.at);
    uint8_t pad = padding == HDF5_SPACES ? ' ' : '\0';
    while (all.len && all.at[all.len - 1] == pad)
        all.len--;
    return all;
}

bool hdf5_text(struct hdf5 *h, const struct hdf5_type *t, struct bytes element, struct bytes *out)
{
    if (t->class == HDF5_TEXT) {
        *out = fixed_text(element, t->padding);
        return hdf5_ok(h);
    }
    struct cursor c = cursor_over(element, 0);
    uint32_t len = cursor_u32le(&c);
    uint64_t collection = hdf5_address(h, &c);
    uint32_t index = cursor_u32le(&c);
    *out = (struct bytes){(const uint8_t *)"", 0};
    if (!cursor_ok(&c))
        return hdf5_corrupt(h, HDF5_UNDEFINED, "a string's place in the heap is cut short");
    if (!len || !collection || collection == HDF5_UNDEFINED)
        return hdf5_ok(h);
    struct bytes all = hdf5_global(h, collection, index);
    if (!hdf5_ok(h))
        return false;
    if (all.len < len)
        return hdf5_corrupt(h, collection, "a string is longer than its object");
    *out = fixed_text((struct bytes){all.at, len}, HDF5_TO_NUL);
    return true;
}

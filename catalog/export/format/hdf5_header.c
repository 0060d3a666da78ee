/*
 * hdf5_header.c - messages of object headers. A header is
 *
 *   u8 1, 0, u16 messages, u32 references, u32 bytes of messages, u32 0; then each message:
 *   u16 type, u16 size (a multiple of 8), u8 flags, 0, 0, 0, and its data, filled up with zeros
 */
#include "catalog/export/format/hdf5_header.h"

#include <string.h>

enum message {
    MESSAGE_DATASPACE = 1,
    MESSAGE_DATATYPE = 3,
    MESSAGE_FILL = 5,
    MESSAGE_LAYOUT = 8,
    MESSAGE_FILTERS = 11,
    MESSAGE_ATTRIBUTE = 12,
    MESSAGE_SYMBOLS = 17
};

enum type_class {
    CLASS_INT = 0x10, /* with the version, 1 */
    CLASS_FLOAT = 0x11,
    CLASS_STRING = 0x13,
    CLASS_OPAQUE = 0x15,
    CLASS_COMPOUND = 0x36, /* version 3 */
    CLASS_ENUM = 0x18,
    CLASS_VARIABLE = 0x19
};

enum filter { FILTER_DEFLATE = 1, FILTER_SHUFFLE = 2 };

#define SIGNED_BIT     8
#define IMPLIED_BIT    0x20 /* the mantissa's first bit is not stored */
#define UTF8_VARIABLE  1    /* a string, and its encoding */
#define ZEROS_UTF8     0x11 /* filled up with zeros, and its encoding */
#define TYPE_HEAD      8
#define INT_SIZE       12
#define SCALAR_SIZE    8
#define HEAP_HEAD      ((size_t)16)
#define HEAP_BYTES_MIN ((size_t)4096)

static const struct {
    unsigned bytes, mantissa, exponent, bias;
    const char *dtype;
} floats[] = {
    {2, 10, 5, 15, "float16"},
    {4, 23, 8, 127, "float32"},
    {8, 52, 11, 1023, "float64"},
};

#define FLOATS (sizeof(floats) / sizeof(floats[0]))

static void fill_up(struct text *out, size_t from)
{
    while (!out->failed && (out->len - from) % HDF5_ALIGN)
        text_addc(out, 0);
}

/* --- datatypes -------------------------------------------------------------------------- */

static void type_head(struct text *out, unsigned class, unsigned bits, unsigned high, size_t size)
{
    text_le(out, class, 1);
    text_le(out, bits, 1);
    text_le(out, high, 2);
    text_le(out, size, 4);
}

static void add_integer_type(struct text *out, bool is_signed, unsigned bits)
{
    type_head(out, CLASS_INT, is_signed ? SIGNED_BIT : 0, 0, bits / 8);
    text_le(out, 0, 2);
    text_le(out, bits, 2);
}

static void add_float(struct text *out, size_t row)
{
    const unsigned bits = 8 * floats[row].bytes;
    type_head(out, CLASS_FLOAT, IMPLIED_BIT, bits - 1, floats[row].bytes);
    text_le(out, 0, 2);
    text_le(out, bits, 2);
    text_le(out, floats[row].mantissa, 1);
    text_le(out, floats[row].exponent, 1);
    text_le(out, 0, 1);
    text_le(out, floats[row].mantissa, 1);
    text_le(out, floats[row].bias, 4);
}

static size_t float_row(unsigned bytes)
{
    size_t row = 0;
    while (row < FLOATS && floats[row].bytes != bytes)
        row++;
    return row;
}

static void add_complex(struct text *out, unsigned part)
{
    type_head(out, CLASS_COMPOUND, 2, 0, 2 * (size_t)part);
    for (unsigned i = 0; i < 2; i++) {
        text_add(out, i ? "i" : "r", 2);
        text_le(out, (uint64_t)i * part, 1);
        add_float(out, float_row(part));
    }
}

bool hdf5_is_opaque(const struct dtype *d)
{
    size_t row = 0;
    while (row < FLOATS && strcmp(floats[row].dtype, d->name) != 0)
        row++;
    return d->kind == DTYPE_FLOAT && row == FLOATS;
}

bool hdf5_has_dtype(const struct dtype *d)
{
    const bool plain = d->block_elems == 1 && d->bits % 8 == 0 && !strchr(d->name, 'q');
    return plain && (d->kind == DTYPE_BOOL || d->kind == DTYPE_INT || d->kind == DTYPE_UINT ||
                     d->kind == DTYPE_FLOAT || (d->kind == DTYPE_COMPLEX && d->bits >= 64));
}

static void add_type(struct text *out, const struct dtype *d)
{
    switch (d->kind) {
    case DTYPE_BOOL: /* h5py's: an enumeration over int8. Names of this version are filled up to 8 bytes. */
        type_head(out, CLASS_ENUM, 2, 0, 1);
        add_integer_type(out, true, 8);
        text_add(out, "FALSE\0\0\0TRUE\0\0\0\0\0\1", 18);
        break;
    case DTYPE_INT:
    case DTYPE_UINT: add_integer_type(out, d->kind == DTYPE_INT, d->bits); break;
    case DTYPE_COMPLEX: add_complex(out, d->bits / 16); break;
    default:
        if (hdf5_is_opaque(d))
            type_head(out, CLASS_OPAQUE, 0, 0, d->bits / 8); /* with an empty tag */
        else
            add_float(out, float_row(d->bits / 8));
    }
}

/* --- messages --------------------------------------------------------------------------- */

/* Begin a message; its place is to be handed to end_message(). */
static size_t begin_message(struct hdf5_header *h, enum message type)
{
    text_le(&h->messages, type, 2);
    text_le(&h->messages, 0, 6); /* the size, to come */
    h->count++;
    return h->messages.len;
}

static void end_message(struct hdf5_header *h, size_t from)
{
    fill_up(&h->messages, from);
    if (!h->messages.failed)
        store_u16le((uint8_t *)h->messages.at + from - 6, (uint16_t)(h->messages.len - from));
}

void hdf5_dataspace(struct hdf5_header *h, const struct export_tensor *t)
{
    const size_t from = begin_message(h, MESSAGE_DATASPACE);
    text_le(&h->messages, 1, 1);
    text_le(&h->messages, t->rank, 1);
    text_le(&h->messages, 0, 6);
    for (unsigned d = 0; d < t->rank; d++)
        text_le(&h->messages, t->shape[d], 8);
    end_message(h, from);
}

void hdf5_datatype(struct hdf5_header *h, const struct dtype *d)
{
    const size_t from = begin_message(h, MESSAGE_DATATYPE);
    add_type(&h->messages, d);
    end_message(h, from);
}

void hdf5_text_type(struct hdf5_header *h, uint32_t width)
{
    const size_t from = begin_message(h, MESSAGE_DATATYPE);
    type_head(&h->messages, CLASS_STRING, ZEROS_UTF8, 0, width);
    end_message(h, from);
}

/* Zeros, for what is allocated late (2) or chunk by chunk (3). */
static void add_fill(struct hdf5_header *h, unsigned allocated)
{
    const size_t from = begin_message(h, MESSAGE_FILL);
    text_le(&h->messages, 2, 1); /* version */
    text_le(&h->messages, allocated, 1);
    text_add(&h->messages, "\2\1\0\0\0\0", 6); /* written if set; defined */
    end_message(h, from);
}

void hdf5_contiguous(struct hdf5_header *h, uint64_t at, uint64_t nbytes)
{
    add_fill(h, 2);
    const size_t from = begin_message(h, MESSAGE_LAYOUT);
    text_add(&h->messages, "\3\1", 2); /* version 3, contiguous */
    text_le(&h->messages, nbytes ? at : HDF5_NOWHERE, 8);
    text_le(&h->messages, nbytes, 8);
    end_message(h, from);
}

/* A filter with one value, without a name. It may be left out of a chunk (which the chunk would say). */
static void put_filter(struct text *out, enum filter filter, uint32_t value)
{
    text_le(out, filter, 2);
    text_le(out, 0, 2);
    text_le(out, 1, 2);
    text_le(out, 1, 2);
    text_le(out, value, 4);
    text_le(out, 0, 4); /* an odd number of values is filled up */
}

void hdf5_filters(struct hdf5_header *h, int level, bool shuffled, uint32_t element)
{
    if (level < 0 && !shuffled)
        return;
    const size_t from = begin_message(h, MESSAGE_FILTERS);
    text_le(&h->messages, 1, 1); /* version */
    text_le(&h->messages, (level >= 0) + (uint64_t)shuffled, 7);
    if (shuffled)
        put_filter(&h->messages, FILTER_SHUFFLE, element);
    if (level >= 0)
        put_filter(&h->messages, FILTER_DEFLATE, (uint32_t)level);
    end_message(h, from);
}

/* An element is one more dimension, of its bytes. */
void hdf5_chunked(struct hdf5_header *h, const struct export_tensor *t, uint64_t tree)
{
    add_fill(h, 3);
    const size_t from = begin_message(h, MESSAGE_LAYOUT);
    text_add(&h->messages, "\3\2", 2); /* version 3, chunked */
    text_le(&h->messages, t->rank + 1U, 1);
    text_le(&h->messages, tree, 8);
    for (unsigned d = 0; d < t->rank; d++)
        text_le(&h->messages, t->chunk[d], 4);
    text_le(&h->messages, t->to.block_bytes, 4);
    end_message(h, from);
}

void hdf5_symbol_table(struct hdf5_header *h, uint64_t tree, uint64_t heap)
{
    const size_t from = begin_message(h, MESSAGE_SYMBOLS);
    text_le(&h->messages, tree, 8);
    text_le(&h->messages, heap, 8);
    end_message(h, from);
}

/* Of version 1: each part is filled up to 8 bytes. */
void hdf5_attribute(struct hdf5_header *h, const char *name, size_t len, uint64_t heap)
{
    const size_t from = begin_message(h, MESSAGE_ATTRIBUTE);
    struct text *out = &h->messages;
    text_le(out, 1, 2);
    text_le(out, strlen(name) + 1, 2);
    text_le(out, TYPE_HEAD + INT_SIZE, 2);
    text_le(out, SCALAR_SIZE, 2);
    text_add(out, name, strlen(name) + 1);
    fill_up(out, from);
    type_head(out, CLASS_VARIABLE, UTF8_VARIABLE, UTF8_VARIABLE, 16);
    add_integer_type(out, false, 8); /* of its bytes */
    fill_up(out, from);
    text_le(out, 1, SCALAR_SIZE);
    text_le(out, len, 4);
    text_le(out, heap, 8);
    text_le(out, 1, 4); /* the heap's object */
    end_message(h, from);
}

void hdf5_global_heap(struct text *out, const char *value, size_t len)
{
    const size_t begin = out->len, padded = (len + HDF5_ALIGN - 1) / HDF5_ALIGN * HDF5_ALIGN;
    size_t size = 2 * HEAP_HEAD + padded;
    size = size < HEAP_BYTES_MIN ? HEAP_BYTES_MIN : size;
    text_adds(out, "GCOL\1");
    text_le(out, 0, 3);
    text_le(out, size, 8);
    text_le(out, 1, 2); /* object 1, */
    text_le(out, 1, 2); /* with one reference */
    text_le(out, 0, 4);
    text_le(out, len, 8);
    text_add(out, value, len);
    fill_up(out, begin);
    const size_t left = size - 2 * HEAP_HEAD - padded;
    if (left >= HEAP_HEAD) { /* object 0: the room that is left, with its own head */
        text_le(out, 0, 8);
        text_le(out, left, 8);
    }
    while (!out->failed && out->len - begin < size)
        text_addc(out, 0);
}

/* --- the header ------------------------------------------------------------------------- */

void hdf5_header_end(struct hdf5_header *h, struct text *out)
{
    text_le(out, 1, 2);
    text_le(out, h->count, 2);
    text_le(out, 1, 4);
    text_le(out, h->messages.len, 4);
    text_le(out, 0, 4);
    text_add(out, h->messages.at, h->messages.len);
    out->failed = out->failed || h->messages.failed;
    text_reset(&h->messages);
    h->count = 0;
}

void hdf5_header_release(struct hdf5_header *h)
{
    text_release(&h->messages);
}

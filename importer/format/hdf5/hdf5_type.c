/*
 * hdf5_type.c - datatypes and dataspaces.
 *
 *   datatype   u8 class and version, 24 flags, u32 size, properties of the class
 *   dataspace  version, rank, flags, [type], dimensions, [largest dimensions]
 *
 * How types get their dtype: integers and floats by size and layout; an enumeration of
 * FALSE and TRUE is h5py's bool, any other has the dtype of its integers; a compound of "r"
 * and "i" is h5py's complex; opaque bytes tagged "NUMPY:..." are what h5py.opaque_dtype() made of another
 * dtype: mostly dates.
 */
#include "importer/format/hdf5/hdf5_read.h"

#include <stdio.h>
#include <string.h>

#include "catalog/data/model/dtype.h"
#include "importer/container/numpytype.h"

#define DEPTH_MAX 8 /* of nested types */

enum class {
    CLASS_INTEGER,
    CLASS_FLOAT,
    CLASS_TIME,
    CLASS_STRING,
    CLASS_BITS,
    CLASS_OPAQUE,
    CLASS_COMPOUND,
    CLASS_REFERENCE,
    CLASS_ENUM,
    CLASS_VLEN,
    CLASS_ARRAY,
    CLASS_COMPLEX,
};

struct type_parsing {
    struct hdf5 *h;
    struct arena *arena;
    struct cursor *c;
};

struct type_head {
    unsigned class, version;
    uint32_t flags, size;
};

static void parse_type(struct type_parsing *p, struct hdf5_type *t, unsigned depth);

static void type_damaged(struct type_parsing *p, const char *what)
{
    hdf5_corrupt(p->h, cursor_offset(p->c) - p->h->base, "a datatype: %s", what);
}

static void no_tensor(struct hdf5_type *t, const char *what)
{
    t->class = HDF5_NO_TENSOR;
    t->what = what;
}

static void plain(struct hdf5_type *t, const char *dtype, unsigned swap)
{
    t->class = HDF5_PLAIN;
    t->dtype = dtype;
    t->swap = t->size > 1 ? swap : 0;
}

static void integer(struct type_parsing *p, const struct type_head *h, struct hdf5_type *t)
{
    static const char *const names[2][4] = {{"uint8", "uint16", "uint32", "uint64"},
                                            {"int8", "int16", "int32", "int64"}};
    unsigned offset = cursor_u16le(p->c), precision = cursor_u16le(p->c);
    bool is_signed = h->class == CLASS_INTEGER && h->flags & 8;
    unsigned log = hdf5_log2(h->size);
    bool whole = precision == h->size * 8;
    /* An integer of fewer bits than its bytes have needs no conversion if it is
     * unsigned and padded with zeros. */
    bool zeros = !is_signed && !(h->flags & 6) && !offset;
    if (log > 3 || h->size != 1u << log || !precision || offset + precision > h->size * 8) {
        no_tensor(t, "integers of a width that no dtype has");
        return;
    }
    plain(t, names[is_signed][log], h->flags & 1 ? h->size : 0);
    t->narrow = whole || zeros ? 0 : precision;
    t->narrow_at = offset;
}

static void real(struct type_parsing *p, const struct type_head *h, struct hdf5_type *t)
{
    /* bytes, exponent's position and bits, mantissa's bits, bias */
    static const struct {
        uint32_t size, exponent_at, exponent, mantissa, bias;
        const char *dtype;
    } known[] = {
        {2, 10, 5, 10, 15, "float16"},  {2, 7, 8, 7, 127, "bfloat16"},
        {4, 23, 8, 23, 127, "float32"}, {8, 52, 11, 52, 1023, "float64"},
        {1, 3, 4, 3, 7, "float8_e4m3"}, {1, 2, 5, 2, 15, "float8_e5m2"},
    };
    unsigned offset = cursor_u16le(p->c), precision = cursor_u16le(p->c);
    unsigned exponent_at = cursor_u8(p->c), exponent = cursor_u8(p->c);
    unsigned mantissa_at = cursor_u8(p->c), mantissa = cursor_u8(p->c);
    uint32_t bias = cursor_u32le(p->c);
    unsigned sign_at = h->flags >> 8 & 0xFF, normal = h->flags >> 4 & 3;
    no_tensor(t, "floats of a form that no dtype has");
    if (offset || precision != h->size * 8 || mantissa_at || normal != 2 ||
        sign_at != precision - 1 || h->flags & 0x40)
        return;
    for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
        if (known[i].size == h->size && known[i].exponent_at == exponent_at &&
            known[i].exponent == exponent && known[i].mantissa == mantissa && known[i].bias == bias)
            plain(t, known[i].dtype, h->flags & 1 ? h->size : 0);
}

static void opaque(struct type_parsing *p, const struct type_head *h, struct hdf5_type *t)
{
    char name[32];
    struct numpy_type numpy;
    struct bytes tag = cursor_take(p->c, h->flags & 0xFF);
    const char *text = arena_copy(p->arena, tag.at, tag.len);
    const bool tagged = strncmp(text, "NUMPY:", 6) == 0 && numpy_type_parse(text + 6, &numpy) &&
                        numpy.item == h->size;
    if (tagged && *numpy.strings == 'S') {
        t->class = HDF5_TEXT;
        t->dtype = "string";
        t->padding = HDF5_NULS;
        return;
    }
    if (tagged && !*numpy.strings) {
        plain(t, arena_copy(p->arena, numpy.dtype, strlen(numpy.dtype)), numpy.swap);
        return;
    }
    if (!h->size || h->size > UINT16_MAX / 8) {
        no_tensor(t, "opaque bytes");
        return;
    }
    snprintf(name, sizeof(name), "void%u", (unsigned)h->size * 8);
    t->class = HDF5_RAW;
    t->dtype = arena_copy(p->arena, name, strlen(name));
}

/* A NUL-terminated name, padded to a multiple of 8 bytes before version 3. */
static struct bytes member_name(struct cursor *c, unsigned version)
{
    const uint8_t *end = cursor_left(c) ? memchr(c->at, '\0', cursor_left(c)) : NULL;
    if (!end) {
        cursor_fail(c);
        return (struct bytes){0};
    }
    size_t len = (size_t)(end - c->at), all = len + 1;
    struct bytes name = {c->at, len};
    cursor_take(c, version < 3 ? (all + 7) / 8 * 8 : all);
    return name;
}

static bool name_is(struct bytes name, const char *word)
{
    return name.at && name.len == strlen(word) && memcmp(name.at, word, name.len) == 0;
}

static const char *complex_of(const struct hdf5_type *part)
{
    if (part->class != HDF5_PLAIN || part->rank || !part->dtype)
        return NULL;
    return strcmp(part->dtype, "float32") == 0   ? "complex64"
           : strcmp(part->dtype, "float64") == 0 ? "complex128"
           : strcmp(part->dtype, "float16") == 0 ? "complex32"
                                                 : NULL;
}

/* Read all members, even after one that makes the type
 * unreadable: more may follow the compound. */
static void compound(struct type_parsing *p, const struct type_head *h, struct hdf5_type *t,
                     unsigned depth)
{
    static const char *const names[] = {"r", "i"};
    struct hdf5_type part = {0};
    unsigned count = h->flags & 0xFFFF, swap = 0;
    const char *dtype = "";
    bool fits = count == 2;
    no_tensor(t, "a compound");
    for (unsigned i = 0; i < count && hdf5_ok(p->h); i++) {
        struct bytes name = member_name(p->c, h->version);
        uint64_t at = h->version < 3 ? cursor_u32le(p->c) : hdf5_number(p->c, hdf5_width(h->size));
        if (h->version == 1)
            cursor_take(p->c, 28); /* dimensions, since replaced by array types */
        parse_type(p, &part, depth + 1);
        const char *complex = complex_of(&part);
        fits = fits && complex && name_is(name, names[i]) && at == (uint64_t)i * part.size &&
               h->size == 2 * part.size &&
               (!i || (strcmp(complex, dtype) == 0 && swap == part.swap));
        dtype = complex;
        swap = part.swap;
    }
    if (fits)
        plain(t, dtype, swap);
}

static void enumeration(struct type_parsing *p, const struct type_head *h, struct hdf5_type *t,
                        unsigned depth)
{
    struct hdf5_type base = {0};
    unsigned count = h->flags & 0xFFFF;
    bool truth = count == 2;
    parse_type(p, &base, depth + 1);
    for (unsigned i = 0; i < count; i++) {
        struct bytes name = member_name(p->c, h->version);
        truth = truth && (name_is(name, "FALSE") || name_is(name, "TRUE"));
    }
    struct bytes values = cursor_take(p->c, (uint64_t)count * base.size);
    truth = truth && base.size == 1 && values.len == 2 && values.at[0] == 0 && values.at[1] == 1;
    if (base.class != HDF5_PLAIN || base.size != h->size || base.narrow)
        no_tensor(t, "an enumeration not of integers");
    else
        plain(t, truth ? "bool" : base.dtype, base.swap);
}

static void array(struct type_parsing *p, const struct type_head *h, struct hdf5_type *t,
                  unsigned depth)
{
    struct hdf5_type base = {0};
    unsigned rank = cursor_u8(p->c);
    uint64_t shape[HDF5_RANK_MAX], bytes = 1;
    if (h->version < 3)
        cursor_take(p->c, 3);
    if (rank > HDF5_RANK_MAX) {
        type_damaged(p, "an array of more than 32 dimensions");
        return;
    }
    for (unsigned d = 0; d < rank; d++)
        shape[d] = cursor_u32le(p->c);
    if (h->version < 3)
        cursor_take(p->c, 4 * (uint64_t)rank);
    parse_type(p, &base, depth + 1);
    for (unsigned d = 0; d < rank; d++)
        if (!mul_u64(bytes, shape[d], &bytes)) {
            type_damaged(p, "an array of too many elements");
            return;
        }
    if (rank + base.rank > HDF5_RANK_MAX || !mul_u64(bytes, base.size, &bytes) ||
        bytes != h->size) {
        type_damaged(p, "an array whose size does not match its elements");
        return;
    }
    uint32_t size = t->size;
    *t = base;
    t->size = size;
    memmove(t->shape + rank, t->shape, base.rank * sizeof(*shape));
    memcpy(t->shape, shape, rank * sizeof(*shape));
    t->rank = rank + base.rank;
}

static void vlen(struct type_parsing *p, const struct type_head *h, struct hdf5_type *t,
                 unsigned depth)
{
    struct hdf5_type base = {0};
    parse_type(p, &base, depth + 1);
    /* an element: its length, and where the heap has it (an address, a number) */
    if (h->size < 4 + p->h->offset_bytes + 4) {
        type_damaged(p, "an element of varying length without room for its place");
        return;
    }
    if ((h->flags & 0xF) == 1)
        t->class = HDF5_VLEN_TEXT;
    else
        no_tensor(t, "lists of varying length");
    t->dtype = "string";
}

static void complex_number(struct type_parsing *p, struct hdf5_type *t, unsigned depth)
{
    struct hdf5_type base = {0};
    parse_type(p, &base, depth + 1);
    if (complex_of(&base) && t->size == 2 * base.size)
        plain(t, complex_of(&base), base.swap);
    else
        no_tensor(t, "complex numbers of a form that no dtype has");
}

static void parse_class(struct type_parsing *p, const struct type_head *h, struct hdf5_type *t,
                        unsigned depth)
{
    switch ((enum class)h->class) {
    case CLASS_INTEGER:
    case CLASS_BITS: integer(p, h, t); break;
    case CLASS_FLOAT: real(p, h, t); break;
    case CLASS_TIME:
        cursor_take(p->c, 2);
        no_tensor(t, "a time");
        break;
    case CLASS_STRING:
        t->class = HDF5_TEXT;
        t->dtype = "string";
        t->padding = (h->flags & 0xF) == 0   ? HDF5_TO_NUL
                     : (h->flags & 0xF) == 2 ? HDF5_SPACES
                                             : HDF5_NULS;
        break;
    case CLASS_OPAQUE: opaque(p, h, t); break;
    case CLASS_COMPOUND: compound(p, h, t, depth); break;
    case CLASS_REFERENCE: no_tensor(t, "references"); break;
    case CLASS_ENUM: enumeration(p, h, t, depth); break;
    case CLASS_VLEN: vlen(p, h, t, depth); break;
    case CLASS_ARRAY: array(p, h, t, depth); break;
    case CLASS_COMPLEX: complex_number(p, t, depth); break;
    default: type_damaged(p, "of an unknown class");
    }
}

static void parse_type(struct type_parsing *p, struct hdf5_type *t, unsigned depth)
{
    struct type_head h;
    unsigned first = cursor_u8(p->c);
    h.class = first & 0xF;
    h.version = first >> 4;
    h.flags = (uint32_t)hdf5_number(p->c, 3);
    h.size = cursor_u32le(p->c);
    *t = (struct hdf5_type){.size = h.size, .item = h.size};
    if (!cursor_ok(p->c)) {
        type_damaged(p, "cut short");
    } else if (depth > DEPTH_MAX) {
        type_damaged(p, "types in types, too deep");
    } else if (!h.version || h.version > 5) {
        type_damaged(p, "of an unknown version");
    } else {
        parse_class(p, &h, t, depth);
        if (!cursor_ok(p->c))
            type_damaged(p, "cut short");
    }
}

bool hdf5_type_parse(struct hdf5 *h, struct cursor *c, struct arena *arena, struct hdf5_type *out)
{
    struct type_parsing p = {h, arena, c};
    parse_type(&p, out, 0);
    return hdf5_ok(h);
}

/* --- dataspaces --------------------------------------------------------------------------- */

bool hdf5_space_parse(struct hdf5 *h, struct cursor *c, struct hdf5_space *out)
{
    *out = (struct hdf5_space){0};
    uint64_t no_limit =
        h->length_bytes == 8 ? UINT64_MAX : (UINT64_C(1) << h->length_bytes * 8) - 1;
    unsigned version = cursor_u8(c);
    out->rank = cursor_u8(c);
    unsigned flags = cursor_u8(c), type = cursor_u8(c);
    if (version == 1)
        cursor_take(c, 4);
    out->null = version == 2 && type == 2;
    if (out->rank > HDF5_RANK_MAX || !version || version > 2)
        return hdf5_corrupt(h, cursor_offset(c) - h->base, "a dataspace is damaged");
    for (unsigned d = 0; d < out->rank; d++)
        out->most[d] = out->shape[d] = hdf5_length(h, c);
    for (unsigned d = 0; d < out->rank && flags & 1; d++) {
        uint64_t most = hdf5_length(h, c);
        out->most[d] = most == no_limit ? UINT64_MAX : most;
    }
    return cursor_ok(c) || hdf5_corrupt(h, cursor_offset(c) - h->base, "a dataspace is cut short");
}

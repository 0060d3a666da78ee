/*
 * npyhead.c - the header of a NumPy array.
 *
 *   "\x93NUMPY"  6 bytes
 *   version      u8 major (1, 2, 3), u8 minor (0)
 *   length       u16le (version 1) or u32le (2, 3): bytes of the text
 *   text         a Python dict literal with exactly the keys 'descr', 'fortran_order' and
 *                'shape', then white space; Latin-1, in version 3 UTF-8
 *   elements     from here on
 *
 * NumPy evaluates the text as Python. Here only what NumPy has ever written is taken:
 * quoted strings, True and False, tuples of decimal numbers (Python 2 put an L after
 * them). Nothing is nested, but the list of a structured dtype, which is not looked into.
 *
 * Source: numpy/lib/format.py, "Format Version 1.0" to "3.0".
 */
#include "importer/container/npyhead.h"

#include <stdio.h>
#include <string.h>

#include "catalog/base/cursor.h"
#include "catalog/base/limits.h"
#include "catalog/data/model/tensor.h"
#include "importer/container/numpytype.h"

enum key { KEY_DESCR = 1, KEY_ORDER = 2, KEY_SHAPE = 4, KEY_ALL = 7 };

struct literal {
    struct cursor c;
    const char *source;
    struct arena *arena;
    struct error *err;
    struct npy_head *head;
    unsigned seen; /* enum key */
    bool fortran;
    unsigned item; /* bytes of an element; 0 until descr was read */
};

static bool npyhead_fail(struct literal *l, enum status status, const char *code,
                         const char *message)
{
    error_set(l->err, status, l->source, cursor_offset(&l->c), "%s", message);
    if (code)
        error_code(l->err, code);
    return false;
}

static bool npyhead_bad(struct literal *l, const char *message)
{
    return npyhead_fail(l, ERR_CORRUPT, "bad-header", message);
}

/* --- words ------------------------------------------------------------------------------ */

static uint8_t npyhead_peek(const struct literal *l)
{
    return cursor_left(&l->c) ? *l->c.at : 0;
}

static uint8_t peek_word(struct literal *l)
{
    while (npyhead_peek(l) == ' ' || npyhead_peek(l) == '\t' || npyhead_peek(l) == '\n' ||
           npyhead_peek(l) == '\r')
        cursor_take(&l->c, 1);
    return npyhead_peek(l);
}

static bool npyhead_take(struct literal *l, uint8_t byte)
{
    if (peek_word(l) != byte || !cursor_left(&l->c))
        return false;
    cursor_take(&l->c, 1);
    return true;
}

/* A quoted string of at most NUMPY_TYPE_BYTES - 1 bytes. All words that mean something are plain
 * ASCII, so that an escape cannot be part of one. */
static bool npyhead_read_word(struct literal *l, char word[NUMPY_TYPE_BYTES])
{
    size_t len = 0;
    uint8_t quote = peek_word(l);
    if (quote != '\'' && quote != '"')
        return npyhead_bad(l, "a quoted string expected in the npy header");
    cursor_take(&l->c, 1);
    for (;;) {
        uint8_t byte = cursor_u8(&l->c);
        if (!cursor_ok(&l->c))
            return npyhead_bad(l, "the npy header ends inside a string");
        if (byte == quote)
            break;
        if (byte < 0x20 || byte > 0x7E || byte == '\\' || len == NUMPY_TYPE_BYTES - 1)
            return npyhead_bad(l, "a string in the npy header that NumPy does not write");
        word[len++] = (char)byte;
    }
    word[len] = '\0';
    return true;
}

/* --- dtypes ----------------------------------------------------------------------------- */

static bool read_descr(struct literal *l)
{
    char descr[NUMPY_TYPE_BYTES] = "", message[NUMPY_TYPE_BYTES + 64];
    struct numpy_type type;
    if (peek_word(l) == '[')
        return npyhead_fail(l, ERR_UNSUPPORTED, "structured-dtype",
                            "a structured dtype: its records are not a plain tensor");
    if (!npyhead_read_word(l, descr))
        return false;
    const char *code = descr + (*descr && strchr("<>|=", *descr) != NULL);
    if (*code == 'O' && strspn(code + 1, "0123456789") == strlen(code + 1))
        return npyhead_fail(l, ERR_UNSUPPORTED, "object-dtype",
                            "object dtype: the data is a pickle, which is not executed");
    if (numpy_type_parse(descr, &type)) {
        char codec[NUMPY_TYPE_BYTES + 32] = "";
        if (type.swap)
            snprintf(codec, sizeof(codec), "swap:%u%s", type.swap, *type.strings ? "|" : "");
        if (*type.strings) {
            size_t len = strlen(codec);
            snprintf(codec + len, sizeof(codec) - len, "strings:%s", type.strings);
        }
        l->item = type.item;
        l->head->dtype = arena_copy(l->arena, type.dtype, strlen(type.dtype));
        l->head->codec = *codec ? arena_copy(l->arena, codec, strlen(codec)) : NULL;
        return true;
    }
    snprintf(message, sizeof(message), "descr '%s' is not a type that NumPy knows", descr);
    return npyhead_fail(l, ERR_UNSUPPORTED, "unknown-dtype", message);
}

/* --- the other two keys ----------------------------------------------------------------- */

static bool read_order(struct literal *l)
{
    peek_word(l);
    bool value = npyhead_peek(l) == 'T';
    struct bytes word = cursor_take(&l->c, value ? 4 : 5);
    l->fortran = value;
    if (word.at && memcmp(word.at, value ? "True" : "False", word.len) == 0)
        return true;
    return npyhead_bad(l, "fortran_order in the npy header is neither True nor False");
}

static bool read_dimension(struct literal *l, uint64_t *value)
{
    size_t digits = 0;
    *value = 0;
    if (peek_word(l) == '-')
        return npyhead_bad(l, "a negative dimension in the npy header");
    for (; npyhead_peek(l) >= '0' && npyhead_peek(l) <= '9'; digits++) {
        uint64_t digit = (uint64_t)(cursor_u8(&l->c) - '0');
        if (!mul_u64(*value, 10, value) || !add_u64(*value, digit, value) || *value > INT64_MAX)
            return npyhead_bad(l, "a dimension in the npy header is over 2^63 - 1");
    }
    if (!digits)
        return npyhead_bad(l, "shape in the npy header is not a tuple of whole numbers");
    if (npyhead_peek(l) == 'L')
        cursor_take(&l->c, 1);
    return true;
}

/* "()", "(3,)", "(2, 3)"; "(3)" would be a number. */
static bool npyhead_read_shape(struct literal *l)
{
    uint64_t shape[TENSOR_RANK_MAX];
    unsigned rank = 0;
    bool comma = true;
    if (!npyhead_take(l, '('))
        return npyhead_bad(l, "shape in the npy header is not a tuple");
    while (!npyhead_take(l, ')')) {
        if (!comma || rank == TENSOR_RANK_MAX)
            return npyhead_bad(l, "shape in the npy header is not a tuple of at most 254 numbers");
        if (!read_dimension(l, &shape[rank++]))
            return false;
        comma = npyhead_take(l, ',');
    }
    if (rank == 1 && !comma)
        return npyhead_bad(l, "shape in the npy header is a number, not a tuple");
    struct npy_head *h = l->head;
    h->rank = rank;
    h->shape = arena_array(l->arena, rank ? rank : 1, sizeof(*h->shape));
    if (h->shape)
        memcpy(h->shape, shape, rank * sizeof(*shape));
    return h->shape;
}

/* --- the dict --------------------------------------------------------------------------- */

static bool read_pair(struct literal *l)
{
    static const struct {
        const char *name;
        enum key key;
        bool (*read)(struct literal *);
    } keys[] = {
        {"descr", KEY_DESCR, read_descr},
        {"fortran_order", KEY_ORDER, read_order},
        {"shape", KEY_SHAPE, npyhead_read_shape},
    };
    char name[NUMPY_TYPE_BYTES];
    if (!npyhead_read_word(l, name))
        return false;
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        if (strcmp(name, keys[i].name) != 0)
            continue;
        if (l->seen & keys[i].key)
            return npyhead_bad(l, "a key occurs twice in the npy header");
        l->seen |= keys[i].key;
        return npyhead_take(l, ':') ? keys[i].read(l)
                                    : npyhead_bad(l, "':' expected in the npy header");
    }
    return npyhead_bad(l, "the npy header has a key that is not descr, fortran_order or shape");
}

static bool read_dict(struct literal *l)
{
    bool comma = true;
    if (!npyhead_take(l, '{'))
        return npyhead_bad(l, "the npy header is not a dict");
    while (!npyhead_take(l, '}')) {
        if (!comma)
            return npyhead_bad(l, "',' or '}' expected in the npy header");
        if (!read_pair(l))
            return false;
        comma = npyhead_take(l, ',');
    }
    peek_word(l);
    if (cursor_left(&l->c))
        return npyhead_bad(l, "more text after the dict of the npy header");
    if (l->seen != KEY_ALL)
        return npyhead_bad(l, !(l->seen & KEY_SHAPE)   ? "the npy header has no shape"
                              : !(l->seen & KEY_DESCR) ? "the npy header has no descr"
                                                       : "the npy header has no fortran_order");
    return true;
}

/* Sizes, and strides for Fortran order where it differs from C order. */
static bool npyhead_measure(struct literal *l)
{
    struct npy_head *h = l->head;
    if (!shape_elements(h->shape, h->rank, &h->items) || !mul_u64(h->items, l->item, &h->nbytes) ||
        h->nbytes > INT64_MAX)
        return npyhead_bad(l, "the shape in the npy header needs more than 2^63 bytes");
    if (!l->fortran || h->rank < 2 || h->items < 2)
        return true;
    h->strides = arena_array(l->arena, h->rank, sizeof(*h->strides));
    int64_t stride = 1;
    for (unsigned d = 0; h->strides && d < h->rank; d++) {
        h->strides[d] = stride;
        stride *= (int64_t)h->shape[d]; /* at most `items` */
    }
    return true;
}

enum status npy_head_size(struct bytes start, const char *source, uint64_t *size, struct error *err)
{
    struct cursor c = cursor_over(start, 0);
    struct bytes magic = cursor_take(&c, NPY_MAGIC_BYTES);
    uint8_t major = cursor_u8(&c), minor = cursor_u8(&c);
    uint64_t length = major == 1 ? cursor_u16le(&c) : cursor_u32le(&c);
    if (magic.at && memcmp(magic.at, NPY_MAGIC, NPY_MAGIC_BYTES) != 0)
        return error_set(err, ERR_CORRUPT, source, 0, "not a NumPy array");
    if (!cursor_ok(&c)) {
        error_set(err, ERR_CORRUPT, source, start.len, "the npy header is cut short");
        return error_code(err, "truncated");
    }
    if (major < 1 || major > 3 || minor != 0)
        return error_set(err, ERR_UNSUPPORTED, source, NPY_MAGIC_BYTES,
                         "npy version %u.%u; 1.0, 2.0 and 3.0 can be read", major, minor);
    if (length > LIMIT_NPY_HEADER)
        return error_set(err, ERR_LIMIT, source, 8, "an npy header of %llu bytes, most is %llu",
                         (unsigned long long)length, (unsigned long long)LIMIT_NPY_HEADER);
    *size = cursor_offset(&c) + length;
    return OK;
}

enum status npy_head_parse(struct bytes head, const char *source, struct arena *arena,
                           struct npy_head *out, struct error *err)
{
    struct npy_head h = {0};
    if (npy_head_size(head, source, &h.size, err) != OK)
        return err->status;
    if (head.len < h.size) {
        error_set(err, ERR_CORRUPT, source, head.len, "the npy header is cut short");
        return error_code(err, "truncated");
    }
    struct literal l = {
        .c = cursor_over((struct bytes){head.at, (size_t)h.size}, 0),
        .source = source,
        .arena = arena,
        .err = err,
        .head = &h,
    };
    cursor_take(&l.c, head.at[NPY_MAGIC_BYTES] == 1 ? 10 : 12);
    if (read_dict(&l) && npyhead_measure(&l))
        *out = h;
    else
        error_memory(err); /* unless it says already what is wrong */
    return err->status;
}

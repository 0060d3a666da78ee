#include "catalog/export/format/gguf_header.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "catalog/base/limits.h"
#include "catalog/data/convert/convert.h"
#include "catalog/data/convert/float_format.h"

#define FIRST_READ     ((size_t)64 << 10)
#define DEPTH_MAX      8 /* of nested arrays: specified, but never written */
#define ALIGN_MAX      (UINT64_C(1) << 30)
#define NEED_MORE_TEXT "the header is cut short"

/* By ggml's number of the type; NULL: removed from ggml, or not yet known. */
static const char *const types[] = {
    [0] = "float32", [1] = "float16",  [2] = "q4_0",   [3] = "q4_1",      [6] = "q5_0",
    [7] = "q5_1",    [8] = "q8_0",     [9] = "q8_1",   [10] = "q2_k",     [11] = "q3_k",
    [12] = "q4_k",   [13] = "q5_k",    [14] = "q6_k",  [15] = "q8_k",     [16] = "iq2_xxs",
    [17] = "iq2_xs", [18] = "iq3_xxs", [19] = "iq1_s", [20] = "iq4_nl",   [21] = "iq3_s",
    [22] = "iq2_s",  [23] = "iq4_xs",  [24] = "int8",  [25] = "int16",    [26] = "int32",
    [27] = "int64",  [28] = "float64", [29] = "iq1_m", [30] = "bfloat16", [34] = "tq1_0",
    [35] = "tq2_0",  [39] = "mxfp4",   [40] = "nvfp4", [41] = "q1_0",     [42] = "q2_0",
};

const char *gguf_dtype(uint32_t type)
{
    return type < sizeof(types) / sizeof(types[0]) ? types[type] : NULL;
}

bool gguf_type_of(const char *dtype, uint32_t *type)
{
    const uint32_t count = sizeof(types) / sizeof(types[0]);
    const char *plain = strncmp(dtype, "qint", 4) == 0 ? dtype + 1 : dtype;
    for (*type = 0; *type < count; ++*type)
        if (types[*type] && strcmp(types[*type], plain) == 0)
            return true;
    return false;
}

/* --- numbers ------------------------------------------------------------------------------ */

static uint16_t take16(struct gguf *g)
{
    return g->big ? cursor_u16be(&g->cursor) : cursor_u16le(&g->cursor);
}

static uint32_t take32(struct gguf *g)
{
    return g->big ? cursor_u32be(&g->cursor) : cursor_u32le(&g->cursor);
}

static uint64_t take64(struct gguf *g)
{
    return g->big ? cursor_u64be(&g->cursor) : cursor_u64le(&g->cursor);
}

/* A count or a length: 32 bits wide in version 1, 64 bits since. */
static uint64_t take_size(struct gguf *g)
{
    return g->version == 1 ? take32(g) : take64(g);
}

/* Report the first defect. A cursor that has run out is not one: more bytes may follow. */
static bool corrupt(struct gguf *g, uint64_t at, const char *code, uint64_t value, const char *what)
{
    if (!cursor_ok(&g->cursor) || g->bad)
        return false;
    error_set(g->err, ERR_CORRUPT, g->name, at, "%s: %" PRIu64, what, value);
    error_code(g->err, code);
    g->bad = true;
    return false;
}

static struct bytes take_string(struct gguf *g)
{
    return cursor_take(&g->cursor, take_size(g));
}

/* --- values ------------------------------------------------------------------------------- */

/* Bytes per element of a type of fixed size; 0 for strings and arrays. */
static const uint8_t widths[GGUF_TYPES] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};

static void take_scalar(struct gguf *g, struct gguf_value *v)
{
    switch (v->type) {
    case GGUF_U8:
    case GGUF_BOOL: v->integer = cursor_u8(&g->cursor); break;
    case GGUF_I8: v->integer = (uint64_t)(int64_t)(int8_t)cursor_u8(&g->cursor); break;
    case GGUF_U16: v->integer = take16(g); break;
    case GGUF_I16: v->integer = (uint64_t)(int64_t)(int16_t)take16(g); break;
    case GGUF_U32: v->integer = take32(g); break;
    case GGUF_I32: v->integer = (uint64_t)(int64_t)(int32_t)take32(g); break;
    case GGUF_F32: v->real = float_of(take32(g)); break;
    case GGUF_F64: v->real = double_of(take64(g)); break;
    default: v->integer = take64(g);
    }
}

static bool take_type(struct gguf *g, enum gguf_type *type)
{
    const uint64_t at = cursor_offset(&g->cursor);
    const uint32_t number = take32(g);
    *type = GGUF_U8;
    if (number >= GGUF_TYPES)
        return corrupt(g, at, "bad-type", number, "no type of a value");
    *type = (enum gguf_type)number;
    return cursor_ok(&g->cursor);
}

/* An array's element type and count; *v then knows where its elements begin. */
static bool take_array(struct gguf *g, struct gguf_value *v)
{
    if (!take_type(g, &v->elements))
        return false;
    v->count = take_size(g);
    v->at = cursor_offset(&g->cursor);
    return cursor_ok(&g->cursor);
}

/* Move past the elements of an array; `depth` counts the arrays around them. */
static bool skip_elements(struct gguf *g, const struct gguf_value *array, unsigned depth)
{
    uint64_t bytes;
    const unsigned width = widths[array->elements];
    if (width) {
        if (!mul_u64(array->count, width, &bytes))
            return corrupt(g, array->at, "bad-count", array->count, "elements of an array");
        cursor_take(&g->cursor, bytes);
        return cursor_ok(&g->cursor);
    }
    if (array->elements == GGUF_ARRAY && depth == DEPTH_MAX)
        return corrupt(g, array->at, "too-deep", DEPTH_MAX, "arrays in arrays, deeper than");
    for (uint64_t i = 0; i < array->count && cursor_ok(&g->cursor); i++) {
        struct gguf_value inner = {.type = array->elements};
        if (array->elements == GGUF_STRING)
            take_string(g);
        else if (!take_array(g, &inner) || !skip_elements(g, &inner, depth + 1))
            return false;
    }
    return cursor_ok(&g->cursor);
}

bool gguf_pair(struct gguf *g, struct gguf_pair *pair)
{
    if (g->bad || !g->pairs_left)
        return false;
    g->pairs_left--;
    pair->offset = cursor_offset(&g->cursor);
    pair->key = take_string(g);
    if (cursor_ok(&g->cursor) && !pair->key.len)
        return corrupt(g, pair->offset, "bad-key", 0, "bytes of a pair's key");
    struct gguf_value *v = &pair->value;
    *v = (struct gguf_value){0};
    if (!take_type(g, &v->type))
        return false;
    v->at = cursor_offset(&g->cursor);
    if (v->type == GGUF_ARRAY)
        return take_array(g, v) && skip_elements(g, v, 1);
    if (v->type == GGUF_STRING)
        v->text = take_string(g);
    else
        take_scalar(g, v);
    g->odd_bools |= v->type == GGUF_BOOL && v->integer > 1;
    return cursor_ok(&g->cursor);
}

bool gguf_tensor(struct gguf *g, struct gguf_tensor *t)
{
    if (g->bad || g->pairs_left || !g->tensors_left)
        return false;
    g->tensors_left--;
    t->at = cursor_offset(&g->cursor);
    t->name = take_string(g);
    t->rank = take32(g);
    if (t->rank > GGUF_RANK_MAX)
        return corrupt(g, t->at, "bad-rank", t->rank, "dimensions of a tensor");
    for (unsigned d = t->rank; d-- > 0;)
        t->shape[d] = take_size(g);
    t->type = take32(g);
    t->offset = take64(g);
    return cursor_ok(&g->cursor);
}

/* --- the whole header --------------------------------------------------------------------- */

/* Magic, version and counts. */
static bool gguf_begin(struct gguf *g, struct bytes head)
{
    g->cursor = cursor_over(head, 0);
    g->bad = g->odd_bools = false;
    const struct bytes magic = cursor_take(&g->cursor, 4);
    if (magic.at && memcmp(magic.at, "GGUF", 4) != 0)
        return corrupt(g, 0, "bad-magic", 0, "no GGUF file");
    const uint32_t version = cursor_u32le(&g->cursor);
    g->big = (version & 0xFFFF) == 0 && version;
    g->version = g->big ? __builtin_bswap32(version) : version;
    if (g->version < 1 || g->version > 3)
        return corrupt(g, 4, "unknown-version", g->version, "versions 1 to 3 are known, not");
    g->tensors_left = g->tensor_count = take_size(g);
    g->pairs_left = g->pair_count = take_size(g);
    if (g->tensor_count > INT64_MAX || g->pair_count > INT64_MAX)
        return corrupt(g, 8, "bad-count",
                       g->tensor_count > INT64_MAX ? g->tensor_count : g->pair_count,
                       "an impossible number of tensors or pairs");
    return cursor_ok(&g->cursor);
}

bool gguf_key_is(const struct gguf_pair *p, const char *key)
{
    return p->key.len == strlen(key) && memcmp(p->key.at, key, p->key.len) == 0;
}

static bool note_alignment(struct gguf *g, const struct gguf_pair *p)
{
    const uint64_t a = p->value.integer;
    if (p->value.type != GGUF_U32)
        return corrupt(g, p->offset, "bad-alignment", p->value.type,
                       GGUF_KEY_ALIGNMENT " is not of type 4, uint32, but");
    if (!a || (a & (a - 1)) || a > ALIGN_MAX)
        return corrupt(g, p->offset, "bad-alignment", a,
                       GGUF_KEY_ALIGNMENT " is not a power of two up to 2^30");
    g->alignment = a;
    return true;
}

/* Walk over the whole header once. False: it has a defect (g->bad), or the bytes have ended. */
static bool walk(struct gguf *g, struct bytes head)
{
    struct gguf_pair pair;
    struct gguf_tensor tensor;
    if (!gguf_begin(g, head))
        return false;
    g->alignment = GGUF_ALIGNMENT;
    while (gguf_pair(g, &pair))
        if (gguf_key_is(&pair, GGUF_KEY_ALIGNMENT) && !note_alignment(g, &pair))
            return false;
    while (gguf_tensor(g, &tensor))
        continue;
    if (g->bad || !cursor_ok(&g->cursor))
        return false;
    g->data = (cursor_offset(&g->cursor) + g->alignment - 1) / g->alignment * g->alignment;
    return true;
}

/* Read on until the first `len` bytes are in memory. */
static enum status read_more(struct gguf *g, const struct source *s, size_t len)
{
    uint8_t *head = realloc(g->head, len ? len : 1);
    if (!head)
        return error_memory_at(g->err, s->name);
    g->head = head;
    if (source_read(s, g->len, head + g->len, len - g->len, g->err) == OK)
        g->len = len;
    return g->err->status;
}

/* Whether a text tool has rewritten the header: it replaces what is not UTF-8 by EF BF BD. */
static bool was_text(const struct gguf *g)
{
    const struct bytes head = {g->head, g->len};
    for (size_t i = 8; i + 3 <= head.len && i < 4096; i++)
        if (memcmp(head.at + i, "\xEF\xBF\xBD", 3) == 0)
            return true;
    return false;
}

static void cut_short(struct gguf *g, const struct source *s)
{
    const bool whole = g->len == s->size;
    error_set(g->err, whole ? ERR_CORRUPT : ERR_LIMIT, s->name, g->len, "%s%s",
              whole ? NEED_MORE_TEXT : "the header goes on past the largest that is read",
              was_text(g) ? "; bytes EF BF BD in it say that a text tool has changed the file"
                          : "");
    if (whole)
        error_code(g->err, "truncated");
}

enum status gguf_open(struct gguf *g, const struct source *s, struct error *err)
{
    const uint64_t most = s->size < LIMIT_GGUF_HEADER ? s->size : LIMIT_GGUF_HEADER;
    *g = (struct gguf){.name = s->name, .err = err};
    bool whole = false;
    for (uint64_t want = FIRST_READ; !whole && err->status == OK; want *= 2) {
        whole = read_more(g, s, (size_t)(want < most ? want : most)) == OK &&
                walk(g, (struct bytes){g->head, g->len});
        if (!whole && err->status == OK && g->len == most)
            cut_short(g, s);
    }
    if (whole)
        gguf_begin(g, (struct bytes){g->head, g->len});
    return err->status;
}

void gguf_close(struct gguf *g)
{
    free(g->head);
    g->head = NULL;
}

/* --- copies -------------------------------------------------------------------------------- */

static void copy_elements(struct gguf *g, enum gguf_type type, uint64_t count, struct text *out)
{
    const unsigned width = widths[type];
    for (uint64_t i = 0; i < count && !out->failed; i++) {
        struct gguf_value inner = {.type = type};
        struct bytes text = {0};
        if (type == GGUF_ARRAY) {
            take_array(g, &inner);
            text_le(out, inner.elements, 4);
            text_le(out, inner.count, 8);
        } else if (type == GGUF_STRING) {
            text = take_string(g);
            text_le(out, text.len, 8);
        } else {
            const uint64_t word = width == 1   ? cursor_u8(&g->cursor)
                                  : width == 2 ? take16(g)
                                  : width == 4 ? take32(g)
                                               : take64(g);
            text_le(out, word, width);
        }
        if (text.len)
            text_add(out, text.at, text.len);
        if (type == GGUF_ARRAY)
            copy_elements(g, inner.elements, inner.count, out);
    }
}

bool gguf_copy(const struct gguf *g, const struct gguf_value *v, struct text *out)
{
    struct gguf at = *g; /* a cursor of its own */
    const uint64_t start = v->type == GGUF_ARRAY ? v->at - 4 - (g->version == 1 ? 4 : 8) : v->at;
    at.cursor = cursor_over((struct bytes){g->head + start, g->len - start}, start);
    copy_elements(&at, v->type, 1, out);
    return !out->failed;
}

/* --- as JSON ------------------------------------------------------------------------------ */

bool gguf_negative(const struct gguf_value *v)
{
    return (v->type == GGUF_I8 || v->type == GGUF_I16 || v->type == GGUF_I32 ||
            v->type == GGUF_I64) &&
           (int64_t)v->integer < 0;
}

static void put_real(struct text *out, double real)
{
    struct dtype wide;
    char digits[40];
    if (!isfinite(real)) {
        text_adds(out, "null");
        return;
    }
    dtype_find("float64", &wide);
    element_print(&wide, &real, 0, digits, sizeof(digits));
    text_adds(out, digits);
}

static void put_elements(struct gguf *g, const struct gguf_value *array, struct text *out);

static void put_value(struct gguf *g, const struct gguf_value *v, struct text *out)
{
    if (v->type == GGUF_ARRAY)
        put_elements(g, v, out);
    else if (v->type == GGUF_STRING)
        text_json(out, (const char *)v->text.at, v->text.len);
    else if (v->type == GGUF_BOOL)
        text_adds(out, v->integer ? "true" : "false");
    else if (v->type == GGUF_F32 || v->type == GGUF_F64)
        put_real(out, v->real);
    else if (gguf_negative(v))
        text_addf(out, "%" PRId64, (int64_t)v->integer);
    else
        text_addf(out, "%" PRIu64, v->integer);
}

/* The cursor is at the first element. */
static void put_elements(struct gguf *g, const struct gguf_value *array, struct text *out)
{
    text_addc(out, '[');
    for (uint64_t i = 0; i < array->count && !out->failed; i++) {
        struct gguf_value v = {.type = array->elements};
        if (i)
            text_addc(out, ',');
        if (v.type == GGUF_STRING)
            v.text = take_string(g);
        else if (v.type == GGUF_ARRAY)
            take_array(g, &v);
        else
            take_scalar(g, &v);
        put_value(g, &v, out);
    }
    text_addc(out, ']');
}

bool gguf_json(const struct gguf *g, const struct gguf_value *v, struct text *out)
{
    struct gguf at = *g; /* a cursor of its own */
    if (v->type == GGUF_ARRAY)
        at.cursor = cursor_over((struct bytes){g->head + v->at, g->len - v->at}, v->at);
    put_value(&at, v, out);
    return !out->failed;
}

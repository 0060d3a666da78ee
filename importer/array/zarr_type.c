/*
 * zarr_type.c - the element type of a zarr array, and its fill value: the element that all of
 * an absent chunk is made of.
 *
 * Version 2 has NumPy's spellings, with the byte order, and TensorStore's words ("bfloat16",
 * "int4"); version 3 has names, some with a configuration. In both, types of less than a byte
 * take one byte per element.
 *
 * Fill values: numbers; true, false; "NaN", "Infinity", "-Infinity"; "0x7fc00000" (the bits,
 * version 3); [re, im] of these; base64 for the bytes of S and V (version 2) and for bytes
 * (version 3), where a list of numbers is allowed, too; text; integers and "NaT" for times.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "catalog/data/codec/base64.h"
#include "catalog/data/codec/codec.h"
#include "catalog/data/convert/convert.h"
#include "importer/array/zarr_value.h"

#define ELEMENT_BYTES 8192 /* of the widest fixed-size element: void65528 */

/* --- types ------------------------------------------------------------------------------ */

static bool keep_type(struct zarr_parsing *z, const char *dtype, unsigned item)
{
    const char *kept = arena_copy(z->arena, dtype, strlen(dtype));
    dtype_find(kept, &z->type.dtype);
    z->array->dtype = z->type.dtype.name;
    z->type.item = item;
    z->type.swap = dtype_swap_width(&z->type.dtype);
    return !z->arena->failed;
}

static bool keep_numpy(struct zarr_parsing *z, const struct numpy_type *t)
{
    if (!keep_type(z, t->dtype, t->item))
        return false;
    z->type.big = t->swap != 0;
    if (*t->strings == 'U')
        z->type.swap = 4;
    snprintf(z->type.strings, sizeof(z->type.strings), "%s", t->strings);
    return true;
}

static bool unknown_type(struct zarr_parsing *z, const char *name)
{
    char dtype[NUMPY_TYPE_BYTES + 16];
    snprintf(dtype, sizeof(dtype), "unknown(%s)", name);
    return keep_type(z, dtype, 0) &&
           zarr_unreadable(z, "its data type \"%s\" is not known here", name);
}

static bool structured(struct zarr_parsing *z, const struct zarr_value *v)
{
    error_set(z->err, ERR_UNSUPPORTED, z->source, v->at,
              "a structured dtype: its records are not a plain tensor");
    error_code(z->err, "structured-dtype");
    return false;
}

/* A type by our own name, which TensorStore and version 3 use, too. */
static bool named_type(struct zarr_parsing *z, const char *name, bool *found)
{
    struct dtype d;
    dtype_find(name, &d);
    *found = (d.kind == DTYPE_BOOL || d.kind == DTYPE_INT || d.kind == DTYPE_UINT ||
              d.kind == DTYPE_FLOAT || d.kind == DTYPE_COMPLEX) &&
             *name != 'q';
    return !*found || keep_type(z, d.name, d.bits % 8 ? 1 : d.bits / 8);
}

bool zarr_type_v2(struct zarr_parsing *z, const struct zarr_value *v)
{
    char text[NUMPY_TYPE_BYTES];
    struct numpy_type numpy;
    bool found;
    if (v->type == JSON_ARRAY)
        return structured(z, v);
    if (!zarr_word(z, v, text, sizeof(text)) || !*text)
        return zarr_bad(z, v, "dtype is not a short string");
    z->fill_is_bytes = strchr("SV", text[strspn(text, "<>|=")]) != NULL;
    z->fill_by_str = strcmp(text + strspn(text, "<>|="), "O") == 0;
    if (z->fill_by_str)
        return keep_type(z, "string", 0); /* its first filter says what it really is */
    if (!named_type(z, text, &found) || found)
        return z->err->status == OK;
    return numpy_type_parse(text, &numpy) ? keep_numpy(z, &numpy) : unknown_type(z, text);
}

/* Data types of version 3 whose names differ from ours. `numpy`, where set, is the NumPy
 * type that replaces them, with the number of the configuration's `member` for %llu. */
static const struct {
    const char *name, *dtype, *member, *numpy;
    unsigned divisor; /* bytes per unit, by which the member is divided */
    bool bytes;       /* fill values are given as bytes */
} names_v3[] = {
    {"complex_float16", "complex32", NULL, NULL, 0, false},
    {"complex_float32", "complex64", NULL, NULL, 0, false},
    {"complex_float64", "complex128", NULL, NULL, 0, false},
    {"bytes", "string", NULL, NULL, 0, true},
    {"variable_length_bytes", "string", NULL, NULL, 0, true},
    {"string", "string", NULL, NULL, 0, false},
    {"fixed_length_utf32", NULL, "length_bytes", "<U%llu", 4, false},
    {"null_terminated_bytes", NULL, "length_bytes", "|S%llu", 1, true},
    {"raw_bytes", NULL, "length_bytes", "|V%llu", 1, true},
};

/* A type whose width is in its configuration. */
static bool sized_type(struct zarr_parsing *z, const struct zarr_value *configuration, size_t row,
                       const char *name)
{
    struct zarr_value m;
    char text[NUMPY_TYPE_BYTES];
    struct numpy_type numpy;
    struct json j;
    uint64_t length = 0;
    if (!zarr_members(z, configuration, names_v3[row].member, &m, NULL))
        return false;
    if (m.type == JSON_NUMBER) {
        zarr_enter(z, &m, &j);
        json_u64(&j, &length);
    }
    if (!length || length % names_v3[row].divisor)
        return unknown_type(z, name);
    snprintf(text, sizeof(text), "%c%c%llu", names_v3[row].numpy[0], names_v3[row].numpy[1],
             (unsigned long long)(length / names_v3[row].divisor));
    return numpy_type_parse(text, &numpy) ? keep_numpy(z, &numpy) : unknown_type(z, name);
}

/* The configuration {"unit": "s", "scale_factor": 10} of
 * numpy.datetime64 and numpy.timedelta64. */
static bool time_type(struct zarr_parsing *z, const struct zarr_value *configuration,
                      const char *name)
{
    struct zarr_value m[2];
    char unit[8], text[NUMPY_TYPE_BYTES];
    struct numpy_type numpy;
    struct json j;
    uint64_t scale = 1;
    if (configuration->type != JSON_OBJECT ||
        !zarr_members(z, configuration, "unit scale_factor", m, NULL) ||
        !zarr_word(z, &m[0], unit, sizeof(unit)))
        return z->err->status == OK && unknown_type(z, name);
    if (m[1].type != JSON_FAIL) {
        zarr_enter(z, &m[1], &j);
        if (!json_u64(&j, &scale) || !scale || scale > INT32_MAX)
            return unknown_type(z, name);
    }
    char code = strcmp(name, "numpy.datetime64") == 0 ? 'M' : 'm';
    if (strcmp(unit, "generic") == 0)
        snprintf(text, sizeof(text), "<%c8", code);
    else if (scale == 1)
        snprintf(text, sizeof(text), "<%c8[%s]", code, unit);
    else
        snprintf(text, sizeof(text), "<%c8[%llu%s]", code, (unsigned long long)scale, unit);
    return numpy_type_parse(text, &numpy) ? keep_numpy(z, &numpy) : unknown_type(z, name);
}

/* "r16": 16 raw bits. */
static bool raw_bits(const char *name, char *dtype, size_t size, unsigned *bytes)
{
    struct dtype d;
    if (*name != 'r' || name[1] < '1' || name[1] > '9')
        return false;
    snprintf(dtype, size, "void%s", name + 1);
    dtype_find(dtype, &d);
    *bytes = d.block_bytes;
    return d.kind == DTYPE_VOID;
}

static bool type_by_name(struct zarr_parsing *z, const char *name, const struct zarr_value *v,
                         const struct zarr_value *configuration)
{
    char dtype[NUMPY_TYPE_BYTES + 8];
    unsigned bytes;
    bool found;
    if (strcmp(name, "struct") == 0 || strcmp(name, "structured") == 0)
        return structured(z, v);
    if (strncmp(name, "numpy.datetime64", 17) == 0 || strncmp(name, "numpy.timedelta64", 18) == 0)
        return time_type(z, configuration, name);
    for (size_t i = 0; i < sizeof(names_v3) / sizeof(names_v3[0]); i++) {
        if (strcmp(name, names_v3[i].name) != 0)
            continue;
        z->fill_is_bytes = names_v3[i].bytes;
        if (!names_v3[i].dtype)
            return sized_type(z, configuration, i, name);
        return strcmp(names_v3[i].dtype, "string") == 0 ? keep_type(z, "string", 0)
                                                        : named_type(z, names_v3[i].dtype, &found);
    }
    if (raw_bits(name, dtype, sizeof(dtype), &bytes)) {
        z->fill_is_bytes = true;
        return keep_type(z, dtype, bytes);
    }
    if (!named_type(z, name, &found))
        return false;
    return found || unknown_type(z, name);
}

bool zarr_type_v3(struct zarr_parsing *z, const struct zarr_value *v)
{
    char name[NUMPY_TYPE_BYTES];
    struct zarr_value m[2] = {{0}};
    if (v->type == JSON_OBJECT && !zarr_members(z, v, "name configuration", m, NULL))
        return false;
    if (!zarr_word(z, v->type == JSON_OBJECT ? &m[0] : v, name, sizeof(name)))
        return zarr_bad(z, v, "data_type is neither a short name nor an object with one");
    return type_by_name(z, name, v, &m[1]);
}

/* --- fill values ------------------------------------------------------------------------ */

static bool bad_fill(struct zarr_parsing *z)
{
    return zarr_unreadable(z, "its fill value does not fit a %s array", z->array->dtype);
}

/* Keep the fill element, unless it is all zeros, which is the default. */
static bool keep_fill(struct zarr_parsing *z, const void *bytes, size_t len)
{
    const uint8_t *at = bytes;
    size_t zeros = 0;
    while (zeros < len && !at[zeros])
        zeros++;
    if (zeros == len)
        return true;
    const void *kept = arena_copy(z->arena, bytes, len);
    z->array->grid.fill = (struct bytes){kept, len};
    return !z->arena->failed;
}

static bool converted(const char *from, const void *value, const struct dtype *to, void *out)
{
    struct dtype d;
    struct converter c;
    struct error ignored = {.offset = NO_OFFSET};
    uint64_t at;
    dtype_find(from, &d);
    return converter_find(&d, to, &c, &ignored) == OK && c.run(&c, value, out, 1, &at) == OK;
}

/* "0x7fc00000": the bits of one element, with exactly as many digits as it has room for. */
static bool bit_pattern(struct bytes text, const struct dtype *d, void *out)
{
    uint64_t value = 0;
    size_t bytes = d->bits % 8 ? 1 : d->bits / 8;
    if (text.len != 2 + 2 * bytes || bytes > 8 || memcmp(text.at, "0x", 2) != 0)
        return false;
    for (size_t i = 2; i < text.len; i++) {
        uint8_t c = text.at[i];
        unsigned digit = c >= '0' && c <= '9'   ? c - 48u
                         : c >= 'a' && c <= 'f' ? c - 87u
                         : c >= 'A' && c <= 'F' ? c - 55u
                                                : 16;
        if (digit == 16)
            return false;
        value = value << 4 | digit;
    }
    if (d->bits < 64 && value >> d->bits)
        return false;
    for (size_t i = 0; i < bytes; i++)
        ((uint8_t *)out)[i] = (uint8_t)(value >> (8 * i));
    return true;
}

/* "NaN", "Infinity" and "-Infinity" as a double. */
static bool special(const struct json *j, double *value)
{
    bool known = json_is(j, "NaN") || json_is(j, "Infinity") || json_is(j, "-Infinity");
    *value = json_is(j, "NaN") ? NAN : json_is(j, "Infinity") ? INFINITY : -INFINITY;
    return known;
}

/* Convert the last token to one element of `d`, a type that is a single number. */
static bool number_fill(const struct json *j, const struct dtype *d, void *out)
{
    int64_t integer;
    uint64_t large;
    double real;
    if (j->type == JSON_STRING && d->kind == DTYPE_TIME && json_is(j, "NaT")) {
        store_u64le(out, (uint64_t)INT64_MIN);
        return true;
    }
    if (j->type == JSON_STRING && d->kind == DTYPE_FLOAT)
        return bit_pattern(j->text, d, out) ||
               (special(j, &real) && converted("float64", &real, d, out));
    struct dtype as = *d;
    if (d->kind == DTYPE_TIME)
        dtype_find("int64", &as);
    if (j->type == JSON_TRUE || j->type == JSON_FALSE) {
        integer = j->type == JSON_TRUE;
        return converted("int64", &integer, &as, out);
    }
    if (json_i64(j, &integer)) {
        bool fits = converted("int64", &integer, &as, out);
        if (fits && d->bits % 8 && d->kind == DTYPE_INT)
            *(uint8_t *)out = (uint8_t)integer; /* sign-extended, which is how TensorStore fills */
        return fits;
    }
    if (json_u64(j, &large))
        return converted("uint64", &large, &as, out);
    return json_real(j, &real) && converted("float64", &real, &as, out);
}

/* [re, im], or a number alone, which is both parts. */
static bool complex_fill(struct json *j, const struct dtype *d, uint8_t *out)
{
    struct dtype part;
    size_t width = d->bits / 16;
    dtype_find(width == 2 ? "float16" : width == 4 ? "float32" : "float64", &part);
    if (j->type != JSON_ARRAY)
        return number_fill(j, &part, out);
    for (int i = 0; i < 2; i++) {
        json_next(j);
        if (!number_fill(j, &part, out + (size_t)i * width))
            return false;
    }
    return json_next(j) == JSON_ARRAY_END;
}

/* Bytes as base64 or as a list of numbers. Returns their number, or SIZE_MAX. */
static size_t zarr_type_read_bytes(struct json *j, uint8_t *out, size_t room)
{
    size_t made = 0;
    if (j->type == JSON_STRING)
        return base64_decode(j->text, out, room);
    if (j->type != JSON_ARRAY)
        return SIZE_MAX;
    while (json_next(j) == JSON_NUMBER) {
        uint64_t byte;
        if (made == room || !json_u64(j, &byte) || byte > 255)
            return SIZE_MAX;
        out[made++] = (uint8_t)byte;
    }
    return j->type == JSON_ARRAY_END ? made : SIZE_MAX;
}

/* A number or a boolean as the fill value of strings: Python strings get its str();
 * for others only 0 is valid, which older versions of zarr-python wrote for "". */
static bool number_as_text(struct zarr_parsing *z, const struct json *j)
{
    int64_t number = 0;
    if (z->fill_by_str && j->type == JSON_TRUE)
        return keep_fill(z, "True", 4);
    if (z->fill_by_str && j->type == JSON_FALSE)
        return keep_fill(z, "False", 5);
    if (!json_i64(j, &number) || (!z->fill_by_str && number))
        return bad_fill(z);
    return !z->fill_by_str || keep_fill(z, j->text.at, j->text.len);
}

/* Fixed-width strings drop the characters that do not fit, as NumPy does. */
static bool zarr_type_keep_text(struct zarr_parsing *z, const uint8_t *text, size_t len)
{
    const char *strings = z->type.strings;
    const bool chars = *strings == 'U';
    uint64_t width, seen = 0;
    size_t end = 0;
    if ((!chars && *strings != 'S') || !codec_number(strings + 1, &width))
        return keep_fill(z, text, len);
    for (; end < len; end++) {
        seen += !chars || (text[end] & 0xC0) != 0x80;
        if (seen > width)
            break;
    }
    return keep_fill(z, text, end);
}

static bool string_fill(struct zarr_parsing *z, struct json *j)
{
    if (j->type == JSON_NUMBER || j->type == JSON_TRUE || j->type == JSON_FALSE)
        return number_as_text(z, j);
    if (!z->fill_is_bytes)
        return j->type == JSON_STRING ? zarr_type_keep_text(z, j->text.at, j->text.len)
                                      : bad_fill(z);
    size_t room = j->type == JSON_STRING ? j->text.len : cursor_left(&j->cursor);
    uint8_t *out = arena_alloc(z->arena, room ? room : 1);
    if (!out)
        return false;
    size_t len = zarr_type_read_bytes(j, out, room);
    if (len == SIZE_MAX)
        return bad_fill(z);
    while (*z->type.strings == 'S' && len && !out[len - 1])
        len--;
    return zarr_type_keep_text(z, out, len);
}

bool zarr_fill(struct zarr_parsing *z, const struct zarr_value *v)
{
    const struct dtype *d = &z->type.dtype;
    uint8_t element[ELEMENT_BYTES] = {0};
    struct json j;
    if (v->type == JSON_FAIL || v->type == JSON_NULL) {
        /* Strings are written only by zarr-python, which leaves out
         * chunks that hold nothing but "". */
        z->array->absent_is_lost = d->kind != DTYPE_STRING;
        return true;
    }
    if (d->kind == DTYPE_UNKNOWN)
        return true;
    zarr_enter(z, v, &j);
    if (d->kind == DTYPE_STRING)
        return string_fill(z, &j);
    bool known = d->kind == DTYPE_VOID
                     ? zarr_type_read_bytes(&j, element, sizeof(element)) == z->type.item
                 : d->kind == DTYPE_COMPLEX ? complex_fill(&j, d, element)
                                            : number_fill(&j, d, element);
    if (z->err->status != OK)
        return false;
    double zero;
    if (!known && json_real(&j, &zero) && zero == 0 && !signbit(zero))
        return true;
    return known ? keep_fill(z, element, z->type.item) : bad_fill(z);
}

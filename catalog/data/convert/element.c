/* element.c - single elements: element_get() and element_print() of convert.h. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "catalog/base/bits.h"
#include "catalog/data/convert/convert.h"
#include "catalog/data/convert/float_format.h"

/* --- values ---------------------------------------------------------------------------- */

/* The bits of number `index` in a packed run of numbers of `bits` bits. */
static uint64_t bits_at(const uint8_t *data, uint64_t index, unsigned bits)
{
    const uint8_t *at = data + index / 8 * bits + index % 8 * bits / 8;
    switch (bits) {
    case 64: return load_u64le(at);
    case 32: return load_u32le(at);
    case 16: return load_u16le(at);
    case 8: return *at;
    default: return *at >> index % 8 * bits % 8 & ((1U << bits) - 1);
    }
}

static double element_real_of(const char *name, unsigned bits, uint64_t code)
{
    if (bits == 64)
        return double_of(code);
    if (bits == 32)
        return float_of((uint32_t)code);
    const struct float_format *f = float_format_find(name);
    const uint32_t u = (uint32_t)code;
    return float_of(f ? float_decode(f, u) : e8m0_decode(u));
}

/* The name by which float_format_find() knows the parts of a dtype: float16 for complex32. (Larger
 * floats are recognised by their bits.) */
static const char *part_name(const struct dtype *d)
{
    return d->kind == DTYPE_COMPLEX && d->bits == 32 ? "float16" : d->name;
}

static enum element_type get_uint(uint64_t value, struct element *out)
{
    if (value > INT64_MAX) {
        out->large = value;
        return ELEMENT_LARGE;
    }
    out->integer = (int64_t)value;
    return ELEMENT_INTEGER;
}

enum element_type element_get(const struct dtype *d, const void *data, uint64_t index,
                              struct element *out)
{
    const unsigned bits = d->bits;
    const uint64_t sign = UINT64_C(1) << (bits - 1) % 64;
    switch (d->kind) {
    case DTYPE_BOOL: return get_uint(bits_at(data, index, 8) != 0, out);
    case DTYPE_UINT: return get_uint(bits_at(data, index, bits), out);
    case DTYPE_INT:
    case DTYPE_TIME:
        out->integer = (int64_t)((bits_at(data, index, bits) ^ sign) - sign);
        return ELEMENT_INTEGER;
    case DTYPE_FLOAT:
        if (bits == 6)
            return ELEMENT_NONE;
        out->real = element_real_of(d->name, bits, bits_at(data, index, bits));
        return ELEMENT_REAL;
    case DTYPE_COMPLEX:
        out->real = element_real_of(part_name(d), bits / 2, bits_at(data, 2 * index, bits / 2));
        out->imaginary =
            element_real_of(part_name(d), bits / 2, bits_at(data, 2 * index + 1, bits / 2));
        return ELEMENT_COMPLEX;
    default: return ELEMENT_NONE;
    }
}

/* --- decimals -------------------------------------------------------------------------- */

#define DIGITS_MAX 17 /* enough for any float64 */

/* 0.DDD * 10^point: 12.5 is {"125", 2}. */
struct decimal {
    char digits[DIGITS_MAX + 1];
    int point;
};

/* The precision of a float dtype: bits of its mantissa, and how to round to it. */
struct precision {
    const struct float_format *format; /* NULL: float64, float32 or e8m0 */
    unsigned mantissa;
    double least; /* smallest normal value */
};

static struct precision precision_of(const char *name, unsigned bits)
{
    const struct float_format *f = float_format_find(name);
    if (f)
        return (struct precision){f, f->mantissa, ldexp(1, 1 - (int)f->bias)};
    if (bits == 64)
        return (struct precision){NULL, 52, 0x1p-1022};
    if (bits == 32)
        return (struct precision){NULL, 23, 0x1p-126};
    return (struct precision){NULL, 0, 0x1p-127};
}

/* The nearest to `value` of the values with this precision. */
static double round_to(const struct precision *p, double value)
{
    if (p->format)
        return float_of(float_decode(p->format, float_encode64(p->format, double_bits(value))));
    if (p->mantissa == 52)
        return value;
    const float narrow = (float)value;
    return p->mantissa ? narrow : float_of(e8m0_decode(e8m0_encode(float_bits(narrow))));
}

static void decimal_trim(struct decimal *d)
{
    size_t len = strlen(d->digits);
    while (len > 1 && d->digits[len - 1] == '0')
        d->digits[--len] = '\0';
}

/* `value` > 0 rounded to `count` digits. The decimal point of printf() depends on the locale, so
 * everything but digits is skipped. */
static struct decimal decimal_of(double value, int count)
{
    char text[DIGITS_MAX + 32];
    snprintf(text, sizeof(text), "%.*e", count - 1, value);
    struct decimal d = {.point = 1};
    size_t len = 0;
    const char *c = text;
    for (; *c && *c != 'e'; c++)
        if (*c >= '0' && *c <= '9' && len < DIGITS_MAX)
            d.digits[len++] = *c;
    if (*c)
        d.point += (int)strtol(c + 1, NULL, 10);
    return d;
}

static double decimal_value(const struct decimal *d)
{
    char text[DIGITS_MAX + 32];
    snprintf(text, sizeof(text), "%se%d", d->digits, d->point - (int)strlen(d->digits));
    return strtod(text, NULL);
}

/* The next larger decimal with the same number of digits: 0.129 becomes 0.130. */
static void decimal_bump(struct decimal *d)
{
    size_t i = strlen(d->digits);
    while (i > 0 && d->digits[i - 1] == '9')
        d->digits[--i] = '0';
    if (i > 0) {
        d->digits[i - 1]++;
        return;
    }
    d->digits[0] = '1';
    d->point++;
}

/* The fast way for a float64 with few decimals, like 0.25 or 19.99: finds n and an integer `whole`
 * below 10^15 with whole / 10^n == value. Both are exact in float64 and the division rounds once,
 * like a correct parser, so this text reads back as the value; and no other text of at most 15
 * digits does. */
static bool decimal_of_few(double value, struct decimal *d)
{
    static const double most_whole = 1e15, most_power = 1e22;
    int after = 0;
    for (double power = 1; power <= most_power && value * power < most_whole;
         power *= 10, after++) {
        uint64_t whole = (uint64_t)(value * power);
        if ((double)whole != value * power || (double)whole / power != value)
            continue;
        char digits[DIGITS_MAX + 1];
        size_t at = DIGITS_MAX;
        digits[at] = '\0';
        for (; whole; whole /= 10)
            digits[--at] = (char)('0' + whole % 10);
        memcpy(d->digits, digits + at, DIGITS_MAX + 1 - at);
        d->point = (int)(DIGITS_MAX - at) - after;
        decimal_trim(d);
        return true;
    }
    return false;
}

/* The shortest decimal that reads back as `value`, positive and finite. */
static struct decimal decimal_shortest(const struct precision *p, double value)
{
    /* Decimals with this many digits are further apart than normal values, so no two read
     * back as the same one. If a shorter text will do, it is therefore this decimal without its
     * trailing zeros: start here, and drop these at the end. */
    int count = value < p->least ? 1 : (int)(p->mantissa * 0.30103);
    struct decimal d;
    if (p->mantissa == 52 && decimal_of_few(value, &d))
        return d;
    for (count = count ? count : 1; count < DIGITS_MAX; count++) {
        d = decimal_of(value, count);
        if (round_to(p, decimal_value(&d)) == value)
            goto found;
        /* Just above a power of two values are twice as far apart as just below it. So the
         * nearest decimal may lie below and read back as another value, while the next larger one
         * reads back as this one. */
        decimal_bump(&d);
        if (round_to(p, decimal_value(&d)) == value)
            goto found;
    }
    d = decimal_of(value, DIGITS_MAX);
found:
    decimal_trim(&d);
    return d;
}

/* --- text ------------------------------------------------------------------------------ */

/* Text written to a buffer of `size` bytes; `len` also counts what did not fit. */
struct sink {
    char *out;
    size_t size, len;
};

static void sink_put(struct sink *s, const char *text, size_t len)
{
    if (s->len < s->size) {
        const size_t room = s->size - s->len;
        memcpy(s->out + s->len, text, len < room ? len : room);
    }
    s->len += len;
}

static void sink_text(struct sink *s, const char *text)
{
    sink_put(s, text, strlen(text));
}

static void sink_zeros(struct sink *s, int count)
{
    for (int i = 0; i < count; i++)
        sink_put(s, "0", 1);
}

/* As Python's repr(): fixed-point from 1e-4 to below 1e16, else with an exponent of at least two
 * digits. */
static void print_decimal(struct sink *s, const struct decimal *d)
{
    const int len = (int)strlen(d->digits);
    if (d->point <= -4 || d->point > 16) {
        char exponent[16];
        snprintf(exponent, sizeof(exponent), "e%c%02d", d->point > 0 ? '+' : '-',
                 abs(d->point - 1));
        sink_put(s, d->digits, 1);
        if (len > 1)
            sink_put(s, ".", 1);
        sink_text(s, d->digits + 1);
        sink_text(s, exponent);
    } else if (d->point <= 0) {
        sink_text(s, "0.");
        sink_zeros(s, -d->point);
        sink_text(s, d->digits);
    } else if (len <= d->point) {
        sink_text(s, d->digits);
        sink_zeros(s, d->point - len);
        sink_text(s, ".0");
    } else {
        sink_put(s, d->digits, (size_t)d->point);
        sink_put(s, ".", 1);
        sink_text(s, d->digits + d->point);
    }
}

static void print_real(struct sink *s, const struct precision *p, double value)
{
    if (isnan(value)) {
        sink_text(s, "NaN");
        return;
    }
    if (signbit(value))
        sink_text(s, "-");
    if (isinf(value)) {
        sink_text(s, "Infinity");
    } else if (value == 0) {
        sink_text(s, "0.0");
    } else {
        const struct decimal d = decimal_shortest(p, fabs(value));
        print_decimal(s, &d);
    }
}

static void print_void(struct sink *s, const uint8_t *data, size_t len)
{
    static const char hex[] = "0123456789abcdef";
    sink_text(s, "\"");
    for (size_t i = 0; i < len; i++) {
        sink_put(s, &hex[data[i] >> 4], 1);
        sink_put(s, &hex[data[i] & 15], 1);
    }
    sink_text(s, "\"");
}

static void print_element(struct sink *s, const struct dtype *d, const void *data, uint64_t index)
{
    struct element e;
    char number[32];
    const bool complex = d->kind == DTYPE_COMPLEX;
    const struct precision p = precision_of(part_name(d), complex ? d->bits / 2 : d->bits);
    switch (element_get(d, data, index, &e)) {
    case ELEMENT_INTEGER:
        snprintf(number, sizeof(number), "%" PRId64, e.integer);
        sink_text(s, d->kind != DTYPE_BOOL ? number : e.integer ? "true" : "false");
        break;
    case ELEMENT_LARGE:
        snprintf(number, sizeof(number), "%" PRIu64, e.large);
        sink_text(s, number);
        break;
    case ELEMENT_REAL: print_real(s, &p, e.real); break;
    case ELEMENT_COMPLEX:
        sink_text(s, "[");
        print_real(s, &p, e.real);
        sink_text(s, ",");
        print_real(s, &p, e.imaginary);
        sink_text(s, "]");
        break;
    case ELEMENT_NONE:
        if (d->kind == DTYPE_VOID)
            print_void(s, (const uint8_t *)data + index * d->block_bytes, d->block_bytes);
        else
            sink_text(s, "null");
        break;
    }
}

size_t element_print(const struct dtype *d, const void *data, uint64_t index, char *out,
                     size_t size)
{
    struct sink s = {out, size, 0};
    print_element(&s, d, data, index);
    if (size)
        out[s.len < size ? s.len : size - 1] = '\0';
    return s.len;
}

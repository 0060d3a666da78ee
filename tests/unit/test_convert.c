#include <inttypes.h>
#include <locale.h>
#include <math.h>

#include "catalog/data/convert/convert.h"
#include "tests/unit/unit.h"

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

/* --- helpers --------------------------------------------------------------------------- */

static struct converter find(const char *from, const char *to)
{
    struct dtype a, b;
    struct converter c;
    struct error err = {0};
    dtype_find(from, &a);
    dtype_find(to, &b);
    if (converter_find_stored(&a, &b, &c, &err) != OK)
        fail_msg("%s to %s: %s", from, to, err.message);
    return c;
}

/* Convert, vectorised and not; all must fit and both must agree. */
static void convert(const char *from, const char *to, const void *src, void *dst, uint64_t count)
{
    const struct converter c = find(from, to);
    uint64_t nbytes, bad = 0;
    assert_true(dtype_nbytes(&c.to, count, &nbytes));
    uint8_t *scalar = malloc(nbytes + 1);
    assert_non_null(scalar);
    for (int twin = 0; twin < 2; twin++) {
        converter_scalar_only = twin;
        if (c.run(&c, src, twin ? scalar : dst, count, &bad) != OK)
            fail_msg("%s to %s: element %" PRIu64 " does not fit", from, to, bad);
    }
    converter_scalar_only = false;
    if (memcmp(scalar, dst, nbytes) != 0)
        fail_msg("%s to %s: vector and scalar differ", from, to);
    free(scalar);
}

/* One number as a code of up to 64 bits. */
static uint64_t convert_double(const char *to, double value)
{
    uint64_t code = 0;
    convert("float64", to, &value, &code, 1);
    return code;
}

static double decode(const char *from, uint64_t code)
{
    double value;
    convert(from, "float64", &code, &value, 1);
    return value;
}

static uint64_t noise(uint64_t *state)
{
    *state += UINT64_C(0x9E3779B97F4A7C15);
    uint64_t z = *state;
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

/* --- the formats ----------------------------------------------------------------------- */

/* Written down again here, from the definitions: 2^(E - bias) * (1 + M / 2^p). `beyond` is
 * what a finite value too large becomes. */
enum beyond { INFINITE, NOT_A_NUMBER, LARGEST };

static const struct layout {
    const char *name;
    unsigned bits, mantissa;
    int bias;
    unsigned max;
    enum beyond beyond;
    bool minus_zero;
} layouts[] = {
    {"float16", 16, 10, 15, 0x7BFF, INFINITE, true},
    {"bfloat16", 16, 7, 127, 0x7F7F, INFINITE, true},
    {"float8_e5m2", 8, 2, 15, 0x7B, INFINITE, true},
    {"float8_e4m3fn", 8, 3, 7, 0x7E, NOT_A_NUMBER, true},
    {"float8_e4m3fnuz", 8, 3, 8, 0x7F, NOT_A_NUMBER, false},
    {"float8_e5m2fnuz", 8, 2, 16, 0x7F, NOT_A_NUMBER, false},
    {"float8_e4m3b11fnuz", 8, 3, 11, 0x7F, NOT_A_NUMBER, false},
    {"float8_e3m4", 8, 4, 3, 0x6F, INFINITE, true},
    {"float8_e4m3", 8, 3, 7, 0x77, INFINITE, true},
    {"float4_e2m1fn", 4, 1, 1, 0x7, LARGEST, true},
};

/* The value of a positive finite code, by the definition. */
static double layout_value(const struct layout *f, unsigned code)
{
    const int exponent = (int)(code >> f->mantissa);
    const unsigned one = 1U << f->mantissa, m = code & (one - 1);
    const int scale = (exponent ? exponent : 1) - f->bias - (int)f->mantissa;
    return ldexp(exponent ? one + m : m, scale);
}

static void expect_code(const struct layout *f, double value, uint64_t want)
{
    const uint64_t got = convert_double(f->name, value);
    if (got != want)
        fail_msg("%a to %s: %#" PRIx64 ", not %#" PRIx64, value, f->name, got, want);
}

/* Every finite code has the value of the definition and comes back from it. */
TEST(codes_have_their_values)
{
    for (size_t i = 0; i < COUNT(layouts); i++) {
        const struct layout *f = &layouts[i];
        const unsigned sign = 1U << (f->bits - 1);
        for (unsigned code = 0; code <= f->max; code++) {
            const double want = layout_value(f, code), got = decode(f->name, code);
            if (got != want || signbit(got))
                fail_msg("%s %#x: %a, not %a", f->name, code, got, want);
            expect_code(f, got, code);
            if (code == 0 && !f->minus_zero)
                continue;
            const double negative = decode(f->name, code | sign);
            if (negative != -want || !signbit(negative))
                fail_msg("%s %#x: %a, not %a", f->name, code | sign, negative, -want);
            expect_code(f, negative, code | sign);
        }
    }
}

/* Halfway between neighbours rounds to the even one, a hair beside it to the nearer one. */
TEST(halfway_goes_to_even)
{
    for (size_t i = 0; i < COUNT(layouts); i++) {
        const struct layout *f = &layouts[i];
        const unsigned sign = 1U << (f->bits - 1);
        for (unsigned code = 0; code < f->max; code++) {
            const double middle = (layout_value(f, code) + layout_value(f, code + 1)) / 2;
            const unsigned even = code + (code & 1);
            const bool plus = f->minus_zero; /* else -0 becomes 0 */
            expect_code(f, middle, even);
            expect_code(f, nextafter(middle, 0), code);
            expect_code(f, nextafter(middle, INFINITY), code + 1);
            expect_code(f, -middle, even || plus ? even | sign : 0);
            expect_code(f, -nextafter(middle, 0), code || plus ? code | sign : 0);
            expect_code(f, -nextafter(middle, INFINITY), (code + 1) | sign);
        }
    }
}

static void expect_beyond(const struct layout *f, double value)
{
    const double got = decode(f->name, convert_double(f->name, value));
    const double infinity = copysign(INFINITY, value);
    const double largest = copysign(layout_value(f, f->max), value);
    const bool ok = f->beyond == INFINITE  ? got == infinity
                    : f->beyond == LARGEST ? got == largest
                                           : isnan(got);
    if (!ok)
        fail_msg("%a to %s: %a", value, f->name, got);
}

/* Values up to half a step above the largest one round to it. */
TEST(overflow_as_ml_dtypes_does)
{
    for (size_t i = 0; i < COUNT(layouts); i++) {
        const struct layout *f = &layouts[i];
        const double max = layout_value(f, f->max);
        const double edge = max + (max - layout_value(f, f->max - 1)) / 2;
        const double large[] = {nextafter(edge, INFINITY), edge * 2, 1e300, INFINITY};
        expect_code(f, nextafter(edge, 0), f->max);
        for (size_t j = 0; j < COUNT(large); j++) {
            expect_beyond(f, large[j]);
            expect_beyond(f, -large[j]);
        }
    }
}

/* Columns of the next table. */
static const char *const golden_names[] = {
    "float16",         "bfloat16",        "float8_e5m2",        "float8_e4m3fn",
    "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e4m3b11fnuz", "float8_e3m4",
    "float8_e4m3",     "float8_e8m0fnu",  "float4_e2m1fn",
};

/* What NumPy 2.4.6 and ml_dtypes 0.6.0 make of a float32. */
/* clang-format off */
static const struct {
    float value;
    uint16_t codes[COUNT(golden_names)];
} golden[] = {
    {0.1f, {0x2E66, 0x3DCD, 0x2E, 0x1D, 0x25, 0x32, 0x3D, 0x06, 0x1D, 0x7C, 0x00}},
    {-0.3f, {0xB4CD, 0xBE9A, 0xB5, 0xAA, 0xB2, 0xB9, 0xCA, 0x93, 0xAA, 0xFF, 0x09}},
    {3.14159f, {0x4248, 0x4049, 0x42, 0x45, 0x4D, 0x46, 0x65, 0x49, 0x45, 0x81, 0x05}},
    {0x1p-10f, {0x1400, 0x3A80, 0x14, 0x00, 0x01, 0x18, 0x08, 0x00, 0x00, 0x75, 0x00}},
    {0x1p-17f, {0x0080, 0x3700, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x6E, 0x00}},
    {-0.0f, {0x8000, 0x8000, 0x80, 0x80, 0x00, 0x00, 0x00, 0x80, 0x80, 0xFF, 0x08}},
    {1.0f, {0x3C00, 0x3F80, 0x3C, 0x38, 0x40, 0x40, 0x58, 0x30, 0x38, 0x7F, 0x02}},
    {-1.75f, {0xBF00, 0xBFE0, 0xBF, 0xBE, 0xC6, 0xC3, 0xDE, 0xBC, 0xBE, 0xFF, 0x0C}},
    {0.0625f, {0x2C00, 0x3D80, 0x2C, 0x18, 0x20, 0x30, 0x38, 0x04, 0x18, 0x7B, 0x00}},
    {-5.0f, {0xC500, 0xC0A0, 0xC5, 0xCA, 0xD2, 0xC9, 0xEA, 0xD4, 0xCA, 0xFF, 0x0E}},
    {30.5f, {0x4FA0, 0x41F4, 0x50, 0x5F, 0x67, 0x54, 0x7F, 0x70, 0x5F, 0x84, 0x07}},
    {31.0f, {0x4FC0, 0x41F8, 0x50, 0x60, 0x68, 0x54, 0x80, 0x70, 0x60, 0x84, 0x07}},
    {240.0f, {0x5B80, 0x4370, 0x5C, 0x77, 0x7F, 0x60, 0x80, 0x70, 0x77, 0x87, 0x07}},
    {247.9f, {0x5BBF, 0x4378, 0x5C, 0x77, 0x7F, 0x60, 0x80, 0x70, 0x77, 0x87, 0x07}},
    {248.0f, {0x5BC0, 0x4378, 0x5C, 0x78, 0x80, 0x60, 0x80, 0x70, 0x78, 0x87, 0x07}},
    {464.0f, {0x5F40, 0x43E8, 0x5F, 0x7E, 0x80, 0x63, 0x80, 0x70, 0x78, 0x88, 0x07}},
    {464.1f, {0x5F40, 0x43E8, 0x5F, 0x7F, 0x80, 0x63, 0x80, 0x70, 0x78, 0x88, 0x07}},
    {57344.0f, {0x7B00, 0x4760, 0x7B, 0x7F, 0x80, 0x7F, 0x80, 0x70, 0x78, 0x8F, 0x07}},
    {61439.0f, {0x7B80, 0x4770, 0x7B, 0x7F, 0x80, 0x7F, 0x80, 0x70, 0x78, 0x8F, 0x07}},
    {61440.0f, {0x7B80, 0x4770, 0x7C, 0x7F, 0x80, 0x80, 0x80, 0x70, 0x78, 0x8F, 0x07}},
    {-61440.0f, {0xFB80, 0xC770, 0xFC, 0xFF, 0x80, 0x80, 0x80, 0xF0, 0xF8, 0xFF, 0x0F}},
    {1e30f, {0x7C00, 0x714A, 0x7C, 0x7F, 0x80, 0x80, 0x80, 0x70, 0x78, 0xE3, 0x07}},
    {-INFINITY, {0xFC00, 0xFF80, 0xFC, 0xFF, 0x80, 0x80, 0x80, 0xF0, 0xF8, 0xFF, 0x0F}},
    {2.5f, {0x4100, 0x4020, 0x41, 0x42, 0x4A, 0x45, 0x62, 0x44, 0x42, 0x80, 0x04}},
    {15.75f, {0x4BE0, 0x417C, 0x4C, 0x58, 0x60, 0x50, 0x78, 0x70, 0x58, 0x83, 0x07}},
    {0x1p-127f, {0x0000, 0x0040, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00}},
    {0x1.8p-7f, {0x2200, 0x3C40, 0x22, 0x06, 0x0C, 0x26, 0x24, 0x01, 0x06, 0x79, 0x00}},
};
/* clang-format on */

TEST(golden_values)
{
    for (size_t i = 0; i < COUNT(golden); i++) {
        for (size_t j = 0; j < COUNT(golden_names); j++) {
            uint16_t code = 0;
            convert("float32", golden_names[j], &golden[i].value, &code, 1);
            if (code != golden[i].codes[j])
                fail_msg("%a to %s: %#x", (double)golden[i].value, golden_names[j], code);
            assert_int_equal(convert_double(golden_names[j], (double)golden[i].value), code);
        }
    }
}

/* Single conversions, as little-endian codes. */
static const struct {
    const char *from, *to;
    uint64_t code, want;
} pairs[] = {
    {"float32", "bfloat16", 0x3F800000, 0x3F80},
    {"float32", "bfloat16", 0x3F808000, 0x3F80},
    {"float32", "bfloat16", 0x3F818000, 0x3F82},
    {"float32", "bfloat16", 0x00017FFF, 0x0001},
    {"float32", "bfloat16", 0x00018000, 0x0002},
    {"float32", "bfloat16", 0x7F7F7FFF, 0x7F7F},
    {"float32", "bfloat16", 0x7F7F8000, 0x7F80},
    {"float32", "bfloat16", 0x80000000, 0x8000},
    {"float32", "bfloat16", 0x7F800001, 0x7FC0},
    {"float32", "bfloat16", 0xFF812345, 0xFFC1},
    {"float32", "float16", 0xFF812345, 0xFE09},
    {"float32", "float16", 0x477FEFFF, 0x7BFF},
    {"float32", "float16", 0x477FF000, 0x7C00},
    {"float32", "float16", 0x33800000, 0x0001},
    {"float32", "float16", 0x33000000, 0x0000},
    {"float32", "float16", 0x33000001, 0x0001},
    {"float32", "float16", 0xB2FFFFFF, 0x8000},
    {"bfloat16", "float32", 0x7F81, 0x7F810000},
    {"float16", "float32", 0x7C01, 0x7FC02000},
    {"float16", "float32", 0xFE09, 0xFFC12000},
    {"float64", "float32", UINT64_C(0x47EFFFFFF0000000), 0x7F800000},
    {"float64", "float32", UINT64_C(0x47EFFFFFEFFFFFFF), 0x7F7FFFFF},
    {"float64", "float32", UINT64_C(0xFFF0000000000001), 0xFFC00000},
    {"float64", "bfloat16", UINT64_C(0xFFF0000000000001), 0xFFC0},
    {"float32", "float8_e4m3fn", 0xFF800001, 0xFF},
    {"float32", "float8_e5m2", 0x7F800001, 0x7E},
    {"float32", "float8_e4m3fnuz", 0x7F800001, 0x80},
    {"float8_e4m3fnuz", "float32", 0x80, 0xFFC00000},
    {"float8_e4m3fn", "float32", 0x7F, 0x7FC00000},
    {"float8_e8m0fnu", "float32", 0x00, 0x00400000},
    {"float8_e8m0fnu", "float32", 0x01, 0x00800000},
    {"float8_e8m0fnu", "float32", 0xFE, 0x7F000000},
    {"float8_e8m0fnu", "float32", 0xFF, 0x7FC00000},
    {"float32", "float8_e8m0fnu", 0x7F3FFFFF, 0xFE},
    {"float32", "float8_e8m0fnu", 0x7F400000, 0xFF},
    {"float32", "float8_e8m0fnu", 0x00400001, 0x01},
    {"float32", "float8_e8m0fnu", 0x00000001, 0x00},
    {"float32", "float8_e8m0fnu", 0x00000000, 0xFF},
    {"float32", "float8_e8m0fnu", 0x40400000, 0x81},
    /* Rounded once: via float32 each would be a tie, and go the other way. */
    {"float64", "bfloat16", UINT64_C(0x3FF0100000000001), 0x3F81},
    {"float64", "bfloat16", UINT64_C(0x3FF02FFFFFFFFFFF), 0x3F81},
    {"float64", "float16", UINT64_C(0x3FF0020000000001), 0x3C01},
    {"float64", "float8_e4m3fn", UINT64_C(0x3FF1000000000001), 0x39},
    {"float64", "float8_e5m2", UINT64_C(0x40EDFFFFFFFFFFFF), 0x7B},
    {"int64", "float32", (UINT64_C(1) << 60) + (UINT64_C(1) << 36) + 1, 0x5D800001},
    {"int64", "bfloat16", (UINT64_C(1) << 60) + (UINT64_C(1) << 52) + 1, 0x5D81},
    {"int64", "bfloat16", 0 - (UINT64_C(1) << 60) - (UINT64_C(1) << 52) - 1, 0xDD81},
    {"int64", "bfloat16", (UINT64_C(1) << 60) + (UINT64_C(1) << 52), 0x5D80},
    {"uint64", "float32", UINT64_MAX, 0x5F800000},
    {"uint64", "float32", UINT64_C(0xFFFFFF7FFFFFFFFF), 0x5F7FFFFF},
    {"uint64", "float64", UINT64_MAX, UINT64_C(0x43F0000000000000)},
    {"int64", "float64", (UINT64_C(1) << 53) + 1, UINT64_C(0x4340000000000000)},
    {"int32", "bfloat16", 16842753, 0x4B81},
    {"int64", "float16", 65519, 0x7BFF},
    {"int64", "float16", 65520, 0x7C00},
    {"int8", "float8_e4m3fn", 0x80, 0xF0},
    {"bool", "float32", 0x02, 0x3F800000},
    {"bool", "uint8", 0xFF, 0x01},
    {"float32", "bool", 0x3F800000, 0x01},
    {"float32", "int8", 0x80000000, 0x00},
    {"uint64", "int64", INT64_MAX, INT64_MAX},
    {"float64", "uint64", UINT64_C(0x43EFFFFFFFFFFFFF), UINT64_C(0xFFFFFFFFFFFFF800)},
    {"float64", "int64", UINT64_C(0xC3E0000000000000), UINT64_C(1) << 63},
    {"qint8", "int32", 0x85, 0xFFFFFF85},
    {"quint8", "float32", 0x85, 0x43050000},
    {"int16", "qint8", 0xFF80, 0x80},
    {"float16", "complex64", 0xC000, 0xC0000000},
    {"uint8", "complex32", 3, 0x4200},
    {"complex32", "complex64", 0xC0003C00, UINT64_C(0xC00000003F800000)},
    {"complex64", "complex32", UINT64_C(0xC00000003F800000), 0xC0003C00},
};

TEST(single_conversions)
{
    for (size_t i = 0; i < COUNT(pairs); i++) {
        uint64_t got[2] = {0, 0};
        convert(pairs[i].from, pairs[i].to, &pairs[i].code, got, 1);
        if (got[0] != pairs[i].want || got[1] != 0)
            fail_msg("%s %#" PRIx64 " to %s: %#" PRIx64, pairs[i].from, pairs[i].code, pairs[i].to,
                     got[0]);
    }
}

/* --- all pairs ------------------------------------------------------------------------- */

#define EVERY 65536

/* A way to meet most values of a dtype: all codes of narrow ones, and of wide ones random
 * bits, every exponent with mantissas at the edges of others, and small integers. */
static uint64_t sample(const struct dtype *d, uint64_t i, uint64_t *random)
{
    const unsigned part = d->kind == DTYPE_COMPLEX ? d->bits / 2 : d->bits;
    if (part <= 16)
        return i;
    uint64_t r = noise(random);
    const unsigned zeros = (unsigned)(r & 63);
    r = noise(random);
    if (i % 3 == 0)
        r = r >> zeros << zeros;
    if (i % 7 == 0)
        r += (uint64_t)(i % 3) - 1;
    if (d->kind != DTYPE_FLOAT)
        return i % 2 ? r : r >> zeros;
    if (i % 2) { /* an exponent that narrow floats have */
        const unsigned mantissa = part == 64 ? 52 : 23;
        const uint64_t bias = part == 64 ? 1023 : 127;
        r &= (UINT64_C(1) << mantissa) - 1;
        r |= (bias + i / 2 % 60 - 30) << mantissa | (i & 512) << (part - 10);
    }
    return r;
}

static uint8_t *samples(const struct dtype *d)
{
    uint64_t nbytes, random = d->bits;
    assert_true(dtype_nbytes(d, EVERY, &nbytes));
    uint8_t *out = malloc(nbytes);
    assert_non_null(out);
    const unsigned width = d->bits < 8 ? 1 : d->bits / 8 > 8 ? 8 : d->bits / 8;
    for (uint64_t i = 0; i < nbytes / width; i++) {
        const uint64_t code = sample(d, i, &random);
        memcpy(out + i * width, &code, width);
    }
    return out;
}

static bool numeric(const struct dtype *d)
{
    return d->kind <= DTYPE_COMPLEX && d->bits != 6;
}

/* Convert what fits, skipping what does not: the same with vectors and without. */
static void compare_twins(const struct converter *c, const uint8_t *src)
{
    static uint8_t out[2][EVERY * 16];
    for (uint64_t at = 0; at < EVERY;) {
        uint64_t bad[2] = {0, 0}, nbytes = 0;
        enum status status[2];
        for (int twin = 0; twin < 2; twin++) {
            converter_scalar_only = twin;
            status[twin] =
                c->run(c, src + at * c->from.bits / 8, out[twin], EVERY - at, &bad[twin]);
        }
        converter_scalar_only = false;
        const uint64_t good = status[0] == OK ? EVERY - at : bad[0];
        dtype_nbytes(&c->to, good, &nbytes);
        if (status[0] != status[1] || bad[0] != bad[1] || memcmp(out[0], out[1], nbytes) != 0)
            fail_msg("%s to %s from %" PRIu64 ": vector and scalar differ", c->from.name,
                     c->to.name, at);
        /* Most values of a wide dtype do not fit a narrow one: do not look at all of them. */
        if (good < EVERY - at && at > 2000)
            return;
        at = (at + good + 8) / 8 * 8;
    }
}

TEST(vector_equals_scalar)
{
    const struct dtype *from, *to;
    for (size_t i = 0; (from = dtype_at(i)); i++) {
        if (!numeric(from))
            continue;
        uint8_t *src = samples(from);
        for (size_t j = 0; (to = dtype_at(j)); j++) {
            if (!numeric(to) || (from->kind == DTYPE_COMPLEX && to->kind != DTYPE_COMPLEX))
                continue;
            const struct converter c = find(from->name, to->name);
            compare_twins(&c, src);
        }
        free(src);
    }
}

/* float64 has a place for every value of up to 32 bits: there and back is the identity. */
TEST(there_and_back)
{
    const struct dtype *d;
    for (size_t i = 0; (d = dtype_at(i)); i++) {
        if (!numeric(d) || d->kind == DTYPE_COMPLEX || d->bits == 64 || d->bits == 8)
            continue;
        uint8_t *src = samples(d), *back = calloc(EVERY, 8);
        double *wide = calloc(EVERY, sizeof(double));
        convert(d->name, "float64", src, wide, EVERY);
        convert("float64", d->name, wide, back, EVERY);
        for (uint64_t j = 0; j < EVERY; j++) {
            const uint64_t at = j * d->bits / 8, width = d->bits < 8 ? 1 : d->bits / 8;
            if (!isnan(wide[j]) && memcmp(src + at, back + at, width) != 0)
                fail_msg("%s: element %" PRIu64 " comes back another", d->name, j);
        }
        free(src);
        free(back);
        free(wide);
    }
}

static bool has_nan(const struct dtype *d)
{
    return d->kind == DTYPE_FLOAT && d->bits > 6;
}

static void expect_nan_everywhere(const struct dtype *from, uint64_t code)
{
    const struct dtype *to;
    for (size_t i = 0; (to = dtype_at(i)); i++) {
        if (!has_nan(to))
            continue;
        uint64_t got = 0, bad;
        const struct converter c = find(from->name, to->name);
        assert_int_equal(c.run(&c, &code, &got, 1, &bad), OK);
        if (!isnan(decode(to->name, got)))
            fail_msg("%s %#" PRIx64 " to %s", from->name, code, to->name);
    }
}

/* NaN stays NaN, in all codes of 8 bits and some of 16. */
TEST(nan_stays_nan)
{
    const struct dtype *from;
    for (size_t i = 0; (from = dtype_at(i)); i++) {
        if (!has_nan(from) || from->bits > 16)
            continue;
        for (uint64_t code = 0; code < UINT64_C(1) << from->bits; code += from->bits == 16 ? 7 : 1)
            if (isnan(decode(from->name, code)))
                expect_nan_everywhere(from, code);
    }
}

/* --- what does not fit ----------------------------------------------------------------- */

/* Values that an integer dtype takes or refuses. */
static const struct {
    const char *to;
    double least, most; /* both fit, and one more in either direction does not */
} limits[] = {
    {"bool", 0, 1},
    {"int2", -2, 1},
    {"uint2", 0, 3},
    {"int4", -8, 7},
    {"uint4", 0, 15},
    {"int8", -128, 127},
    {"uint8", 0, 255},
    {"qint8", -128, 127},
    {"int16", -32768, 32767},
    {"uint16", 0, 65535},
    {"int32", -0x1p31, 0x1p31 - 1},
    {"qint32", -0x1p31, 0x1p31 - 1},
    {"uint32", 0, 0x1p32 - 1},
};

static void expect_fit(const char *from, const char *to, const void *code, bool fits)
{
    const struct converter c = find(from, to);
    for (int twin = 0; twin < 2; twin++) {
        uint64_t out = 0, bad = 99;
        converter_scalar_only = twin;
        const enum status got = c.run(&c, code, &out, 1, &bad);
        if (got != (fits ? OK : ERR_VALUE) || bad != (fits ? 99 : 0))
            fail_msg("%s to %s: case should%s fit", from, to, fits ? "" : " not");
    }
    converter_scalar_only = false;
}

TEST(integers_are_checked)
{
    for (size_t i = 0; i < COUNT(limits); i++) {
        const double values[] = {limits[i].least, limits[i].most, limits[i].least - 1,
                                 limits[i].most + 1};
        for (size_t j = 0; j < COUNT(values); j++) {
            const int64_t whole = (int64_t)values[j];
            expect_fit("float64", limits[i].to, &values[j], j < 2);
            expect_fit("int64", limits[i].to, &whole, j < 2);
            if (whole >= 0)
                expect_fit("uint64", limits[i].to, &whole, j < 2);
        }
        const double never[] = {0.5, NAN, INFINITY, -INFINITY, 1e300, -1e300, 0x1p64};
        for (size_t j = 0; j < COUNT(never); j++)
            expect_fit("float64", limits[i].to, &never[j], false);
        const uint64_t large = UINT64_MAX;
        expect_fit("uint64", limits[i].to, &large, false);
    }
    const double signed_edge[] = {-0x1p63, 0x1p63 - 1024, 0x1p63, nextafter(-0x1p63, -INFINITY)};
    const double unsigned_edge[] = {0, 0x1p64 - 2048, 0x1p64, -1};
    for (size_t j = 0; j < 4; j++) {
        expect_fit("float64", "int64", &signed_edge[j], j < 2);
        expect_fit("float64", "uint64", &unsigned_edge[j], j < 2);
    }
    const int64_t minus = -1;
    const uint64_t large = UINT64_C(1) << 63;
    expect_fit("int64", "uint64", &minus, false);
    expect_fit("uint64", "int64", &large, false);
    const float nan = NAN;
    const double wide_nan = NAN;
    expect_fit("float32", "float4_e2m1fn", &nan, false);
    expect_fit("float64", "float4_e2m1fn", &wide_nan, false);
}

/* The first bad element is named, wherever it is and whichever step finds it. */
TEST(first_bad_element)
{
    enum { MANY = 5000 };
    static float values[MANY];
    static int8_t out[MANY];
    static const uint64_t places[] = {0, 1, 7, 8, 31, 1023, 1024, 1025, 2050, MANY - 1};
    const struct converter c = find("float32", "int8");
    for (size_t i = 0; i < COUNT(places); i++) {
        for (int late = 0; late < 2; late++) {
            memset(values, 0, sizeof(values));
            values[places[i]] = late ? 300 : 0.5F; /* refused by the last step, or earlier */
            for (uint64_t j = places[i] + 1; j < MANY; j += 3)
                values[j] = late ? 0.5F : 300;
            for (int twin = 0; twin < 2; twin++) {
                uint64_t bad = 0;
                converter_scalar_only = twin;
                assert_int_equal(c.run(&c, values, out, MANY, &bad), ERR_VALUE);
                assert_int_equal(bad, places[i]);
            }
            converter_scalar_only = false;
        }
    }
    struct error err = {0};
    memset(values, 0, sizeof(values));
    values[17] = 300;
    assert_int_equal(converter_run(&c, values, out, MANY, 1000, &err), ERR_VALUE);
    assert_string_equal(err.message, "element 1017: 300.0 does not fit int8");
    error_clear(&err);
    assert_int_equal(converter_run(&c, values + 17, out, 1, 0, &err), ERR_VALUE);
    assert_string_equal(err.message, "element 0: 300.0 does not fit int8");
    error_clear(&err);
    assert_int_equal(converter_run(&c, values, out, 17, 0, &err), OK);
}

static const struct {
    const char *from, *to, *message;
} refusals[] = {
    {"complex64", "float32", "that would drop the imaginary part"},
    {"complex64", "bool", "that would drop the imaginary part"},
    {"float6_e2m3fn", "float32", "how 6-bit elements are packed is not specified"},
    {"float32", "float6_e3m2fn", "how 6-bit elements are packed is not specified"},
    {"string", "float32", "an element has no fixed size"},
    {"string", "string", "an element has no fixed size"},
    {"unknown(x)", "float32", "an element has no fixed size"},
    {"void16", "float16", "raw bytes are not numbers"},
    {"int64", "datetime64[s]", "times are not numbers"},
    {"timedelta64[s]", "int64", "times are not numbers"},
    {"qint8", "float32",
     "it has quantised integers, which are numbers only with their scale and zero point; a "
     "dtype of integers gives them as they are stored"},
    {"float32", "quint8", "nothing is quantised here"},
};

TEST(refused)
{
    for (size_t i = 0; i < COUNT(refusals); i++) {
        struct dtype from, to;
        struct converter c;
        struct error err = {0};
        char want[320];
        dtype_find(refusals[i].from, &from);
        dtype_find(refusals[i].to, &to);
        snprintf(want, sizeof(want), "cannot convert %s to %s: %s", refusals[i].from,
                 refusals[i].to, refusals[i].message);
        print_message("%s\n", want);
        assert_int_equal(converter_find(&from, &to, &c, &err), ERR_UNSUPPORTED);
        assert_string_equal(err.message, want);
    }
}

/* --- shapes of runs -------------------------------------------------------------------- */

TEST(same_dtype_is_copied)
{
    static const char *const names[] = {"bool",          "float16",        "float64",    "void24",
                                        "float6_e2m3fn", "datetime64[us]", "complex128", "int4"};
    for (size_t i = 0; i < COUNT(names); i++) {
        uint8_t src[256], dst[256] = {0};
        for (unsigned j = 0; j < sizeof(src); j++)
            src[j] = (uint8_t)(j * 37 + 255); /* NaN payloads, bools beyond 1 */
        struct dtype d;
        uint64_t nbytes;
        dtype_find(names[i], &d);
        assert_true(dtype_nbytes(&d, 8, &nbytes));
        convert(names[i], names[i], src, dst, 8);
        print_message("%s\n", names[i]);
        assert_memory_equal(src, dst, nbytes);
        assert_int_equal(dst[nbytes], 0);
    }
}

/* The first element is in the low bits; the unused bits of the last byte are 0. */
TEST(packed_elements)
{
    static const uint8_t nibbles[] = {0x21, 0xF8, 0xF7};
    int8_t bytes[8] = {99, 99, 99, 99, 99, 99, 99, 99};
    convert("int4", "int8", nibbles, bytes, 5);
    static const int8_t want[] = {1, 2, -8, -1, 7, 99};
    assert_memory_equal(bytes, want, sizeof(want));

    uint8_t packed[4] = {0xEE, 0xEE, 0xEE, 0xEE};
    convert("int8", "int4", bytes, packed, 5);
    static const uint8_t want_packed[] = {0x21, 0xF8, 0x07, 0xEE};
    assert_memory_equal(packed, want_packed, sizeof(want_packed));

    static const uint8_t twos[] = {0xE4, 0x01};
    uint8_t out[6] = {9, 9, 9, 9, 9, 9};
    convert("uint2", "uint8", twos, out, 5);
    static const uint8_t want_twos[] = {0, 1, 2, 3, 1, 9};
    assert_memory_equal(out, want_twos, sizeof(want_twos));
    convert("uint8", "uint2", out, packed, 5);
    static const uint8_t want_packed_twos[] = {0xE4, 0x01, 0x07, 0xEE};
    assert_memory_equal(packed, want_packed_twos, sizeof(want_packed_twos));

    static const float mx[] = {0.5F, -6, 1.5F};
    convert("float32", "float4_e2m1fn", mx, packed, 3);
    static const uint8_t want_mx[] = {0xF1, 0x03, 0x07, 0xEE};
    assert_memory_equal(packed, want_mx, sizeof(want_mx));
    float back[4] = {0, 0, 0, 9};
    convert("float4_e2m1fn", "float32", packed, back, 3);
    assert_memory_equal(back, mx, sizeof(mx));
    assert_true(back[3] == 9);
}

/* Every length around a vector and a chunk, at odd addresses, and nothing after the end. */
TEST(lengths_and_addresses)
{
    static const char *const ways[][2] = {
        {"float32", "bfloat16"}, {"float32", "float16"},       {"float16", "float32"},
        {"float16", "bfloat16"}, {"float8_e4m3fn", "float16"},
    };
    static uint8_t src[4 * 2100 + 1], dst[4 * 2100 + 2], whole[4 * 2100];
    uint64_t random = 1;
    for (size_t i = 0; i < sizeof(src); i++)
        src[i] = (uint8_t)noise(&random);
    for (size_t w = 0; w < COUNT(ways); w++) {
        const struct converter c = find(ways[w][0], ways[w][1]);
        const size_t width = c.to.bits / 8;
        uint64_t bad;
        converter_scalar_only = true;
        assert_int_equal(c.run(&c, src + 1, whole, 2100, &bad), OK);
        converter_scalar_only = false;
        for (size_t n = 0; n < 2100; n += n < 40 || n > 2040 ? 1 : 97) {
            dst[1 + n * width] = 0xA5;
            assert_int_equal(c.run(&c, src + 1, dst + 1, n, &bad), OK);
            if (memcmp(dst + 1, whole, n * width) != 0 || dst[1 + n * width] != 0xA5)
                fail_msg("%s to %s, %zu elements", ways[w][0], ways[w][1], n);
        }
    }
}

TEST(complex_numbers)
{
    static const double from[] = {1, -2, 1e300, NAN};
    float to[4];
    convert("complex128", "complex64", from, to, 2);
    assert_true(to[0] == 1 && to[1] == -2 && isinf(to[2]) && isnan(to[3]));
    static const int16_t reals[] = {5, -6};
    double out[4] = {9, 9, 9, 9};
    convert("int16", "complex128", reals, out, 2);
    assert_true(out[0] == 5 && out[1] == 0 && out[2] == -6 && out[3] == 0);
}

/* --- single elements ------------------------------------------------------------------- */

static const struct {
    const char *dtype;
    uint64_t code, second; /* of 16 bytes */
    uint64_t index;
    const char *text;
} texts[] = {
    {"bfloat16", 0x3DCD, 0, 0, "0.1"},
    {"float32", 0x3DCCCCCD, 0, 0, "0.1"},
    {"float16", 0x2E66, 0, 0, "0.1"},
    {"float8_e4m3fn", 0x1D, 0, 0, "0.1"},
    {"float64", UINT64_C(0x3FB999999999999A), 0, 0, "0.1"},
    {"float64", UINT64_C(0x3FD3333333333334), 0, 0, "0.30000000000000004"},
    {"float64", 0x1, 0, 0, "5e-324"},
    {"float64", UINT64_C(0x7FEFFFFFFFFFFFFF), 0, 0, "1.7976931348623157e+308"},
    {"float64", UINT64_C(0x4341C37937E08000), 0, 0, "1e+16"},
    {"float64", UINT64_C(0x430C6BF526340000), 0, 0, "1000000000000000.0"},
    {"float64", UINT64_C(0x3F1A36E2EB1C432D), 0, 0, "0.0001"},
    {"float64", UINT64_C(0x3EE4F8B588E368F1), 0, 0, "1e-05"},
    {"float64", UINT64_C(0x3D30000000000000), 0, 0, "5.684341886080802e-14"},
    {"float64", UINT64_C(0x44B52D02C7E14AF6), 0, 0, "1e+23"},
    {"float64", UINT64_C(0xC05EDD2F1A9FBE77), 0, 0, "-123.456"},
    {"float32", 0x3F800000, 0, 0, "1.0"},
    {"float32", 0x4B800000, 0, 0, "16777216.0"},
    {"float32", 0x7F7FFFFF, 0, 0, "3.4028235e+38"},
    {"float32", 0x00000001, 0, 0, "1e-45"},
    {"float32", 0x80000000, 0, 0, "-0.0"},
    {"float16", 0x7BFF, 0, 0, "65500.0"},
    {"float16", 0x0001, 0, 0, "6e-08"},
    {"float16", 0x7C00, 0, 0, "Infinity"},
    {"bfloat16", 0xFF80, 0, 0, "-Infinity"},
    {"bfloat16", 0x7FC1, 0, 0, "NaN"},
    {"float8_e4m3fnuz", 0x80, 0, 0, "NaN"},
    {"float8_e8m0fnu", 0x80, 0, 0, "2.0"},
    {"float4_e2m1fn", 0xF1, 0, 0, "0.5"},
    {"float4_e2m1fn", 0xF1, 0, 1, "-6.0"},
    {"bool", 0x0100, 0, 0, "false"},
    {"bool", 0x0200, 0, 1, "true"},
    {"int2", 0xE4, 0, 3, "-1"},
    {"uint2", 0xE4, 0, 2, "2"},
    {"int4", 0x8F, 0, 1, "-8"},
    {"uint4", 0x8F, 0, 1, "8"},
    {"int8", 0xFF00, 0, 1, "-1"},
    {"int64", UINT64_C(1) << 63, 0, 0, "-9223372036854775808"},
    {"uint64", UINT64_MAX, 0, 0, "18446744073709551615"},
    {"qint32", 0xFFFFFFFE, 0, 0, "-2"},
    {"datetime64[s]", 0, 5, 1, "5"},
    {"complex32", 0xC0003C00, 0, 0, "[1.0,-2.0]"},
    {"complex64", 0, UINT64_C(0x7FC000003DCCCCCD), 1, "[0.1,NaN]"},
    {"complex128", 0, UINT64_C(0x3FF0000000000000), 0, "[0.0,1.0]"},
    {"void24", UINT64_C(0xFF00EFBE0AAA), 0, 1, "\"ef00ff\""},
    {"float6_e2m3fn", 0, 0, 0, "null"},
    {"variant", 0, 0, 0, "null"},
};

TEST(printed)
{
    for (size_t i = 0; i < COUNT(texts); i++) {
        const uint64_t data[2] = {texts[i].code, texts[i].second};
        struct dtype d;
        char text[64];
        dtype_find(texts[i].dtype, &d);
        const size_t len = element_print(&d, data, texts[i].index, text, sizeof(text));
        print_message("%s %s\n", texts[i].dtype, texts[i].text);
        assert_string_equal(text, texts[i].text);
        assert_int_equal(len, strlen(text));
        char cut[4] = {'x', 'x', 'x', 'x'}; /* as snprintf() does: cut, and ended */
        assert_int_equal(element_print(&d, data, texts[i].index, cut, 3), len);
        assert_int_equal(strncmp(cut, text, 2), 0);
        assert_int_equal(cut[len < 2 ? len : 2], '\0');
        assert_int_equal(cut[3], 'x');
        assert_int_equal(element_print(&d, data, texts[i].index, NULL, 0), len);
    }
}

/* From the first digit that is not 0 to the last. */
static int significant_digits(const char *text)
{
    int digits = 0, zeros = 0;
    for (; *text && *text != 'e'; text++) {
        if (*text == '.')
            continue;
        zeros = *text == '0' ? zeros + 1 : 0;
        digits += digits || *text != '0';
    }
    return digits - (digits ? zeros : 0);
}

/* Printed numbers read back as the same value, and no decimal with one digit less does. */
TEST(printed_shortest)
{
    for (size_t i = 0; i < COUNT(layouts); i++) {
        const struct layout *f = &layouts[i];
        struct dtype d;
        dtype_find(f->name, &d);
        for (unsigned code = 1; code <= f->max; code++) {
            char text[64], shorter[64];
            element_print(&d, &code, 0, text, sizeof(text));
            if (convert_double(f->name, strtod(text, NULL)) != code)
                fail_msg("%s %#x: %s reads back another", f->name, code, text);
            const int digits = significant_digits(text);
            if (digits < 2)
                continue;
            snprintf(shorter, sizeof(shorter), "%.*e", digits - 2, layout_value(f, code));
            if (convert_double(f->name, strtod(shorter, NULL)) == code)
                fail_msg("%s %#x: %s, but %s would do", f->name, code, text, shorter);
        }
    }
}

TEST(printed_in_any_locale)
{
    struct dtype d;
    char text[64];
    const float value = 0.1F;
    dtype_find("float32", &d);
    setlocale(LC_ALL, "de_DE.UTF-8"); /* where it is installed */
    element_print(&d, &value, 0, text, sizeof(text));
    setlocale(LC_ALL, "C");
    assert_string_equal(text, "0.1");
}

TEST(values)
{
    struct dtype d;
    struct element e;
    const uint64_t large[] = {5, UINT64_MAX};
    dtype_find("uint64", &d);
    assert_int_equal(element_get(&d, large, 0, &e), ELEMENT_INTEGER);
    assert_int_equal(e.integer, 5);
    assert_int_equal(element_get(&d, large, 1, &e), ELEMENT_LARGE);
    assert_true(e.large == UINT64_MAX);
    dtype_find("timedelta64[ns]", &d);
    assert_int_equal(element_get(&d, large, 1, &e), ELEMENT_INTEGER);
    assert_int_equal(e.integer, -1);
    const uint16_t halves[] = {0x3C00, 0xC000, 0x7C00, 0x0001};
    dtype_find("complex32", &d);
    assert_int_equal(element_get(&d, halves, 1, &e), ELEMENT_COMPLEX);
    assert_true(isinf(e.real) && e.imaginary == 0x1p-24);
    dtype_find("float16", &d);
    assert_int_equal(element_get(&d, halves, 1, &e), ELEMENT_REAL);
    assert_true(e.real == -2);
    dtype_find("void8", &d);
    assert_int_equal(element_get(&d, halves, 0, &e), ELEMENT_NONE);
}

/* Single elements give the same as converting runs. */
TEST(values_as_converted)
{
    const struct dtype *d;
    for (size_t i = 0; (d = dtype_at(i)); i++) {
        if (!numeric(d) || d->kind == DTYPE_COMPLEX)
            continue;
        uint8_t *src = samples(d);
        double *wide = calloc(EVERY, sizeof(double));
        convert(d->name, "float64", src, wide, EVERY);
        for (uint64_t j = 0; j < EVERY; j++) {
            struct element e = {0};
            const enum element_type type = element_get(d, src, j, &e);
            const double got = type == ELEMENT_INTEGER ? (double)e.integer
                               : type == ELEMENT_LARGE ? (double)e.large
                                                       : e.real;
            if (got != wide[j] && !(isnan(got) && isnan(wide[j])))
                fail_msg("%s element %" PRIu64 ": %a, not %a", d->name, j, got, wide[j]);
        }
        free(src);
        free(wide);
    }
}

RUN_TESTS(NULL, NULL)

/*
 * number.c - filters of numcodecs that compute with elements, all little-endian. Elements are
 * said as NumPy does: b1, i1 .. i8, u1 .. u8, f2, f4, f8; the decoded ones come first.
 *
 *   delta:i4,i2                     each is stored as what it is more than the one before it
 *   fixedscaleoffset:10,0.5,f4,u1   decoded = stored / scale + offset, here of 10 and 0.5
 *   astype:f4,f2                    stored in another type (quantize is this too)
 *
 * The arithmetic is NumPy's. Integers wrap. Sums of delta are of the type that both types
 * become together, scale and offset of the stored type where that is a float, else of f8.
 * Floats become integers by leaving out the fraction; where they do not fit, C and NumPy leave
 * open what comes out, and here it is what x86 processors make.
 *
 * Sources: numcodecs/delta.py, fixedscaleoffset.py, astype.py.
 */
#include <stdlib.h>

#include "catalog/codec/codec.h"
#include "catalog/convert/float_format.h"

enum kind {
    BOOL,
    INT,
    UINT,
    FLOAT
};

struct word {
    char name[3];
    enum kind kind;
    unsigned bytes;
};

static const struct word words[] = {
    {"b1", BOOL,  1},
    {"i1", INT,   1},
    {"i2", INT,   2},
    {"i4", INT,   4},
    {"i8", INT,   8},
    {"u1", UINT,  1},
    {"u2", UINT,  2},
    {"u4", UINT,  4},
    {"u8", UINT,  8},
    {"f2", FLOAT, 2},
    {"f4", FLOAT, 4},
    {"f8", FLOAT, 8},
};
static const struct word *const f2 = &words[9], *const f4 = &words[10],
                                *const f8 = &words[11];

/* The arguments of a filter. */
struct filter {
    double scale, offset;
    const struct word *to, *from;
    const struct float_format *half;
};

/* --- arguments ---------------------------------------------------------------------------- */

static const struct word *take_word(const char **at, char end)
{
    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
        if (strncmp(*at, words[i].name, 2) == 0 && (*at)[2] == end) {
            *at += 2 + (end != '\0');
            return &words[i];
        }
    return NULL;
}

static bool take_number(const char **at, double *value)
{
    char *end;
    *value = strtod(*at, &end);
    if (end == *at || *end != ',')
        return false;
    *at = end + 1;
    return true;
}

/* "DECODED,STORED" */
static bool take_words(const char *argument, struct filter *f)
{
    f->half = float_format_find("float16");
    f->to = take_word(&argument, ',');
    f->from = f->to ? take_word(&argument, '\0') : NULL;
    return f->from;
}

static bool astype_parse(const char *argument, struct filter *f)
{
    return take_words(argument, f);
}

static bool delta_parse(const char *argument, struct filter *f)
{
    return take_words(argument, f) && f->to->kind != BOOL;
}

static bool fixedscaleoffset_parse(const char *argument, struct filter *f)
{
    return take_number(&argument, &f->scale) && take_number(&argument, &f->offset) &&
           take_words(argument, f);
}

/* --- elements ----------------------------------------------------------------------------- */

static uint64_t load_int(const struct word *w, const uint8_t *at)
{
    uint64_t v = w->bytes == 1   ? *at
                 : w->bytes == 2 ? load_u16le(at)
                 : w->bytes == 4 ? load_u32le(at)
                                 : load_u64le(at);
    unsigned unused = 64 - 8 * w->bytes;
    return w->kind == BOOL  ? v != 0
           : w->kind == INT ? (uint64_t)((int64_t)(v << unused) >> unused)
                            : v;
}

static void store_int(const struct word *w, uint64_t v, uint8_t *at)
{
    if (w->bytes == 1)
        *at = w->kind == BOOL ? v != 0 : (uint8_t)v;
    else if (w->bytes == 2)
        store_u16le(at, (uint16_t)v);
    else if (w->bytes == 4)
        store_u32le(at, (uint32_t)v);
    else
        store_u64le(at, v);
}

static double load_float(const struct filter *f, const struct word *w, const uint8_t *at)
{
    return w->bytes == 2   ? float_of(float_decode(f->half, load_u16le(at)))
           : w->bytes == 4 ? float_of(load_u32le(at))
                           : double_of(load_u64le(at));
}

static void store_float(const struct filter *f, const struct word *w, double v,
                        uint8_t *at)
{
    if (w->bytes == 2)
        store_u16le(at, (uint16_t)float_encode64(f->half, double_bits(v)));
    else if (w->bytes == 4)
        store_u32le(at, float_bits((float)v));
    else
        store_u64le(at, double_bits(v));
}

/* Of a sum or quotient of two numbers of `w`, this is what `w` itself would make of them: a
 * double has more than twice their digits. */
static double round_to(const struct filter *f, const struct word *w, double v)
{
    if (w->bytes == 2)
        return float_of(float_decode(f->half, float_encode64(f->half, double_bits(v))));
    return w->bytes == 4 ? (double)(float)v : v;
}

/* Integers become f2 by way of f4. */
static double int_to_float(const struct filter *f, const struct word *w, uint64_t v)
{
    bool with_sign = f->from->kind == INT;
    if (w->bytes == 8)
        return with_sign ? (double)(int64_t)v : (double)v;
    return round_to(f, w, with_sign ? (float)(int64_t)v : (float)v);
}

static uint64_t float_to_int(const struct word *w, double v)
{
    static const double two_31 = 2147483648.0, two_63 = 9223372036854775808.0;
    if (w->kind == BOOL)
        return v != 0;
    if (w->bytes == 8 && w->kind == UINT && v >= two_63)
        return v < 2 * two_63 ? (uint64_t)v : 0;
    bool wide = w->bytes == 8 || (w->bytes == 4 && w->kind == UINT);
    double most = wide ? two_63 : two_31;
    if (v < most && (wide ? v >= -most : v > -most - 1))
        return (uint64_t)(int64_t)v;
    return wide ? UINT64_C(1) << 63 : UINT64_C(1) << 31;
}

static double load_as_float(const struct filter *f, const struct word *w,
                            const uint8_t *at)
{
    return f->from->kind == FLOAT ? load_float(f, f->from, at)
                                  : int_to_float(f, w, load_int(f->from, at));
}

static void store_from_float(const struct filter *f, double v, uint8_t *at)
{
    if (f->to->kind == FLOAT)
        store_float(f, f->to, v, at);
    else
        store_int(f->to, float_to_int(f->to, v), at);
}

/* --- filters ------------------------------------------------------------------------------ */

static void astype_run(const struct filter *f, const uint8_t *in, size_t count,
                       uint8_t *out)
{
    bool ints = f->from->kind != FLOAT && f->to->kind != FLOAT;
    for (size_t i = 0; i < count; i++, in += f->from->bytes, out += f->to->bytes)
        if (ints)
            store_int(f->to, load_int(f->from, in), out);
        else
            store_from_float(f, load_as_float(f, f->to, in), out);
}

/* The float type that has all numbers of `w`, or nearly all. */
static const struct word *float_for(const struct word *w)
{
    unsigned bytes = w->kind == FLOAT ? w->bytes : 2 * w->bytes;
    return bytes == 2 ? f2 : bytes == 4 ? f4 : f8;
}

/* What NumPy makes of two types: NULL where that is an integer. Signed and unsigned ones of 64
 * bits become f8. */
static const struct word *common_float(const struct word *a, const struct word *b)
{
    if (a->kind == FLOAT || b->kind == FLOAT) {
        a = float_for(a);
        b = float_for(b);
        return a->bytes > b->bytes ? a : b;
    }
    bool mixed = (a->kind == INT && b->kind == UINT && b->bytes == 8) ||
                 (a->kind == UINT && a->bytes == 8 && b->kind == INT);
    return mixed ? f8 : NULL;
}

static void delta_run(const struct filter *f, const uint8_t *in, size_t count,
                      uint8_t *out)
{
    const struct word *work = common_float(f->from, f->to);
    uint64_t sum = 0;
    double float_sum = -0.0; /* what changes no number it is added to */
    for (size_t i = 0; i < count; i++, in += f->from->bytes, out += f->to->bytes)
        if (work) {
            float_sum = round_to(f, work, float_sum + load_as_float(f, work, in));
            store_from_float(f, float_sum, out);
        } else {
            sum += load_int(f->from, in);
            store_int(f->to, sum, out);
        }
}

static void fixedscaleoffset_run(const struct filter *f, const uint8_t *in, size_t count,
                                 uint8_t *out)
{
    const struct word *work = f->from->kind == FLOAT ? f->from : f8;
    double scale = round_to(f, work, f->scale), offset = round_to(f, work, f->offset);
    for (size_t i = 0; i < count; i++, in += f->from->bytes, out += f->to->bytes) {
        double v = round_to(f, work, load_as_float(f, work, in) / scale);
        store_from_float(f, round_to(f, work, v + offset), out);
    }
}

static bool filter_size(const struct filter *f, uint64_t in, struct codec_size *size)
{
    size->exact = true;
    return mul_u64(in / f->from->bytes, f->to->bytes, &size->most);
}

static enum status bad_filter(const struct codec_step *step, struct error *err)
{
    return codec_corrupt(step, err, "bad argument \"%s\"", step->argument);
}

static enum status broken_element(const struct codec_step *step, const struct filter *f,
                                  size_t len, struct error *err)
{
    return codec_corrupt(step, err, "%zu bytes are not whole elements of %u bytes", len,
                         f->from->bytes);
}

#define FILTER(x)                                                                        \
    static bool x##_size(const char *argument, uint64_t in, struct codec_size *size)     \
    {                                                                                    \
        struct filter f;                                                                 \
        return x##_parse(argument, &f) && filter_size(&f, in, size);                     \
    }                                                                                    \
    static enum status x##_decode(const struct codec_step *step, struct bytes in,        \
                                  uint8_t *out, size_t room, size_t *made,               \
                                  struct error *err)                                     \
    {                                                                                    \
        struct filter f;                                                                 \
        if (!x##_parse(step->argument, &f))                                              \
            return bad_filter(step, err);                                                \
        size_t count = in.len / f.from->bytes;                                           \
        if (in.len % f.from->bytes)                                                      \
            return broken_element(step, &f, in.len, err);                                \
        *made = count * f.to->bytes;                                                     \
        if (*made <= room)                                                               \
            x##_run(&f, in.at, count, out);                                              \
        return OK;                                                                       \
    }                                                                                    \
    const struct codec codec_##x = {                                                     \
        .name = #x, .size = x##_size, .decode = x##_decode, .in_place = true};

FILTER(delta)
FILTER(fixedscaleoffset)
FILTER(astype)

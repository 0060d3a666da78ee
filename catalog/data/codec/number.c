/*
 * number.c - numcodecs' filters that compute with elements, all little-endian. The arguments end in
 * the decoded and the stored type: bool, int8 .. int64, uint8 .. uint64, float16 .. float64, or in
 * short b1, i1 .. i8, u1 .. u8, f2 .. f8.
 *
 *   delta:int32,int16               each element is stored as its difference from the previous one
 *   fixedscaleoffset:10,0.5,f4,u1   decoded = stored / scale + offset; here scale 10, offset 0.5
 *   astype:float32,float16          stored in another type (numcodecs' quantize is this, too)
 *
 * The arithmetic is NumPy's. Integers wrap around. Delta adds in the type to which NumPy promotes
 * both types; fixedscaleoffset computes in the stored type if that is a float, else in f8.
 * Floats become integers by truncation; out of range, where C and NumPy leave the result undefined,
 * it is what x86 processors produce.
 *
 * Sources: numcodecs/delta.py, fixedscaleoffset.py, astype.py.
 */

#include "catalog/data/codec/codec.h"
#include "catalog/data/convert/float_format.h"

#define TILE ((size_t)512) /* elements that a filter processes at a time */

enum kind { BOOL, INT, UINT, FLOAT };

/* Elements being processed. Integers are sign-extended to 64 bits. Floats are doubles: these have
 * more than twice the mantissa bits of the smaller types, so that a sum or quotient computed in
 * double and then rounded is the one that the smaller type gives. */
union tile {
    uint64_t i[TILE];
    double f[TILE];
};

struct word {
    enum kind kind;
    unsigned bytes;
    void (*load)(const uint8_t *in, size_t count, union tile *tile);
    void (*store)(const union tile *tile, size_t count, uint8_t *out);
};

/* --- elements ----------------------------------------------------------------------------- */

static uint8_t get_byte(const uint8_t *at)
{
    return *at;
}

static int64_t get_signed_byte(const uint8_t *at)
{
    return (int64_t)(*at ^ 0x80) - 0x80;
}

static void put_byte(uint8_t *at, uint8_t v)
{
    *at = v;
}

static double get_float(const uint8_t *at)
{
    return float_of(load_u32le(at));
}

static void put_float(uint8_t *at, double v)
{
    store_u32le(at, float_bits((float)v));
}

static double get_double(const uint8_t *at)
{
    return double_of(load_u64le(at));
}

static void put_double(uint8_t *at, double v)
{
    store_u64le(at, double_bits(v));
}

#define WORD(x, member, type, width, get, put, unsigned_type)                                      \
    static void load_##x(const uint8_t *in, size_t count, union tile *tile)                        \
    {                                                                                              \
        for (size_t i = 0; i < count; i++)                                                         \
            tile->member[i] = (type)get(in + i * (width));                                         \
    }                                                                                              \
    static void store_##x(const union tile *tile, size_t count, uint8_t *out)                      \
    {                                                                                              \
        for (size_t i = 0; i < count; i++)                                                         \
            put(out + i * (width), (unsigned_type)tile->member[i]);                                \
    }

WORD(b1, i, bool, 1, get_byte, put_byte, bool)
WORD(i1, i, int64_t, 1, get_signed_byte, put_byte, uint8_t)
WORD(i2, i, int16_t, 2, load_u16le, store_u16le, uint16_t)
WORD(i4, i, int32_t, 4, load_u32le, store_u32le, uint32_t)
WORD(i8, i, int64_t, 8, load_u64le, store_u64le, uint64_t)
WORD(u1, i, uint8_t, 1, get_byte, put_byte, uint8_t)
WORD(u2, i, uint16_t, 2, load_u16le, store_u16le, uint16_t)
WORD(u4, i, uint32_t, 4, load_u32le, store_u32le, uint32_t)
WORD(u8, i, uint64_t, 8, load_u64le, store_u64le, uint64_t)
WORD(f4, f, double, 4, get_float, put_float, double)
WORD(f8, f, double, 8, get_double, put_double, double)

static void load_f2(const uint8_t *in, size_t count, union tile *tile)
{
    const struct float_format *half = float_format_find("float16");
    for (size_t i = 0; i < count; i++)
        tile->f[i] = float_of(float_decode(half, load_u16le(in + 2 * i)));
}

static void store_f2(const union tile *tile, size_t count, uint8_t *out)
{
    const struct float_format *half = float_format_find("float16");
    for (size_t i = 0; i < count; i++)
        store_u16le(out + 2 * i, (uint16_t)float_encode64(half, double_bits(tile->f[i])));
}

/* In the order of `words`: NumPy's short name and dtype.h's of each. */
#define NAMES                                                                                      \
    "=b1|bool|i1|int8|i2|int16|i4|int32|i8|int64|u1|uint8|u2|uint16|u4|uint32|u8|uint64"           \
    "|f2|float16|f4|float32|f8|float64"
#define ROW(x, kind, bytes)                                                                        \
    {                                                                                              \
        kind, bytes, load_##x, store_##x                                                           \
    }

static const struct word words[] = {
    ROW(b1, BOOL, 1), ROW(i1, INT, 1),   ROW(i2, INT, 2),   ROW(i4, INT, 4),
    ROW(i8, INT, 8),  ROW(u1, UINT, 1),  ROW(u2, UINT, 2),  ROW(u4, UINT, 4),
    ROW(u8, UINT, 8), ROW(f2, FLOAT, 2), ROW(f4, FLOAT, 4), ROW(f8, FLOAT, 8),
};
static const struct word *const f2 = &words[9], *const f4 = &words[10], *const f8 = &words[11];

static double round_half(const struct float_format *half, double v)
{
    return float_of(float_decode(half, float_encode64(half, double_bits(v))));
}

/* Round the doubles of a tile to the float type `w`. */
static void round_tile(const struct word *w, size_t count, union tile *tile)
{
    const struct float_format *half = float_format_find("float16");
    if (w == f4)
        for (size_t i = 0; i < count; i++)
            tile->f[i] = (float)tile->f[i];
    if (w == f2)
        for (size_t i = 0; i < count; i++)
            tile->f[i] = round_half(half, tile->f[i]);
}

/* NumPy converts integers to f2 by way of f4. */
static void ints_to_floats(const struct word *from, const struct word *to, size_t count,
                           union tile *tile)
{
    if (to == f8 && from->kind == UINT)
        for (size_t i = 0; i < count; i++)
            tile->f[i] = (double)tile->i[i];
    else if (to == f8)
        for (size_t i = 0; i < count; i++)
            tile->f[i] = (double)(int64_t)tile->i[i];
    else if (from->kind == UINT)
        for (size_t i = 0; i < count; i++)
            tile->f[i] = (float)tile->i[i];
    else
        for (size_t i = 0; i < count; i++)
            tile->f[i] = (float)(int64_t)tile->i[i];
    round_tile(to, count, tile);
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

static void store_floats(const struct word *to, union tile *tile, size_t count, uint8_t *out)
{
    for (size_t i = 0; to->kind != FLOAT && i < count; i++)
        tile->i[i] = float_to_int(to, tile->f[i]);
    to->store(tile, count, out);
}

static void load_floats(const struct word *from, const struct word *work, const uint8_t *in,
                        size_t count, union tile *tile)
{
    from->load(in, count, tile);
    if (from->kind != FLOAT)
        ints_to_floats(from, work, count, tile);
}

struct filter {
    double scale, offset;
    const struct word *to, *from;
};

/* --- filters: one tile at a time; `last` is what a filter carries over to the next tile --- */

union last {
    uint64_t i;
    double f;
};

static void astype_tile(const struct filter *f, const uint8_t *in, size_t count, uint8_t *out,
                        union last *last)
{
    (void)last;
    union tile tile;
    if (f->from->kind != FLOAT && f->to->kind != FLOAT) {
        f->from->load(in, count, &tile);
        f->to->store(&tile, count, out);
    } else {
        load_floats(f->from, f->to->kind == FLOAT ? f->to : f8, in, count, &tile);
        store_floats(f->to, &tile, count, out);
    }
}

/* The float type to which NumPy promotes `w` when it meets a float. */
static const struct word *float_for(const struct word *w)
{
    unsigned bytes = w->kind == FLOAT ? w->bytes : 2 * w->bytes;
    return bytes == 2 ? f2 : bytes == 4 ? f4 : f8;
}

/* The float type to which NumPy promotes two types together; NULL: an integer type. A signed type
 * and u8 become f8. */
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

/* Running sum, rounded to `work` after each addition. */
static void sum_floats(const struct word *work, size_t count, union tile *tile, double *last)
{
    const struct float_format *half = float_format_find("float16");
    double sum = *last;
    float narrow = (float)sum;
    if (work == f8)
        for (size_t i = 0; i < count; i++)
            tile->f[i] = sum += tile->f[i];
    else if (work == f4)
        for (size_t i = 0; i < count; i++)
            tile->f[i] = sum = narrow += (float)tile->f[i];
    else
        for (size_t i = 0; i < count; i++)
            tile->f[i] = sum = round_half(half, sum + tile->f[i]);
    *last = sum;
}

static void delta_tile(const struct filter *f, const uint8_t *in, size_t count, uint8_t *out,
                       union last *last)
{
    const struct word *work = common_float(f->from, f->to);
    union tile tile;
    if (work) {
        load_floats(f->from, work, in, count, &tile);
        sum_floats(work, count, &tile, &last->f);
        store_floats(f->to, &tile, count, out);
    } else {
        f->from->load(in, count, &tile);
        for (size_t i = 0; i < count; i++)
            tile.i[i] = last->i += tile.i[i];
        f->to->store(&tile, count, out);
    }
}

static void fixedscaleoffset_tile(const struct filter *f, const uint8_t *in, size_t count,
                                  uint8_t *out, union last *last)
{
    (void)last;
    const struct word *work = f->from->kind == FLOAT ? f->from : f8;
    union tile of = {.f = {f->scale, f->offset}}, tile;
    round_tile(work, 2, &of);
    load_floats(f->from, work, in, count, &tile);
    for (size_t i = 0; i < count; i++)
        tile.f[i] /= of.f[0];
    round_tile(work, count, &tile);
    for (size_t i = 0; i < count; i++)
        tile.f[i] += of.f[1];
    round_tile(work, count, &tile);
    store_floats(f->to, &tile, count, out);
}

static void number_run(const struct filter *f,
                       void (*do_tile)(const struct filter *, const uint8_t *, size_t, uint8_t *,
                                       union last *),
                       struct bytes in, uint8_t *out)
{
    size_t count = in.len / f->from->bytes;
    /* The neutral element: -0.0 for floats (0.0 + -0.0 would turn a leading -0.0 into 0.0). */
    union last last = {.i = 0};
    if (common_float(f->from, f->to))
        last.f = -0.0;
    for (size_t at = 0, n; at < count; at += n) {
        n = count - at < TILE ? count - at : TILE;
        do_tile(f, in.at + at * f->from->bytes, n, out + at * f->to->bytes, &last);
    }
}

/* The last two arguments are the types, those before them scale and offset. */
static struct filter filter_of(const struct codec_args *args, size_t types)
{
    return (struct filter){.scale = double_of(args->number[0]),
                           .offset = double_of(args->number[1]),
                           .to = &words[args->number[types] / 2],
                           .from = &words[args->number[types + 1] / 2]};
}

#define FILTER(x, types, form, good)                                                               \
    static bool x##_size(const struct codec_args *args, uint64_t in, struct codec_size *size)      \
    {                                                                                              \
        struct filter f = filter_of(args, types);                                                  \
        size->exact = true;                                                                        \
        return mul_u64(in / f.from->bytes, f.to->bytes, &size->most) && (good);                    \
    }                                                                                              \
    static enum status x##_decode(const struct codec_step *step, struct bytes in, uint8_t *out,    \
                                  size_t room, size_t *made, struct error *err)                    \
    {                                                                                              \
        struct filter f = filter_of(&step->args, types);                                           \
        if (in.len % f.from->bytes)                                                                \
            return codec_corrupt(step, err, "%zu bytes are not whole elements of %u bytes",        \
                                 in.len, f.from->bytes);                                           \
        *made = in.len / f.from->bytes * f.to->bytes;                                              \
        if (*made <= room)                                                                         \
            number_run(&f, x##_tile, in, out);                                                     \
        return OK;                                                                                 \
    }                                                                                              \
    const struct codec codec_##x = {                                                               \
        .name = #x, .args = form, .size = x##_size, .decode = x##_decode, .in_place = true};

FILTER(delta, 0, NAMES "," NAMES, f.to->kind != BOOL)
FILTER(fixedscaleoffset, 2, "R,R," NAMES "," NAMES, true)
FILTER(astype, 0, NAMES "," NAMES, true)

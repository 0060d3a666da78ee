/*
 * quantise.h - the source of the kernels that encode ggml's block types, compiled once for each target
 * (loops.h), with VECTOR bytes to a register. The layouts are those that ggml.c decodes.
 *
 * Every byte is as ggml's reference quantisers write it, so a sum is made in the order of the
 * elements, and no product is fused with a sum (the compiler is told: -ffp-contract=off). What takes
 * most of the time, the search for the best scales of the parts of a block, has for this reason a part
 * of a block in each lane of a vector, not neighbours in a row.
 *
 * ggml converts floats to integers that do not fit them where a block has infinities, NaN or nothing
 * but numbers below 2^-126. C does not define that. Here it is as on x86-64: truncated to
 * 32 bits, the lowest; INT32_MIN if it does not fit even these, and for NaN.
 * NaNs are those without a payload.
 * Where ggml leaves the codes of a block of zeros undefined (iq4_nl), they name the least magnitude.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "catalog/base/bits.h"
#include "catalog/data/convert/float_format.h"
#include "catalog/data/convert/kernels.h"

#define LANES (VECTOR / 4)
#define QK    256    /* elements of the "k" types' blocks */
#define TINY  1e-15F /* parts with nothing above are zero */

typedef float float_v __attribute__((vector_size(VECTOR)));
typedef int32_t int32_v __attribute__((vector_size(VECTOR)));
typedef uint8_t bytes_v __attribute__((vector_size(16))); /* codes */

#define HELPER TARGET INLINE

/* --- numbers ---------------------------------------------------------------------------- */

static const struct float_format binary16 = {
    "float16", 16, 10, 15, 0x7BFF, 0x7C00, 0x7E00, 0, true,
};

/* Store a float16; returns the value that it has. */
HELPER float put_half(uint8_t *at, float value)
{
    const uint16_t code = (uint16_t)float_encode32(&binary16, float_bits(value));
    memcpy(at, &code, sizeof(code));
    return float_of(float_decode(&binary16, code));
}

/* Truncated; see above. */
HELPER int32_t whole(float x)
{
    return x >= -0x1p31F && x < 0x1p31F ? (int32_t)x : INT32_MIN;
}

/* Nearest integer, half away from zero: what is added is the largest float below one half, which
 * does not lift 0.49999997 to one. */
HELPER int32_t rounded(float x)
{
    return whole(x + copysignf(0.49999997F, x));
}

/* Nearest integer, half to even, of numbers below 2^22; others, infinity and NaN too, give 23 bits of
 * the sum, as in ggml. */
#define ROUNDER 12582912.0F /* 1.5 * 2^23 */

HELPER int32_t nearest(float x)
{
    return (int32_t)(float_bits(x + ROUNDER) & 0x7FFFFF) - 0x400000;
}

HELPER int32_v nearest_v(float_v x)
{
    return ((int32_v)(x + ROUNDER) & 0x7FFFFF) - 0x400000;
}

HELPER int32_t clamp(int32_t x, int32_t least, int32_t most)
{
    x = x < most ? x : most;
    return x > least ? x : least;
}

HELPER int32_v choose_int(int32_v mask, int32_v a, int32_v b)
{
    return (mask & a) | (~mask & b);
}

HELPER float_v choose(int32_v mask, float_v a, float_v b)
{
    return (float_v)choose_int(mask, (int32_v)a, (int32_v)b);
}

HELPER int32_v clamp_v(int32_v x, int32_t least, int32_t most)
{
    const int32_v zero = {0}, low = zero + least, high = zero + most;
    x = choose_int(x < high, x, high);
    return choose_int(x > low, x, low);
}

/* whole(), and what int8_t keeps of a number. */
HELPER int32_v whole_v(float_v x)
{
    const float_v zero = {0};
    const int32_v fits = (x >= zero - 0x1p31F) & (x < zero + 0x1p31F);
    const int32_v number = __builtin_convertvector(choose(fits, x, zero), int32_v);
    return choose_int(fits, number, (int32_v){0} + INT32_MIN);
}

HELPER int32_v byte_v(int32_v x)
{
    return ((x & 0xFF) ^ 0x80) - 0x80;
}

HELPER float_v float_of_v(int32_v x)
{
    return __builtin_convertvector(x, float_v);
}

HELPER float_v magnitude(float_v x)
{
    return (float_v)((int32_v)x & INT32_MAX);
}

HELPER bool any_lane(int32_v mask)
{
    static const int32_v none = {0};
    return memcmp((const char *)&mask, (const char *)&none, sizeof(mask)) != 0;
}

/* Part l of a block is lane l: `n` vectors of its parts' elements. */
HELPER void columns(const float *x, size_t n, float_v *out)
{
    for (size_t i = 0; i < n; i++) {
        float row[LANES];
        for (size_t l = 0; l < LANES; l++)
            row[l] = x[l * n + i];
        memcpy(&out[i], row, sizeof(row));
    }
}

/* The codes of a row of columns back to the parts. */
HELPER void put_codes(int32_v row, size_t n, uint8_t *codes)
{
    int32_t lane[LANES];
    memcpy(lane, &row, sizeof(lane));
    for (size_t l = 0; l < LANES; l++)
        codes[l * n] = (uint8_t)lane[l];
}

/* --- one block, one scale ----------------------------------------------------------------- */

/* Bits of the largest magnitude; NaN's are above infinity's. */
HELPER uint32_t largest_bits(const float *x, size_t n)
{
    uint32_t most = 0;
    for (size_t i = 0; i < n; i++) {
        const uint32_t bits = float_bits(x[i]) & INT32_MAX;
        most = bits > most ? bits : most;
    }
    return most;
}

/* The largest magnitude; each NaN makes ggml forget what came before it. */
HELPER float largest(const float *x, size_t n)
{
    const uint32_t bits = largest_bits(x, n);
    if (bits <= 0x7F800000)
        return float_of(bits);
    float most = 0;
    for (size_t i = 0; i < n; i++)
        most = most > fabsf(x[i]) ? most : fabsf(x[i]);
    return most;
}

/* The first of the numbers of the largest magnitude; NaN does not count. */
HELPER float peak(const float *x, size_t n)
{
    int32_v most = {0}, at = {0}, index;
    for (size_t l = 0; l < LANES; l++)
        index[l] = (int32_t)l;
    for (size_t i = 0; i < n; i += LANES, index += (int32_t)LANES) { /* in each lane the first */
        int32_v bits;
        memcpy(&bits, x + i, sizeof(bits));
        bits &= INT32_MAX;
        const int32_v more = (bits > most) & (bits <= 0x7F800000);
        most = choose_int(more, bits, most);
        at = choose_int(more, index, at);
    }
    int32_t largest = 0, first = 0;
    for (size_t l = 0; l < LANES; l++) {
        const bool more = most[l] > largest || (most[l] == largest && at[l] < first);
        largest = more ? most[l] : largest;
        first = more ? at[l] : first;
    }
    return largest ? x[first] : 0;
}

/* The least and the largest; NaN does not count. Of zeros of both signs the first is the least. */
HELPER void bounds(const float *x, size_t n, float *least, float *most)
{
    float_v low = (float_v){0} + FLT_MAX, high = -low;
    for (size_t i = 0; i < n; i += LANES) {
        float_v v;
        memcpy(&v, x + i, sizeof(v));
        low = choose(v < low, v, low);
        high = choose(v > high, v, high);
    }
    float lows[LANES], highs[LANES];
    memcpy(lows, &low, sizeof(low));
    memcpy(highs, &high, sizeof(high));
    *least = lows[0];
    *most = highs[0];
    for (size_t l = 1; l < LANES; l++) {
        *least = lows[l] < *least ? lows[l] : *least;
        *most = highs[l] > *most ? highs[l] : *most;
    }
    unsigned first = 0;
    while (*least == 0 && x[first] != 0)
        first++;
    *least = *least == 0 ? x[first] : *least;
}

HELPER float inverse(float x)
{
    return x != 0 ? 1 / x : 0;
}

HELPER bytes_v bytes_at(const uint8_t *at)
{
    bytes_v v;
    memcpy(&v, at, sizeof(v));
    return v;
}

/* Two codes of 4 bits a byte, 16 bytes: codes that are `apart` elements apart. */
HELPER void pack_halves(const uint8_t *codes, unsigned apart, uint8_t *out)
{
    const bytes_v v = (bytes_at(codes) & 15) | bytes_at(codes + apart) << 4;
    memcpy(out, &v, sizeof(v));
}

/* Four codes of 2 bits a byte, 32 apart: 64 bytes. */
HELPER void pack_quarters(const uint8_t *codes, uint8_t *out)
{
    for (size_t i = 0; i < 64; i += 16) {
        const uint8_t *at = codes + i / 32 * 128 + i % 32;
        const bytes_v v = (bytes_at(at) & 3) | (bytes_at(at + 32) & 3) << 2 |
                          (bytes_at(at + 64) & 3) << 4 | bytes_at(at + 96) << 6;
        memcpy(out + i, &v, sizeof(v));
    }
}

HELPER void pack_fifths(const uint8_t *codes, uint8_t *out)
{
    uint32_t high = 0;
    for (size_t i = 0; i < 32; i++)
        high |= (uint32_t)(codes[i] >> 4 & 1) << i;
    memcpy(out, &high, sizeof(high));
}

/* q4_0 and q5_0: the peak gets the least code, 0. */
HELPER void signed_codes(const float *x, int32_t middle, uint8_t *out, uint8_t *codes)
{
    const float d = peak(x, 32) / (float)-middle, id = inverse(d);
    put_half(out, d);
    for (size_t i = 0; i < 32; i += LANES) {
        float_v v;
        memcpy(&v, x + i, sizeof(v));
        const int32_v most = (int32_v){0} + (2 * middle - 1);
        const int32_v code = byte_v(whole_v(v * id + ((float)middle + 0.5F)));
        put_codes(choose_int(code < most, code, most), 1, codes + i);
    }
}

HELPER void encode_q4_0(const float *x, uint8_t *out)
{
    uint8_t codes[32];
    signed_codes(x, 8, out, codes);
    pack_halves(codes, 16, out + 2);
}

HELPER void encode_q5_0(const float *x, uint8_t *out)
{
    uint8_t codes[32];
    signed_codes(x, 16, out, codes);
    pack_fifths(codes, out + 2);
    pack_halves(codes, 16, out + 6);
}

/* q4_1 and q5_1: the least number gets the code 0, the largest the last. */
HELPER void offset_codes(const float *x, int32_t last, uint8_t *out, uint8_t *codes)
{
    float least, most;
    bounds(x, 32, &least, &most);
    const float d = (most - least) / (float)last, id = inverse(d);
    put_half(out, d);
    put_half(out + 2, least);
    for (size_t i = 0; i < 32; i += LANES) {
        float_v v;
        memcpy(&v, x + i, sizeof(v));
        const int32_v code = byte_v(whole_v((v - least) * id + 0.5F)), end = (int32_v){0} + last;
        put_codes(choose_int(code < end, code, end), 1, codes + i);
    }
}

HELPER void encode_q4_1(const float *x, uint8_t *out)
{
    uint8_t codes[32];
    offset_codes(x, 15, out, codes);
    pack_halves(codes, 16, out + 4);
}

HELPER void encode_q5_1(const float *x, uint8_t *out)
{
    uint8_t codes[32];
    offset_codes(x, 31, out, codes);
    pack_fifths(codes, out + 4);
    pack_halves(codes, 16, out + 8);
}

/* The power of two is two below the largest's; then the nearest of the 16 values, of equally near
 * ones the first. */
HELPER void encode_mxfp4(const float *x, uint8_t *out)
{
    static const float twice[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};
    const float most = fabsf(peak(x, 32));
    const uint8_t e = (uint8_t)(most > 0 ? whole(floorf(log2f(most)) - 2 + 127) : 0);
    const float d = float_of(e < 2 ? UINT32_C(0x00200000) << e : (uint32_t)(e - 1) << 23);
    uint8_t codes[32];
    for (size_t i = 0; i < 32; i += LANES) {
        float_v v;
        memcpy(&v, x + i, sizeof(v));
        float_v error = magnitude(v);
        int32_v code = {0};
        for (int32_t k = 1; k < 16; k++) {
            const float_v other = magnitude(twice[k] * d - v);
            const int32_v nearer = other < error;
            code = choose_int(nearer, (int32_v){0} + k, code);
            error = choose(nearer, other, error);
        }
        put_codes(code, 1, codes + i);
    }
    out[0] = e;
    pack_halves(codes, 16, out + 1);
}

/* --- three values an element -------------------------------------------------------------- */

HELPER void trits(const float *x, uint8_t *out, uint8_t *codes)
{
    const float d = largest(x, QK), id = inverse(d);
    put_half(out, d);
    for (size_t i = 0; i < QK; i++)
        codes[i] = (uint8_t)(rounded(x[i] * id) + 1);
}

/* Five digits in base 3, `stride` apart, as a fraction of 256, rounded up. */
HELPER void pack_trits(const uint8_t *codes, size_t stride, unsigned digits, uint8_t *out)
{
    for (size_t i = 0; i < stride; i++) {
        uint8_t q = 0;
        for (unsigned n = 0; n < 5; n++)
            q = (uint8_t)(3 * q + (n < digits ? codes[i + n * stride] : 0));
        out[i] = (uint8_t)((q * 256 + 242) / 243);
    }
}

HELPER void encode_tq1_0(const float *x, uint8_t *out)
{
    uint8_t codes[QK];
    trits(x, out + 52, codes);
    pack_trits(codes, 32, 5, out);
    pack_trits(codes + 160, 16, 5, out + 32);
    pack_trits(codes + 240, 4, 4, out + 48);
}

HELPER void encode_tq2_0(const float *x, uint8_t *out)
{
    uint8_t codes[QK];
    trits(x, out + 64, codes);
    pack_quarters(codes, out);
}

/* --- 256 elements: a scale and an offset for each part -------------------------------------- */

/* How a type searches. */
struct affine {
    size_t n;     /* elements of a part */
    int32_t last; /* code */
    float first;  /* what the first attempt adds to `last`; each further one adds 0.1 */
    int32_t steps;
    bool absolute; /* errors count as they are, not squared */
};

/* The codes x * factor of an attempt, and what is summed over them. */
struct attempt {
    float_v factor, code[32];
    float_v sum_l, sum_l2, sum_xl;
};

/* The codes of the attempt's factor, and their weighted sums. */
HELPER void try_factor(const struct affine *a, const float_v *x, const float_v *w, float_v low,
                       struct attempt *t)
{
    t->sum_l = t->sum_l2 = t->sum_xl = (float_v){0};
    for (size_t i = 0; i < a->n; i++) {
        const float_v l = float_of_v(clamp_v(nearest_v(t->factor * (x[i] - low)), 0, a->last));
        const float_v wl = w[i] * l;
        t->code[i] = l;
        t->sum_l += wl;
        t->sum_l2 += wl * l;
        t->sum_xl += wl * x[i];
    }
}

HELPER float_v error_of(const struct affine *a, const float_v *x, const float_v *w,
                        const float_v *code, float_v scale, float_v least)
{
    float_v sum = {0};
    for (size_t i = 0; i < a->n; i++) {
        const float_v off = scale * code[i] + least - x[i];
        sum += w[i] * (a->absolute ? magnitude(off) : off * off);
    }
    return sum;
}

/* For a part in each lane find the scale and the least number (negated: what is subtracted) of the least
 * weighted error: for each factor the codes, counted from the least number so far, and the line that fits
 * these best. */
HELPER void fit_affine(const struct affine *a, const float_v *x, const float_v *w, float *scales,
                       float *leasts, uint8_t *codes)
{
    const float_v zero = {0};
    float_v low = x[0], high = x[0], sum_w = w[0], sum_x = w[0] * x[0];
    for (size_t i = 1; i < a->n; i++) {
        low = choose(x[i] < low, x[i], low);
        high = choose(x[i] > high, x[i], high);
        sum_w += w[i];
        sum_x += w[i] * x[i];
    }
    low = choose(low > zero, zero, low);
    const int32_v flat = high == low;

    struct attempt t = {.factor = (float)a->last / (high - low)};
    float_v scale = 1 / t.factor, least = low, best = t.factor, best_low = low;
    try_factor(a, x, w, low, &t);
    float_v error = error_of(a, x, w, t.code, scale, least);
    for (int32_t s = 0; s <= a->steps; s++) {
        t.factor = (a->first + 0.1F * (float)s + (float)a->last) / (high - least);
        try_factor(a, x, w, least, &t);
        const float_v det = sum_w * t.sum_l2 - t.sum_l * t.sum_l;
        float_v slope = (sum_w * t.sum_xl - sum_x * t.sum_l) / det;
        float_v start = (t.sum_l2 * sum_x - t.sum_l * t.sum_xl) / det;
        const int32_v above = start > zero;
        slope = choose(above, t.sum_xl / t.sum_l2, slope);
        start = choose(above, zero, start);
        const float_v e = error_of(a, x, w, t.code, slope, start);
        const int32_v better = (det > zero) & (e < error);
        error = choose(better, e, error);
        scale = choose(better, slope, scale);
        best = choose(better, t.factor, best);
        best_low = choose(better, least, best_low);
        least = choose(better, start, least);
    }
    scale = choose(flat, zero, scale);
    least = -choose(flat, low, least);
    memcpy(scales, &scale, sizeof(scale));
    memcpy(leasts, &least, sizeof(least));
    for (size_t i = 0; i < a->n; i++)
        put_codes(clamp_v(nearest_v(best * (x[i] - best_low)), 0, a->last) & ~flat, a->n,
                  codes + i);
}

HELPER float largest_of(const float *x, size_t n)
{
    float most = 0;
    for (size_t i = 0; i < n; i++)
        most = x[i] > most ? x[i] : most;
    return most;
}

/* The codes of a part once its scale and offset are rounded; without a scale they stay. */
HELPER void affine_codes(const struct affine *a, const float *x, float d, float least,
                         uint8_t *codes)
{
    if (d == 0)
        return;
    for (size_t i = 0; i < a->n; i++)
        codes[i] = (uint8_t)clamp(nearest((x[i] + least) / d), 0, a->last);
}

HELPER void encode_q2_k(const float *x, uint8_t *out)
{
    static const struct affine a = {16, 3, -0.5F, 15, true};
    float scales[16], leasts[16];
    uint8_t codes[QK];
    for (size_t at = 0; at < 16; at += LANES) {
        float_v part[16], w[16];
        columns(x + 16 * at, 16, part);
        for (size_t i = 0; i < 16; i++)
            w[i] = magnitude(part[i]);
        fit_affine(&a, part, w, scales + at, leasts + at, codes + 16 * at);
    }
    const float scale = largest_of(scales, 16), least = largest_of(leasts, 16);
    const float by = scale > 0 ? 15 / scale : 0, least_by = least > 0 ? 15 / least : 0;
    const float d = put_half(out + 80, scale > 0 ? scale / 15 : 0);
    const float dmin = put_half(out + 82, least > 0 ? least / 15 : 0);
    for (size_t j = 0; j < 16; j++) {
        const uint32_t s = scale > 0 ? (uint32_t)nearest(by * scales[j]) : 0;
        const uint32_t m = least > 0 ? (uint32_t)nearest(least_by * leasts[j]) : 0;
        out[j] = (uint8_t)(s | m << 4);
        affine_codes(&a, x + 16 * j, d * (float)(out[j] & 15), dmin * (float)(out[j] >> 4),
                     codes + 16 * j);
    }
    pack_quarters(codes, out + 16);
}

/* What q4_k and q5_k have in common: scales and offsets of 6 bits, packed into 12 bytes. */
HELPER void affine_parts(const struct affine *a, const float *x, uint8_t *out, uint8_t *codes)
{
    float scales[8], leasts[8];
    uint8_t s[8], m[8];
    for (size_t at = 0; at < 8; at += LANES) {
        float_v part[32], w[32], mean = {0};
        columns(x + 32 * at, 32, part);
        for (size_t i = 0; i < 32; i++)
            mean += part[i] * part[i];
        mean /= 32;
        for (size_t l = 0; l < LANES; l++)
            mean[l] = sqrtf(mean[l]);
        for (size_t i = 0; i < 32; i++)
            w[i] = mean + magnitude(part[i]);
        fit_affine(a, part, w, scales + at, leasts + at, codes + 32 * at);
    }

    const float scale = largest_of(scales, 8), least = largest_of(leasts, 8);
    const float by = scale > 0 ? 63 / scale : 0, least_by = least > 0 ? 63 / least : 0;
    const float d = put_half(out, scale / 63), dmin = put_half(out + 2, least / 63);
    for (size_t j = 0; j < 8; j++) {
        s[j] = (uint8_t)clamp((uint8_t)nearest(by * scales[j]), 0, 63);
        m[j] = (uint8_t)clamp((uint8_t)nearest(least_by * leasts[j]), 0, 63);
        affine_codes(a, x + 32 * j, d * (float)s[j], dmin * (float)m[j], codes + 32 * j);
    }
    for (size_t j = 0; j < 4; j++) {
        out[4 + j] = (uint8_t)(s[j] | s[j + 4] >> 4 << 6);
        out[8 + j] = (uint8_t)(m[j] | m[j + 4] >> 4 << 6);
        out[12 + j] = (uint8_t)((s[j + 4] & 15) | m[j + 4] << 4);
    }
}

/* Two codes of 4 bits a byte: element i of 64 with element i + 32. */
HELPER void pack_rows(const uint8_t *codes, uint8_t *out)
{
    for (size_t i = 0; i < 128; i += 16)
        pack_halves(codes + i / 32 * 64 + i % 32, 32, out + i);
}

HELPER void encode_q4_k(const float *x, uint8_t *out)
{
    static const struct affine a = {32, 15, -1, 20, false};
    uint8_t codes[QK];
    affine_parts(&a, x, out, codes);
    pack_rows(codes, out + 16);
}

HELPER void encode_q5_k(const float *x, uint8_t *out)
{
    static const struct affine a = {32, 31, -0.5F, 15, false};
    uint8_t codes[QK];
    affine_parts(&a, x, out, codes);
    for (size_t i = 0; i < 32; i++) {
        unsigned high = 0;
        for (size_t j = 0; j < 8; j++)
            high |= (codes[32 * j + i] >> 4 & 1U) << j;
        out[16 + i] = (uint8_t)high;
    }
    pack_rows(codes, out + 48);
}

/* --- 256 elements: a scale for each part ---------------------------------------------------- */

/* The values of iq4's codes, and between each two where the upper one begins to be nearer. */
static const float nonlinear[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                    1,    13,   25,  38,  53,  69,  89,  113};
#define MIDDLE(i) ((nonlinear[i] + nonlinear[(i) + 1]) / 2)

/* The numbers that codes stand for: whole ones in [-middle, middle), or `nonlinear`. */
struct levels {
    int32_t middle; /* 0: nonlinear */
};

HELPER float_v level(const struct levels *s, float_v x)
{
    if (s->middle)
        return float_of_v(clamp_v(nearest_v(x), -s->middle, s->middle - 1));
    float_v value = (float_v){0} + nonlinear[0];
    for (size_t i = 0; i < 15; i++) {
        const float_v gap = (float_v){0} + (nonlinear[i + 1] - nonlinear[i]);
        value += (float_v)(~(x < MIDDLE(i)) & (int32_v)gap);
    }
    return value;
}

HELPER void nonlinear_codes(const float *x, float by, uint8_t *codes)
{
    int32_t code[32] = {0};
    for (unsigned k = 0; k < 15; k++)
        for (size_t i = 0; i < 32; i++)
            code[i] += !(by * x[i] < MIDDLE(k));
    for (size_t i = 0; i < 32; i++)
        codes[i] = (uint8_t)code[i];
}

/* The first of the numbers of the largest magnitude in each part. Returns which parts are zero. */
HELPER int32_v peaks(const float_v *x, size_t n, float_v *out)
{
    float_v most = {0}, at = {0};
    for (size_t i = 0; i < n; i++) {
        const int32_v more = magnitude(x[i]) > most;
        most = choose(more, magnitude(x[i]), most);
        at = choose(more, x[i], at);
    }
    *out = at;
    return most < TINY;
}

/* Products of the numbers and their levels, and squares of the levels, weighted with the squares of
 * the numbers. ggml multiplies in another order where it looks the level up. */
HELPER void try_levels(const struct levels *s, const float_v *x, size_t n, float_v factor,
                       float_v *dot, float_v *square)
{
    *dot = *square = (float_v){0};
    for (size_t i = 0; i < n; i++) {
        const float_v l = level(s, factor * x[i]), w = x[i] * x[i];
        *dot += s->middle ? w * x[i] * l : w * l * x[i];
        *square += w * l * l;
    }
}

/* For a part in each lane the scale that fits best: first with *factor, then in `tries` steps to either side of
 * start, each changed by `step`, over the peak. *factor is then the best one. */
HELPER float_v fit_levels(const struct levels *s, const float_v *x, size_t n, float_v peak,
                          float_v *factor)
{
    const float_v zero = {0};
    const int tries = s->middle ? 9 : 7;
    float_v dot, square;
    try_levels(s, x, n, *factor, &dot, &square);
    const int32_v any = s->middle ? square != zero : square > zero; /* they differ for NaN */
    float_v scale = choose(any, dot / square, zero), best = scale * dot;
    for (int t = -tries; t <= tries; t++) {
        if (s->middle && !t)
            continue; /* that was the first */
        const float_v f =
            (s->middle ? -((float)s->middle + 0.1F * (float)t) : (float)t + nonlinear[0]) / peak;
        try_levels(s, x, n, f, &dot, &square);
        const int32_v better = (square > zero) & (dot * dot > best * square);
        scale = choose(better, dot / square, scale);
        best = choose(better, scale * dot, best);
        *factor = choose(better, f, *factor);
    }
    return scale;
}

/* q6_k: the scales of some parts of 16, and codes as they would be without rounding the scales. */
HELPER void fit_q6(const float *x, float *scales, uint8_t *codes)
{
    static const struct levels s = {32};
    float_v part[16], top;
    columns(x, 16, part);
    const int32_v flat = peaks(part, 16, &top);
    float_v factor = -32 / top;
    const float_v scale = choose(flat, (float_v){0}, fit_levels(&s, part, 16, top, &factor));
    memcpy(scales, &scale, sizeof(scale));
    for (size_t i = 0; i < 16; i++)
        put_codes((clamp_v(nearest_v(factor * part[i]), -32, 31) + 32) & ~flat, 16, codes + i);
}

/* q3_k: begin with the codes of the peak, then change one code after the other if that fits better. */
HELPER void fit_q3(const float *x, float *scales, uint8_t *codes)
{
    const float_v zero = {0};
    float_v part[16], code[16], top, dot = {0}, square = {0};
    columns(x, 16, part);
    const int32_v flat = peaks(part, 16, &top);
    const float_v factor = -4 / top;
    for (size_t i = 0; i < 16; i++) {
        const float_v w = part[i] * part[i];
        code[i] = float_of_v(clamp_v(nearest_v(factor * part[i]), -4, 3));
        dot += w * part[i] * code[i];
        square += w * code[i] * code[i];
    }
    bool changed = true;
    for (unsigned round = 0; round < 5 && changed; round++) {
        int32_v any = {0};
        for (size_t i = 0; i < 16; i++) {
            const float_v w = part[i] * part[i];
            float_v d = dot - w * part[i] * code[i], s = square - w * code[i] * code[i];
            const int32_v positive = d > zero;
            const float_v l = float_of_v(clamp_v(nearest_v(part[i] * s / d), -4, 3));
            d += w * part[i] * l;
            s += w * l * l;
            const int32_v better =
                positive & (l != code[i]) & (s > zero) & (d * d * square > dot * dot * s);
            code[i] = choose(better, l, code[i]);
            dot = choose(better, d, dot);
            square = choose(better, s, square);
            any |= better;
        }
        changed = any_lane(any);
    }
    const float_v scale = choose(~flat & (square > zero), dot / square, zero);
    memcpy(scales, &scale, sizeof(scale));
    for (size_t i = 0; i < 16; i++)
        put_codes((__builtin_convertvector(code[i], int32_v) + 4) & ~flat, 16, codes + i);
}

/* The codes of a part once its scale is rounded; without a scale they stay. */
HELPER void level_codes(const float *x, float d, int32_t middle, uint8_t *codes)
{
    if (d == 0)
        return;
    for (size_t i = 0; i < 16; i++)
        codes[i] = (uint8_t)(clamp(nearest(x[i] / d), -middle, middle - 1) + middle);
}

HELPER void encode_q3_k(const float *x, uint8_t *out)
{
    float scales[16];
    uint8_t codes[QK], *mask = out, *s = out + 96;
    for (size_t at = 0; at < 16; at += LANES)
        fit_q3(x + 16 * at, scales + at, codes + 16 * at);
    const float scale = peak(scales, 16), by = -32 / scale;
    const float d = put_half(out + 108, scale != 0 ? 1 / by : 0);
    memset(s, 0, 12);
    for (size_t j = 0; j < 16; j++) {
        const int32_t l = scale != 0 ? clamp((int8_t)nearest(by * scales[j]), -32, 31) + 32 : 0;
        s[j % 8] |= (uint8_t)((l & 15) << 4 * (j / 8));
        s[8 + j % 4] |= (uint8_t)(l >> 4 << 2 * (j / 4));
        level_codes(x + 16 * j, d * (float)(l - 32), 4, codes + 16 * j);
    }
    for (size_t i = 0; i < 32; i++) {
        unsigned high = 0;
        for (size_t j = 0; j < 8; j++)
            high |= (codes[32 * j + i] >> 2 & 1U) << j;
        mask[i] = (uint8_t)high;
    }
    pack_quarters(codes, out + 32);
}

HELPER void encode_q6_k(const float *x, uint8_t *out)
{
    float scales[16];
    uint8_t codes[QK];
    for (size_t at = 0; at < 16; at += LANES)
        fit_q6(x + 16 * at, scales + at, codes + 16 * at);
    const float scale = peak(scales, 16), by = -128 / scale;
    if (fabsf(scale) < TINY) {
        memset(out, 0, 210);
        return;
    }
    const float d = put_half(out + 208, 1 / by);
    for (size_t j = 0; j < 16; j++) {
        const int32_t l = nearest(by * scales[j]);
        out[192 + j] = (uint8_t)(l < 127 ? l : 127);
        level_codes(x + 16 * j, d * (float)(int8_t)out[192 + j], 32, codes + 16 * j);
    }
    uint8_t high[QK];
    for (size_t i = 0; i < QK; i++)
        high[i] = codes[i] >> 4;
    pack_quarters(high, out + 128);
    for (size_t i = 0; i < 128; i += 16)
        pack_halves(codes + i / 64 * 128 + i % 64, 64, out + i);
}

/* The scale fits codes that come from the peak alone; no other is tried. */
HELPER void encode_iq4_nl(const float *x, uint8_t *out)
{
    const float top = peak(x, 32), by = 1 / (top / nonlinear[0]);
    const bool flat = fabsf(top) < TINY;
    float dot = 0, square = 0;
    uint8_t codes[32];
    nonlinear_codes(x, flat ? 0 : by, codes);
    for (size_t i = 0; i < 32; i++) {
        const float w = x[i] * x[i], q = nonlinear[codes[i]];
        dot += w * q * x[i];
        square += w * q * q;
    }
    put_half(out, !flat && square > 0 ? dot / square : 0);
    pack_halves(codes, 16, out + 2);
}

HELPER void encode_iq4_xs(const float *x, uint8_t *out)
{
    static const struct levels s = {0};
    float scales[8];
    for (size_t at = 0; at < 8; at += LANES) {
        float_v part[32], top;
        columns(x + 32 * at, 32, part);
        const int32_v flat = peaks(part, 32, &top);
        float_v factor = 1 / (-top / nonlinear[0]);
        const float_v scale = choose(flat, (float_v){0}, fit_levels(&s, part, 32, top, &factor));
        memcpy(scales + at, &scale, sizeof(scale));
    }
    const float d = -peak(scales, 8) / 32, id = inverse(d);
    uint32_t high = 0;
    put_half(out, d);
    memset(out + 4, 0, 4);
    for (size_t j = 0; j < 8; j++) {
        const int32_t l = clamp(nearest(id * scales[j]), -32, 31);
        const uint32_t stored = (uint32_t)(l + 32);
        uint8_t codes[32];
        nonlinear_codes(x + 32 * j, inverse(d * (float)l), codes);
        pack_halves(codes, 16, out + 8 + 16 * j);
        out[4 + j / 2] |= (uint8_t)((stored & 15) << 4 * (j % 2));
        high |= stored >> 4 << 2 * j;
    }
    out[2] = (uint8_t)high;
    out[3] = (uint8_t)(high >> 8);
}

/* --- kernels -------------------------------------------------------------------------------- */

/* Copies whole vectors, as narrower stores would hold up the wide loads that follow. */
HELPER void take(const uint8_t *in, size_t n, float *out)
{
    for (size_t i = 0; i < n; i += LANES) {
        float_v v;
        memcpy(&v, in + i * sizeof(float), sizeof(v));
        memcpy(out + i, &v, sizeof(v));
    }
}

/* The bits of NaN that are no sign would otherwise get into codes (nearest()), of several NaNs the bits of
 * one that the compiler chooses. */
HELPER void plain_nans(float *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        x[i] = x[i] == x[i] ? x[i] : copysignf(NAN, x[i]);
}

#define QUANTISE(type, ELEMS)                                                                      \
    TARGET static size_t quantise_##type(const struct converter_step *step,                        \
                                         const void *restrict src, void *restrict dst,             \
                                         size_t count)                                             \
    {                                                                                              \
        const uint8_t *in = src;                                                                   \
        uint8_t *out = dst;                                                                        \
        for (size_t i = 0; i < count; i += (ELEMS), out += step->bytes) {                          \
            float x[ELEMS]; /* src may not be aligned */                                           \
            take(in + i * sizeof(float), ELEMS, x);                                                \
            if ((ELEMS) == QK)                                                                     \
                plain_nans(x, ELEMS);                                                              \
            encode_##type(x, out);                                                                 \
        }                                                                                          \
        return count;                                                                              \
    }
#define Q32(type)  QUANTISE(type, 32)
#define Q256(type) QUANTISE(type, QK)
QUANTISED_32(Q32)
QUANTISED_256(Q256)

/* The scales of several blocks are made at once: each by itself takes longer than everything else. */
TARGET static size_t quantise_q8_0(const struct converter_step *step, const void *restrict src,
                                   void *restrict dst, size_t count)
{
    const uint8_t *in = src;
    uint8_t *out = dst;
    for (size_t i = 0; i < count;) {
        float x[LANES][32];
        float_v d = {0};
        unsigned blocks = 0;
        for (; blocks < LANES && i < count; blocks++, i += 32) {
            take(in + i * sizeof(float), 32, x[blocks]);
            d[blocks] = largest(x[blocks], 32);
        }
        d /= 127;
        const float_v id = choose(d != (float_v){0}, 1 / d, (float_v){0});
        for (unsigned b = 0; b < blocks; b++, out += step->bytes) {
            put_half(out, d[b]);
            for (size_t j = 0; j < 32; j++)
                out[2 + j] = (uint8_t)rounded(x[b][j] * id[b]);
        }
    }
    return count;
}

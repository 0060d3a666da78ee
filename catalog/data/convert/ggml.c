/*
 * ggml.c - one function per block type. In the comments d and m are the block's scale and offset
 * (float16), q its small integers. Of 32 elements with 4 bits, element i is in byte i mod 16: in
 * the low half for i < 16, else in the high half.
 */
#ifndef __clang__
#    pragma GCC optimize("O3")
#endif
#include "catalog/data/convert/ggml.h"

#include <string.h>

#include "catalog/base/bits.h"
#include "catalog/data/convert/float_format.h"
#include "catalog/data/convert/ggml_grids.h"

#define QK 256 /* elements of the "k" types' blocks */

static float half(const uint8_t *at)
{
    uint32_t bits = load_u16le(at), rest = bits & 0x3FF, exponent = bits >> 10 & 0x1F;
    uint32_t sign = (bits & 0x8000) << 16;
    if (exponent == 0) { /* exact: 10 bits and a power of two */
        float f = (float)rest * 0x1p-24F;
        return sign ? -f : f;
    }
    return float_of(sign | (exponent == 31 ? 0xFFU : exponent + 112) << 23 | rest << 13);
}

/* --- 32 elements, one scale --------------------------------------------------------------- */

/* d * (q - 8) */
static void q4_0(const uint8_t *b, float *out)
{
    const float d = half(b);
    for (size_t i = 0; i < 16; i++) {
        out[i] = d * (float)((b[2 + i] & 15) - 8);
        out[i + 16] = d * (float)((b[2 + i] >> 4) - 8);
    }
}

/* d * q + m */
static void q4_1(const uint8_t *b, float *out)
{
    const float d = half(b), m = half(b + 2);
    for (size_t i = 0; i < 16; i++) {
        out[i] = d * (float)(b[4 + i] & 15) + m;
        out[i + 16] = d * (float)(b[4 + i] >> 4) + m;
    }
}

/* d * (q - 16); the fifth bits of all elements are in one 32-bit word. */
static void q5_0(const uint8_t *b, float *out)
{
    const float d = half(b);
    const uint32_t high = load_u32le(b + 2);
    for (size_t i = 0; i < 16; i++) {
        out[i] = d * (float)((int)((b[6 + i] & 15) | (high >> i & 1) << 4) - 16);
        out[i + 16] = d * (float)((int)(b[6 + i] >> 4 | (high >> (i + 16) & 1) << 4) - 16);
    }
}

static void q5_1(const uint8_t *b, float *out)
{
    const float d = half(b), m = half(b + 2);
    const uint32_t high = load_u32le(b + 4);
    for (size_t i = 0; i < 16; i++) {
        out[i] = d * (float)((b[8 + i] & 15) | (high >> i & 1) << 4) + m;
        out[i + 16] = d * (float)(b[8 + i] >> 4 | (high >> (i + 16) & 1) << 4) + m;
    }
}

static void q8_0(const uint8_t *b, float *out)
{
    const float d = half(b);
    for (size_t i = 0; i < 32; i++)
        out[i] = d * (float)(int8_t)b[2 + i];
}

/* 128 elements of one bit each: d or -d. */
static void q1_0(const uint8_t *b, float *out)
{
    const float d = half(b);
    for (size_t i = 0; i < 128; i++)
        out[i] = b[2 + i / 8] >> i % 8 & 1 ? d : -d;
}

/* 64 elements of two bits each: d * (q - 1) */
static void q2_0(const uint8_t *b, float *out)
{
    const float d = half(b);
    for (size_t i = 0; i < 64; i++)
        out[i] = d * (float)((b[2 + i / 4] >> 2 * (i % 4) & 3) - 1);
}

/* The values of the 16 codes, which are not equally spaced. */
static const float nonlinear[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                    1,    13,   25,  38,  53,  69,  89,  113};

static void iq4_nl(const uint8_t *b, float *out)
{
    const float d = half(b);
    for (size_t i = 0; i < 16; i++) {
        out[i] = d * nonlinear[b[2 + i] & 15];
        out[i + 16] = d * nonlinear[b[2 + i] >> 4];
    }
}

/* --- 4-bit floats ------------------------------------------------------------------------- */

/* Twice the values of float4_e2m1. */
static const float fp4_twice[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

/* The scale is a power of two, 2^(e - 127), halved here because the table has twice the values.
 * ggml does not treat e = 255 (NaN in the OCP specification) in a special way. */
static void mxfp4(const uint8_t *b, float *out)
{
    const float d = float_of(b[0] < 2 ? UINT32_C(0x00200000) << b[0] : (uint32_t)(b[0] - 1) << 23);
    for (size_t i = 0; i < 16; i++) {
        out[i] = d * fp4_twice[b[1 + i] & 15];
        out[i + 16] = d * fp4_twice[b[1 + i] >> 4];
    }
}

/* An unsigned 8-bit scale: 4 bits of exponent (bias 7), 3 of mantissa; 0x7F means 0. */
static float ue4m3(uint8_t x)
{
    const unsigned exponent = x >> 3 & 15, rest = x & 7;
    if (x == 0x7F)
        return 0;
    return exponent == 0 ? (float)rest * 0x1p-9F : float_of((exponent + 120) << 23 | rest << 20);
}

/* 64 elements in four parts of 16, each with its own scale. */
static void nvfp4(const uint8_t *b, float *out)
{
    for (size_t s = 0; s < 4; s++) {
        const float d = ue4m3(b[s]) * 0.5F;
        for (size_t i = 0; i < 8; i++) {
            const uint8_t q = b[4 + 8 * s + i];
            out[16 * s + i] = d * fp4_twice[q & 15];
            out[16 * s + i + 8] = d * fp4_twice[q >> 4];
        }
    }
}

/* --- 256 elements, scales of parts -------------------------------------------------------- */

/* 16 parts, each with a scale and an offset of 4 bits. */
static void q2_k(const uint8_t *b, float *out)
{
    const uint8_t *scales = b, *q = b + 16;
    const float d = half(b + 80), least = half(b + 82);
    for (size_t j = 0; j < 16; j++) {
        const float dl = d * (float)(scales[j] & 15), ml = least * (float)(scales[j] >> 4);
        const uint8_t *at = q + 32 * (j / 8) + 16 * (j % 2);
        const size_t shift = 2 * (j / 2 % 4);
        for (size_t i = 0; i < 16; i++)
            out[16 * j + i] = dl * (float)(at[i] >> shift & 3) - ml;
    }
}

/* 16 parts, each with a signed 6-bit scale, whose low 4 and high 2 bits are stored apart. */
static void q3_k(const uint8_t *b, float *out)
{
    const uint8_t *mask = b, *q = b + 32, *s = b + 96;
    const float d = half(b + 108);
    for (size_t j = 0; j < 16; j++) {
        const int scale = (s[j % 8] >> 4 * (j / 8) & 15) | (s[8 + j % 4] >> 2 * (j / 4) & 3) << 4;
        const float dl = d * (float)(scale - 32);
        const uint8_t *at = q + 32 * (j / 8) + 16 * (j % 2), *high = mask + 16 * (j % 2);
        const size_t shift = 2 * (j / 2 % 4), bit = j / 2;
        for (size_t i = 0; i < 16; i++)
            out[16 * j + i] = dl * (float)((at[i] >> shift & 3) - (high[i] >> bit & 1 ? 0 : 4));
    }
}

/* Scale and offset of part j of 8, 6 bits each, packed into 12 bytes. */
static void scale_and_least(const uint8_t *s, size_t j, int *scale, int *least)
{
    if (j < 4) {
        *scale = s[j] & 63;
        *least = s[j + 4] & 63;
    } else {
        *scale = (s[j + 4] & 15) | s[j - 4] >> 6 << 4;
        *least = s[j + 4] >> 4 | s[j] >> 6 << 4;
    }
}

static void q4_k(const uint8_t *b, float *out)
{
    const float d = half(b), least = half(b + 2);
    for (size_t j = 0; j < 8; j++) {
        int sc, mn;
        scale_and_least(b + 4, j, &sc, &mn);
        const float dl = d * (float)sc, ml = least * (float)mn;
        const uint8_t *q = b + 16 + 32 * (j / 2);
        const size_t shift = 4 * (j % 2);
        for (size_t i = 0; i < 32; i++)
            out[32 * j + i] = dl * (float)(q[i] >> shift & 15) - ml;
    }
}

static void q5_k(const uint8_t *b, float *out)
{
    const float d = half(b), least = half(b + 2);
    for (size_t j = 0; j < 8; j++) {
        int sc, mn;
        scale_and_least(b + 4, j, &sc, &mn);
        const float dl = d * (float)sc, ml = least * (float)mn;
        const uint8_t *high = b + 16, *q = b + 48 + 32 * (j / 2);
        const size_t shift = 4 * (j % 2);
        for (size_t i = 0; i < 32; i++)
            out[32 * j + i] = dl * (float)((q[i] >> shift & 15) | (high[i] >> j & 1) << 4) - ml;
    }
}

static void q6_k(const uint8_t *b, float *out)
{
    const float d = half(b + 208);
    for (size_t j = 0; j < 16; j++) {
        const size_t half_of = j / 8, g = j / 2 % 4, l = 16 * (j % 2);
        const uint8_t *low = b + 64 * half_of + 32 * (g & 1) + l,
                      *high = b + 128 + 32 * half_of + l;
        const float dl = d * (float)(int8_t)b[192 + j];
        const size_t shift = g < 2 ? 0 : 4;
        for (size_t i = 0; i < 16; i++)
            out[16 * j + i] =
                dl * (float)(((low[i] >> shift & 15) | (high[i] >> 2 * g & 3) << 4) - 32);
    }
}

static void iq4_xs(const uint8_t *b, float *out)
{
    const float d = half(b);
    const unsigned high = load_u16le(b + 2);
    for (size_t j = 0; j < 8; j++) {
        const int scale = (int)((b[4 + j / 2] >> 4 * (j % 2) & 15) | (high >> 2 * j & 3) << 4);
        const float dl = d * (float)(scale - 32);
        const uint8_t *q = b + 8 + 16 * j;
        for (size_t i = 0; i < 16; i++) {
            out[32 * j + i] = dl * nonlinear[q[i] & 15];
            out[32 * j + i + 16] = dl * nonlinear[q[i] >> 4];
        }
    }
}

/* --- three values an element -------------------------------------------------------------- */

/* Digit n of the five base-3 digits of a byte, minus 1. A byte B is the fraction B / 256 in base
 * 3: multiplying by 3^n modulo 256 drops the first n digits, and the integer part of three times
 * that is the next digit. */
static int trit(uint8_t byte, size_t n)
{
    static const uint8_t powers[5] = {1, 3, 9, 27, 81};
    return ((uint8_t)(byte * powers[n]) * 3 >> 8) - 1;
}

static void tq1_0(const uint8_t *b, float *out)
{
    const uint8_t *q = b, *last = b + 48;
    const float d = half(b + 52);
    for (size_t i = 0; i < 160; i++)
        out[i] = d * (float)trit(q[i % 32], i / 32);
    for (size_t i = 0; i < 80; i++)
        out[160 + i] = d * (float)trit(q[32 + i % 16], i / 16);
    for (size_t i = 0; i < 16; i++)
        out[240 + i] = d * (float)trit(last[i % 4], i / 4);
}

static void tq2_0(const uint8_t *b, float *out)
{
    const float d = half(b + 64);
    for (size_t i = 0; i < QK; i++)
        out[i] = d * (float)((b[32 * (i / 128) + i % 32] >> 2 * (i / 32 % 4) & 3) - 1);
}

/* --- codebooks ---------------------------------------------------------------------------- */

/* The seven signs of a code, and an eighth that makes the number of minus signs even. */
static unsigned signs_of(unsigned code)
{
    return code | (unsigned)__builtin_parity(code) << 7;
}

static float signed_by(float x, unsigned signs, size_t i)
{
    return signs >> i & 1 ? -x : x;
}

/* 8 numbers of a grid with 2-bit entries, scaled and signed. */
static void put_grid2(uint16_t entry, float scale, unsigned signs, float *out)
{
    static const uint8_t of[4] = {8, 25, 43, 0};
    for (size_t i = 0; i < 8; i++)
        out[i] = signed_by(scale * (float)of[entry >> 2 * i & 3], signs, i);
}

static void iq2_xxs(const uint8_t *b, float *out)
{
    const float d = half(b);
    for (size_t j = 0; j < 8; j++) {
        const uint8_t *codes = b + 2 + 8 * j;
        const uint32_t rest = load_u32le(codes + 4);
        const float scale = d * (0.5F + (float)(rest >> 28)) * 0.25F;
        for (size_t k = 0; k < 4; k++)
            put_grid2(grid_iq2_xxs[codes[k]], scale, signs_of(rest >> 7 * k & 127),
                      out + 32 * j + 8 * k);
    }
}

/* The 4-bit scale of part j of 16. */
static float scale2(float d, const uint8_t *scales, size_t j)
{
    return d * (0.5F + (float)(scales[j / 2] >> 4 * (j % 2) & 15)) * 0.25F;
}

static void iq2_xs(const uint8_t *b, float *out)
{
    const float d = half(b);
    for (size_t k = 0; k < 32; k++) {
        const unsigned code = load_u16le(b + 2 + 2 * k);
        put_grid2(grid_iq2_xs[code & 511], scale2(d, b + 66, k / 2), signs_of(code >> 9),
                  out + 8 * k);
    }
}

static void iq2_s(const uint8_t *b, float *out)
{
    const float d = half(b);
    for (size_t k = 0; k < 32; k++) {
        const unsigned code = b[2 + k] | (b[66 + k / 4] >> 2 * (k % 4) & 3U) << 8;
        put_grid2(grid_iq2_s[code], scale2(d, b + 74, k / 2), b[34 + k], out + 8 * k);
    }
}

static void iq3_xxs(const uint8_t *b, float *out)
{
    static const uint8_t of[8] = {4, 12, 20, 28, 36, 44, 52, 62};
    const float d = half(b);
    for (size_t j = 0; j < 8; j++) {
        const uint32_t rest = load_u32le(b + 66 + 4 * j);
        const float scale = d * (0.5F + (float)(rest >> 28)) * 0.5F;
        for (size_t i = 0; i < 32; i++) {
            const uint16_t entry = grid_iq3_xxs[b[2 + 8 * j + i / 4]];
            out[32 * j + i] = signed_by(scale * (float)of[entry >> 3 * (i % 4) & 7],
                                        signs_of(rest >> 7 * (i / 8) & 127), i % 8);
        }
    }
}

static void iq3_s(const uint8_t *b, float *out)
{
    const uint8_t *q = b + 2, *high = b + 66, *signs = b + 74, *scales = b + 106;
    const float d = half(b);
    for (size_t k = 0; k < 64; k++) {
        const unsigned code = q[k] | (high[k / 8] >> k % 8 & 1U) << 8;
        const uint16_t entry = grid_iq3_s[code];
        const float scale = d * (float)(1 + 2 * (scales[k / 16] >> 4 * (k / 8 % 2) & 15));
        for (size_t i = 0; i < 4; i++)
            out[4 * k + i] = signed_by(scale * (float)(1 + 2 * (entry >> 3 * i & 7)), signs[k / 2],
                                       4 * (k % 2) + i);
    }
}

/* 8 numbers from -1, 0 and 1, shifted up or down by an eighth. */
static void put_grid1(unsigned code, float scale, bool down, float *out)
{
    const float delta = down ? -0.125F : 0.125F;
    for (size_t i = 0; i < 8; i++)
        out[i] = scale * ((float)((grid_iq1[code] >> 2 * i & 3) - 1) + delta);
}

static void iq1_s(const uint8_t *b, float *out)
{
    const float d = half(b);
    for (size_t k = 0; k < 32; k++) {
        const unsigned high = load_u16le(b + 34 + 2 * (k / 4));
        const float scale = d * (float)(2 * (high >> 12 & 7) + 1);
        put_grid1(b[2 + k] | (high >> 3 * (k % 4) & 7) << 8, scale, high & 0x8000, out + 8 * k);
    }
}

/* The block's float16 scale is spread over the upper 4 bits of its four 16-bit words of scales. */
static void iq1_m(const uint8_t *b, float *out)
{
    const uint8_t *words = b + 48;
    uint8_t d16[2] = {0};
    for (size_t i = 0; i < 4; i++)
        d16[i / 2] |= (uint8_t)(words[2 * i + 1] >> 4 << 4 * (i % 2));
    const float d = half(d16);
    for (size_t k = 0; k < 32; k++) {
        const unsigned word = load_u16le(words + 2 * (k / 8));
        const unsigned high = b[32 + k / 2] >> 4 * (k % 2) & 15U;
        const float scale = d * (float)(2 * (word >> 3 * (k / 2 % 4) & 7) + 1);
        put_grid1(b[k] | (high & 7) << 8, scale, high & 8, out + 8 * k);
    }
}

/* --- table -------------------------------------------------------------------------------- */

ggml_decode *ggml_decoder(const char *dtype)
{
    static const struct {
        const char *name;
        ggml_decode *decode;
    } types[] = {
        {"q4_0", q4_0},       {"q4_1", q4_1},     {"q5_0", q5_0},       {"q5_1", q5_1},
        {"q8_0", q8_0},       {"q2_k", q2_k},     {"q3_k", q3_k},       {"q4_k", q4_k},
        {"q5_k", q5_k},       {"q6_k", q6_k},     {"iq2_xxs", iq2_xxs}, {"iq2_xs", iq2_xs},
        {"iq3_xxs", iq3_xxs}, {"iq1_s", iq1_s},   {"iq4_nl", iq4_nl},   {"iq3_s", iq3_s},
        {"iq2_s", iq2_s},     {"iq4_xs", iq4_xs}, {"iq1_m", iq1_m},     {"tq1_0", tq1_0},
        {"tq2_0", tq2_0},     {"mxfp4", mxfp4},   {"nvfp4", nvfp4},     {"q1_0", q1_0},
        {"q2_0", q2_0},
    };
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
        if (strcmp(types[i].name, dtype) == 0)
            return types[i].decode;
    return NULL;
}

bool ggml_finite(const struct dtype *d, const uint8_t *blocks, uint64_t elements)
{
    static const struct {
        const char *name;
        uint8_t scale,
            other; /* where its float16s are: of finite ones all products are finite in float32 */
    } types[] = {
        {"q4_0", 0, 0},    {"q4_1", 0, 2},     {"q5_0", 0, 0},     {"q5_1", 0, 2},
        {"q8_0", 0, 0},    {"q2_k", 80, 82},   {"q3_k", 108, 108}, {"q4_k", 0, 2},
        {"q5_k", 0, 2},    {"q6_k", 208, 208}, {"iq4_nl", 0, 0},   {"iq4_xs", 0, 0},
        {"tq1_0", 52, 52}, {"tq2_0", 64, 64},
    };
    const size_t count = sizeof(types) / sizeof(types[0]);
    size_t type = 0;
    while (type < count && strcmp(types[type].name, d->name) != 0)
        type++;
    if (type == count)
        return false;
    bool finite = true;
    for (uint64_t i = 0; i < elements; i += d->block_elems, blocks += d->block_bytes)
        finite &= (load_u16le(blocks + types[type].scale) & 0x7C00) != 0x7C00 &&
                  (load_u16le(blocks + types[type].other) & 0x7C00) != 0x7C00;
    return finite;
}

/*
 * float_format.h - the narrow floats as rows of a table, all with one decoder and one
 * encoder.
 *
 *   sign      1 bit
 *   exponent  bits - mantissa - 1 bits, E
 *   mantissa  M
 *
 *   E > 0     2^(E - bias) * (1 + M / 2^mantissa)
 *   E = 0     2^(1 - bias) * M / 2^mantissa
 *
 * Sources: IEEE 754-2019, 3.4 (float16); OCP 8-bit Floating Point Specification 1.0 (e5m2,
 * e4m3fn); OCP Microscaling Formats 1.0 (e2m1, e8m0); ml_dtypes (the others).
 * float8_e8m0fnu has neither sign nor mantissa nor zero: e8m0_decode(), e8m0_encode().
 *
 * The functions are free of branches, so that loops over them become vector code.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

struct float_format {
    const char *name;
    uint32_t bits, mantissa, bias;
    uint32_t max;      /* code of the largest finite value */
    uint32_t overflow; /* code for larger values: infinity, else NaN, else max */
    uint32_t nan;      /* code of the NaN to write; 0: the format has none */
    uint32_t payload;  /* payload bits of a NaN that are kept */
    bool minus_zero;   /* false: the code of -0 is the only NaN */
};

/* NULL if `name` is not in the table; float32, float64 and e8m0 are not. */
const struct float_format *float_format_find(const char *name);

#define INLINE static inline __attribute__((always_inline))

INLINE float float_of(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

INLINE uint32_t float_bits(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

INLINE double double_of(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

INLINE uint64_t double_bits(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

/* Decode a code to the bits of a float32; exact. */
INLINE uint32_t float_decode(const struct float_format *f, uint32_t code)
{
    const unsigned shift = 23 - f->mantissa;
    const uint32_t sign = code >> (f->bits - 1);
    const uint32_t magnitude = code & ((UINT32_C(1) << (f->bits - 1)) - 1);
    const uint32_t wide = magnitude << shift;
    const uint32_t quiet = 0x7FC00000 | (magnitude & f->payload) << shift;

    /* Subnormal: use M as the mantissa of a float with the right exponent, and subtract that
     * float's implicit one. */
    const uint32_t one = (128 - f->bias) << 23;
    const uint32_t tiny = float_bits(float_of(wide | one) - float_of(one));
    uint32_t u = magnitude >> f->mantissa ? wide + ((127 - f->bias) << 23) : tiny;

    const bool infinite = magnitude == f->overflow && f->overflow != f->nan;
    u = magnitude > f->max ? (infinite ? 0x7F800000 : quiet) : u;
    u = !f->minus_zero && sign && magnitude == 0 ? quiet : u;
    return u | sign << 31;
}

/*
 * Encode the bits of a float32 or float64 as a code: rounded once, to nearest, ties to even.
 *
 * Normal: the mantissa is rounded in place, and a carry goes into the exponent, which is correct.
 * Tiny (subnormal in the format): add the power of two whose lowest mantissa bit is worth the
 * format's least value. The addition rounds, and the sum's low bits are the code.
 */
#define DEFINE_FLOAT_ENCODE(NAME, UINT, OF, BITS_OF, MANTISSA, BIAS)                               \
    INLINE uint32_t NAME(const struct float_format *f, UINT u)                                     \
    {                                                                                              \
        const unsigned shift = MANTISSA - f->mantissa;                                             \
        const UINT sign = u >> (sizeof(UINT) * 8 - 1);                                             \
        const UINT a = u & ((UINT)-1 >> 1);                                                        \
        const UINT infinity = (UINT)(2 * BIAS + 1) << MANTISSA;                                    \
        const UINT least = (UINT)(BIAS + 1 - f->bias) << MANTISSA;                                 \
        const UINT adder = (UINT)(BIAS + 1 - f->bias + shift) << MANTISSA;                         \
        const UINT half = ((UINT)1 << (shift - 1)) - 1 + (a >> shift & 1);                         \
        const UINT rebias = (UINT)(BIAS - f->bias) << f->mantissa;                                 \
                                                                                                   \
        const UINT tiny = BITS_OF(OF(a) + OF(adder)) - adder;                                      \
        UINT code = a < least ? tiny : ((a + half) >> shift) - rebias;                             \
        code = code > f->max ? f->overflow : code;                                                 \
        code = a > infinity ? (f->nan | (a >> shift & f->payload)) : code;                         \
        code |= code || f->minus_zero ? sign << (f->bits - 1) : 0;                                 \
        return (uint32_t)code;                                                                     \
    }

DEFINE_FLOAT_ENCODE(float_encode32, uint32_t, float_of, float_bits, 23, 127)
DEFINE_FLOAT_ENCODE(float_encode64, uint64_t, double_of, double_bits, 52, 1023)

/* bfloat16 is the upper half of a float32. */
INLINE uint32_t bfloat16_decode(uint16_t code)
{
    return (uint32_t)code << 16;
}

INLINE uint16_t bfloat16_encode(uint32_t u)
{
    const bool nan = (u & 0x7FFFFFFF) > 0x7F800000;
    return (uint16_t)(nan ? u >> 16 | 0x40 : (u + 0x7FFF + (u >> 16 & 1)) >> 16);
}

/* float8_e8m0fnu: 2^(code - 127), 0xFF is NaN. */
INLINE uint32_t e8m0_decode(uint32_t code)
{
    const uint32_t u = code ? code << 23 : 0x00400000;
    return code == 0xFF ? 0x7FC00000 : u;
}

INLINE uint32_t e8m0_encode(uint32_t u)
{
    /* Halfway rounds up, except 2^-127 itself: it is subnormal in float32, where the bit of one
     * half is the value. */
    const uint32_t code = (u + 0x00400000 - (u < 0x00800000)) >> 23;
    return u == 0 || u > 0x7F800000 ? 0xFF : code;
}

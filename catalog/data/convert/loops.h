/*
 * loops.h - the source of the kernels, compiled once for each target.
 *
 * Included by kernels_plain.c and kernels_avx2.c, which define TARGET (attributes of every
 * function), SET (the table to fill) and, with F16C, HAVE_F16C. Both compile the same expressions,
 * of integers and of single float additions, so their results are equal bit for bit.
 */
#include "catalog/data/convert/float_format.h"
#include "catalog/data/convert/kernels.h"

#ifdef HAVE_F16C
#    include <immintrin.h>
#endif

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#    error "elements are read as little-endian words"
#endif

#define LOOP_HEAD(NAME)                                                                            \
    TARGET static size_t NAME(const struct converter_step *step, const void *restrict src,         \
                              void *restrict dst, size_t count)

/* Computes y from each x. The first loop is vectorised and only notes whether `ok` was ever false;
 * then the second loop finds where. The format is copied because, to the compiler, a write to dst
 * might change it. */
#define LOOP_CHECKED(NAME, X, Y, ok, expression)                                                   \
    LOOP_HEAD(NAME)                                                                                \
    {                                                                                              \
        const struct converter_step s = *step;                                                     \
        const struct float_format f = s.format ? *s.format : (struct float_format){0};             \
        (void)f;                                                                                   \
        const uint8_t *in = src;                                                                   \
        uint8_t *out = dst;                                                                        \
        uint64_t bad = 0;                                                                          \
        for (size_t i = 0; i < count; i++) {                                                       \
            X x;                                                                                   \
            memcpy(&x, in + i * sizeof(x), sizeof(x));                                             \
            bad |= !(ok);                                                                          \
            const Y y = (Y)(expression);                                                           \
            memcpy(out + i * sizeof(y), &y, sizeof(y));                                            \
        }                                                                                          \
        for (size_t i = 0; bad && i < count; i++) {                                                \
            X x;                                                                                   \
            memcpy(&x, in + i * sizeof(x), sizeof(x));                                             \
            if (!(ok))                                                                             \
                return i;                                                                          \
        }                                                                                          \
        return count;                                                                              \
    }

#define LOOP(NAME, X, Y, expression) LOOP_CHECKED(NAME, X, Y, true, expression)

/* --- integers -------------------------------------------------------------------------- */

/* Element i of a byte is at bit i * WIDTH, the first in the lowest bits. Unpacking writes all
 * elements of the last byte: the buffer always has room for them. */
#define UNPACK(NAME, WIDTH, expression)                                                            \
    LOOP_HEAD(NAME)                                                                                \
    {                                                                                              \
        (void)step;                                                                                \
        const uint8_t *in = src;                                                                   \
        uint8_t *out = dst;                                                                        \
        for (size_t i = 0; i < count; i += 8 / WIDTH) {                                            \
            for (unsigned j = 0; j < 8 / WIDTH; j++) {                                             \
                const unsigned x = in[i * WIDTH / 8] >> j * WIDTH & ((1U << WIDTH) - 1);           \
                out[i + j] = (uint8_t)(expression);                                                \
            }                                                                                      \
        }                                                                                          \
        return count;                                                                              \
    }

#define PACK(NAME, WIDTH)                                                                          \
    LOOP_HEAD(NAME)                                                                                \
    {                                                                                              \
        (void)step;                                                                                \
        const uint8_t *in = src;                                                                   \
        uint8_t *out = dst;                                                                        \
        const size_t rest = count % (8 / WIDTH);                                                   \
        for (size_t i = 0; i < count - rest; i += 8 / WIDTH) {                                     \
            unsigned byte = 0;                                                                     \
            for (unsigned j = 0; j < 8 / WIDTH; j++)                                               \
                byte |= (in[i + j] & ((1U << WIDTH) - 1)) << j * WIDTH;                            \
            out[i * WIDTH / 8] = (uint8_t)byte;                                                    \
        }                                                                                          \
        if (rest)                                                                                  \
            out[count * WIDTH / 8] = 0;                                                            \
        for (size_t i = count - rest; i < count; i++)                                              \
            out[i * WIDTH / 8] |= (uint8_t)((in[i] & ((1U << WIDTH) - 1)) << i * WIDTH % 8);       \
        return count;                                                                              \
    }

UNPACK(unpack_i2, 2, (x ^ 2) - 2)
UNPACK(unpack_u2, 2, x)
UNPACK(unpack_i4, 4, (x ^ 8) - 8)
UNPACK(unpack_u4, 4, x)
PACK(pack_2, 2)
PACK(pack_4, 4)

/* Decode whole blocks to float32. */
LOOP_HEAD(unblock)
{
    const uint8_t *in = src;
    uint8_t *out = dst;
    float block[GGML_BLOCK_MAX];
    for (size_t i = 0; i < count; i += step->elems, in += step->bytes) {
        step->decode(in, block); /* not into dst, which may not be aligned */
        memcpy(out + i * sizeof(float), block, step->elems * sizeof(float));
    }
    return count;
}

LOOP(load_bool, uint8_t, int64_t, x != 0)
LOOP(load_i8, int8_t, int64_t, x)
LOOP(load_u8, uint8_t, int64_t, x)
LOOP(load_i16, int16_t, int64_t, x)
LOOP(load_u16, uint16_t, int64_t, x)
LOOP(load_i32, int32_t, int64_t, x)
LOOP(load_u32, uint32_t, int64_t, x)

LOOP_CHECKED(store_8, int64_t, uint8_t, x >= s.least && x <= s.most, x)
LOOP_CHECKED(store_16, int64_t, uint16_t, x >= s.least && x <= s.most, x)
LOOP_CHECKED(store_32, int64_t, uint32_t, x >= s.least && x <= s.most, x)

LOOP_CHECKED(i64_u64, int64_t, uint64_t, x >= 0, x)
LOOP_CHECKED(u64_i64, uint64_t, int64_t, x <= INT64_MAX, x)

/* --- between integers and floats ------------------------------------------------------- */

/* Casting a value out of range (or NaN) to an integer is undefined in C, so 0 is cast instead. */
#define IN_I64(x) ((x) >= -0x1p63 && (x) < 0x1p63)
#define IN_U64(x) ((x) >= 0 && (x) < 0x1p64)
LOOP_CHECKED(f64_i64, double, int64_t, IN_I64(x) && (double)(int64_t)x == x,
             IN_I64(x) ? (int64_t)x : 0)
LOOP_CHECKED(f64_u64, double, uint64_t, IN_U64(x) && (double)(uint64_t)x == x,
             IN_U64(x) ? (uint64_t)x : 0)

LOOP(i64_f64, int64_t, double, x)
LOOP(u64_f64, uint64_t, double, x)

/* Rounding twice gives the same as rounding once if the first rounding is "to odd" and keeps at
 * least two more bits than the second (Boldo and Melquiond, 2008): if any bit that is dropped is
 * set, the last bit kept is set, so that it never looks like a tie. Here the low 11 of 64 bits
 * are dropped and bit 11 is the last one kept: 0x8000000000000001 becomes 0x8000000000000800. */
INLINE uint64_t round_to_odd(uint64_t x)
{
    return (x & ~UINT64_C(0x7FF)) | (x & 0x7FF ? 0x800 : 0);
}

LOOP(i64_f64_odd, int64_t, double,
     x > -(INT64_C(1) << 53) && x < INT64_C(1) << 53 ? x : (int64_t)round_to_odd((uint64_t)x))
LOOP(u64_f64_odd, uint64_t, double, x < UINT64_C(1) << 53 ? x : round_to_odd(x))

/* --- floats ---------------------------------------------------------------------------- */

LOOP(f32_f64, float, double, x)
LOOP(f64_f32, double, float, x)

LOOP(decode_8, uint8_t, uint32_t, float_decode(&f, x))
LOOP(decode_16, uint16_t, uint32_t, float_decode(&f, x))
LOOP(decode_bf16, uint16_t, uint32_t, bfloat16_decode(x))
LOOP(decode_e8m0, uint8_t, uint32_t, e8m0_decode(x))

LOOP(encode32_8, uint32_t, uint8_t, float_encode32(&f, x))
LOOP(encode32_16, uint32_t, uint16_t, float_encode32(&f, x))
LOOP(encode32_bf16, uint32_t, uint16_t, bfloat16_encode(x))
LOOP(encode32_e8m0, uint32_t, uint8_t, e8m0_encode(x))

LOOP(encode64_8, uint64_t, uint8_t, float_encode64(&f, x))
LOOP(encode64_16, uint64_t, uint16_t, float_encode64(&f, x))

#ifdef HAVE_F16C
LOOP_HEAD(decode_half)
{
    const uint8_t *in = src;
    uint8_t *out = dst;
    size_t i = 0;
    for (; i + 8 <= count; i += 8) {
        const __m128i half = _mm_loadu_si128((const void *)(in + 2 * i));
        _mm256_storeu_ps((void *)(out + 4 * i), _mm256_cvtph_ps(half));
    }
    return i + decode_16(step, in + 2 * i, out + 4 * i, count - i);
}

LOOP_HEAD(encode32_half)
{
    const uint8_t *in = src;
    uint8_t *out = dst;
    size_t i = 0;
    for (; i + 8 <= count; i += 8) {
        const __m256 x = _mm256_loadu_ps((const void *)(in + 4 * i));
        _mm_storeu_si128((void *)(out + 2 * i), _mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT));
    }
    return i + encode32_16(step, in + 4 * i, out + 2 * i, count - i);
}
#else
#    define decode_half   decode_16
#    define encode32_half encode32_16
#endif

LOOP_CHECKED(no_nan_f32, float, float, x == x, x)
LOOP_CHECKED(no_nan_f64, double, double, x == x, x)

#define COMPLEX(NAME, X)                                                                           \
    LOOP_HEAD(NAME)                                                                                \
    {                                                                                              \
        (void)step;                                                                                \
        const uint8_t *in = src;                                                                   \
        uint8_t *out = dst;                                                                        \
        for (size_t i = 0; i < count; i++) {                                                       \
            memcpy(out + 2 * i * sizeof(X), in + i * sizeof(X), sizeof(X));                        \
            memset(out + (2 * i + 1) * sizeof(X), 0, sizeof(X));                                   \
        }                                                                                          \
        return count;                                                                              \
    }

COMPLEX(complex_16, uint16_t)
COMPLEX(complex_32, uint32_t)
COMPLEX(complex_64, uint64_t)

#define K(name) name,
#define Q(type) quantise_##type,
const struct kernel_set SET = {.run = {NULL, KERNELS(K) QUANTISED(Q)}};
#undef K
#undef Q

/*
 * kernels.h - the loops that conversions are made of.
 *
 * A conversion is a short chain of loops over a chunk in the L1 cache: unpack the elements
 * into bytes, load them into a hub (int64, uint64, float32 or float64, whichever holds them
 * exactly), convert to another hub, encode, pack. Example: int4 to bfloat16 is unpack_i4, load_i8,
 * i64_f64_odd, encode64_16. Every loop has one source text, loops.h, compiled twice: for any
 * machine, and for AVX2 with F16C.
 */
#pragma once

#include "catalog/data/convert/convert.h"

/* clang-format off */
/* The types that are quantised to; of 32 and 256 elements to a block. */
#define QUANTISED_32(K)  K(q4_0) K(q4_1) K(q5_0) K(q5_1) K(iq4_nl) K(mxfp4)
#define QUANTISED_256(K) K(q2_k) K(q3_k) K(q4_k) K(q5_k) K(q6_k) K(iq4_xs) K(tq1_0) K(tq2_0)
#define QUANTISED(K)     K(q8_0) QUANTISED_32(K) QUANTISED_256(K)

#define KERNELS(K)                                                                           \
    K(unpack_i2) K(unpack_u2) K(unpack_i4) K(unpack_u4) K(unblock)                           \
    K(pack_2) K(pack_4)                                                                      \
    K(load_bool) K(load_i8) K(load_u8) K(load_i16) K(load_u16) K(load_i32) K(load_u32)       \
    K(store_8) K(store_16) K(store_32)                     /* int64, checked to fit */       \
    K(i64_u64) K(u64_i64) K(f64_i64) K(f64_u64)            /* checked to fit */              \
    K(i64_f64) K(u64_f64)                                  /* rounded to nearest */          \
    K(i64_f64_odd) K(u64_f64_odd)                          /* rounded to odd, see loops.h */ \
    K(f32_f64) K(f64_f32)                                                                    \
    K(decode_8) K(decode_half) K(decode_bf16) K(decode_e8m0)                    /* to f32 */  \
    K(encode32_8) K(encode32_half) K(encode32_bf16) K(encode32_e8m0)           /* from f32 */\
    K(encode64_8) K(encode64_16)                                               /* from f64 */\
    K(no_nan_f32) K(no_nan_f64)                            /* checked copies */              \
    K(complex_16) K(complex_32) K(complex_64)              /* a zero after each number */
/* clang-format on */

enum kernel {
    KERNEL_NONE,
#define K(name) KERNEL_##name,
    KERNELS(K)
#undef K
#define K(type) KERNEL_quantise_##type, /* float32 to whole blocks, quantise.h */
        QUANTISED(K)
#undef K
            KERNEL_COUNT,
};

/* Convert `count` elements. Returns how many come before the first that does not fit: `count` if
 * all do. */
struct kernel_set {
    size_t (*run[KERNEL_COUNT])(const struct converter_step *, const void *restrict src,
                                void *restrict dst, size_t count);
};

extern const struct kernel_set kernels_plain;
extern const struct kernel_set kernels_avx2; /* x86-64 only, for CPUs with both AVX2 and F16C */

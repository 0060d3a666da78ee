/*
 * product.h - a row of the product of two matrices of float32, for any machine and for x86-64 with AVX2 and
 * FMA.
 *
 * Each sum is in float32, in the order of the terms, multiplied and added in one rounding: this is how the
 * libraries below PyTorch sum up to some hundred terms, so that results are mostly the same to the bit. All
 * variants agree to the bit (without the instruction fmaf() is slow, but the same).
 */
#pragma once

#include <stddef.h>

/* out[i] = the sum over k of left[k] * right[k * stride + i] */
typedef void product_row(const float *left, const float *right, size_t stride, size_t terms,
                         float *restrict out, size_t count);

extern product_row product_plain;
extern product_row product_avx2; /* x86-64 only; call it only if the CPU has these instructions */

/*
 * ggml.h - decodes blocks of ggml's quantised types to floats.
 *
 * A block is one or more scales and small integers, which give the elements together: Q4_0 is
 * 32 elements in 18 bytes. Every value equals ggml's own dequantisation bit for bit: all arithmetic
 * is in float32, in ggml's order.
 *
 * Source: ggml's block layouts; the numbers agree with the Python package gguf.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "catalog/data/model/dtype.h"

#define GGML_BLOCK_MAX   256 /* elements of the largest block */
#define GGML_BLOCK_BYTES 292 /* and bytes */

/* Decode one block. dtype.h says how many elements and bytes it has. */
typedef void ggml_decode(const uint8_t *block, float *out);

/* NULL: there is no block type of this name ("q4_0"), or its encoding is not known. */
ggml_decode *ggml_decoder(const char *dtype);

/* Whether all elements of these blocks are finite numbers, which their scales tell. False, too: its scales do
 * not tell. */
bool ggml_finite(const struct dtype *, const uint8_t *blocks, uint64_t elements);

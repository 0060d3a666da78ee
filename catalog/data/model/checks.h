/*
 * checks.h - the checksums of a layout's tensors (the table _layout_checks): a CRC-32C, little-endian,
 * for each column of CHECK_TENSORS tensors, so that a reader of some columns of some tensors need
 * not read others to check them.
 *
 * A column of texts is checked as it lies in memory: the texts, a NUL after each, then the spans;
 * a column of numbers as int64_t.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "catalog/base/text.h"
#include "catalog/data/kernel/crc32c.h"

#define CHECK_TENSORS 512
#define CHECK_TEXTS   3  /* name, dtype, shape */
#define CHECK_NUMBERS 9  /* end of elements, nbytes, stored, storage, file, start */
#define CHECK_COLUMNS 12 /* and codec, strides, extents, as texts */
#define CHECK_FAILS   "is not what was written" /* in messages */

static inline bool check_is_number(int column)
{
    return column >= CHECK_TEXTS && column < CHECK_NUMBERS;
}

/* Where a text begins, and its length; SPAN_NULL: SQL NULL. */
struct span {
    uint32_t at, len;
};
#define SPAN_NULL UINT32_MAX

/* For numbers: SQL NULL. */
#define NUMBER_NULL INT64_MIN

/* Append a text (NULL: SQL NULL). */
static inline void check_add(struct text *texts, struct span *span, const char *at, size_t len)
{
    *span = (struct span){(uint32_t)texts->len, at ? (uint32_t)len : SPAN_NULL};
    if (at && text_add(texts, at, len))
        text_addc(texts, '\0');
}

static inline uint32_t check_texts(const char *bytes, size_t len, const struct span *spans,
                                   uint32_t count)
{
    return crc32c_extend(crc32c_extend(0, bytes, len), spans, count * sizeof(*spans));
}

static inline uint32_t check_numbers(const int64_t *numbers, uint32_t count)
{
    return crc32c_extend(0, numbers, count * sizeof(*numbers));
}

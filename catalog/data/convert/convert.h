/*
 * convert.h - converts elements from one dtype to another: exactly, or rounded once to nearest
 * even.
 *
 * Policy (README, "Casting"): float to a narrower float rounds once from the stored value and
 * overflows as NumPy and ml_dtypes do (to infinity, or NaN in formats without infinity, or the
 * largest value in formats without either); integers must fit; float to integer must be whole and
 * fit; a value that does not is ERR_VALUE with its position. Any non-zero byte of a bool is true.
 * Complex to real is refused before any data is read. Same dtype: bytes are copied, NaN payloads
 * kept.
 *
 * NaN stays NaN: between float16, bfloat16, float32 and float64 it keeps its sign and the upper
 * bits of its payload, and becomes quiet, except that bfloat16 to float32 is a mere shift.
 * float4 has no NaN: converting one to float4 is ERR_VALUE. float8_e8m0fnu has only powers of
 * two: halfway rounds up; 0, negative and too large values become NaN; other types are rounded to
 * float32 first, as in ml_dtypes.
 *
 * ggml's blocks are decoded to float32 first, in ggml's own arithmetic (ggml.h). To blocks, numbers are
 * rounded to float32, and then become the bytes of ggml's reference quantisers, whatever the values are
 * (quantise.h); not to those types that want importance weights. Time, void, strings and float6 (whose packing is not specified anywhere)
 * convert only to themselves.
 *
 * Threads: any number may call everything here at once.
 */
#pragma once

#include "catalog/base/error.h"
#include "catalog/data/convert/ggml.h"
#include "catalog/data/model/dtype.h"

/* Unpack (or decode blocks), load, two bridges, encode, interleave or pack, and one spare. */
#define CONVERTER_STEPS 7

struct float_format;

/* One loop over elements; `kernel` is one of enum kernel (convert/kernels.h). */
struct converter_step {
    unsigned kernel;
    const struct float_format *format; /* of the narrow float read or written */
    int64_t least, most;               /* range that an integer must be in */
    ggml_decode *decode; /* decodes blocks, each of `elems` elements in `bytes` bytes */
    uint16_t elems, bytes;
};

struct converter {
    struct dtype from, to;
    /* Convert `count` elements from src to dst, which do not overlap and need no alignment.
     * Packed types begin at a byte; unused bits of the last byte are written as 0. On
     * ERR_VALUE, *bad is the first element that does not fit. */
    enum status (*run)(const struct converter *, const void *src, void *dst, uint64_t count,
                       uint64_t *bad);
    struct converter_step steps[CONVERTER_STEPS];
    unsigned step_count;
    unsigned parts; /* numbers per element: 2 between complex dtypes, else 1 */
};

/* ERR_UNSUPPORTED, with the reason, if there is no such conversion. Quantised dtypes (qint8) convert
 * to integers, as they are stored, and from these: the scale and zero point that turn them into
 * numbers are not known here. */
enum status converter_find(const struct dtype *from, const struct dtype *to, struct converter *out,
                           struct error *err);

/* The same, but a quantised dtype counts as the integers that it stores. */
enum status converter_find_stored(const struct dtype *from, const struct dtype *to,
                                  struct converter *out, struct error *err);

/* Rows (along the innermost dimension; of a scalar 1) of `row` elements must be whole blocks of what they are
 * converted to; else ERR_UNSUPPORTED. */
enum status converter_check_row(const struct dtype *from, const struct dtype *to, uint64_t row,
                                struct error *err);

/* Run, and turn ERR_VALUE into a message: "element 17: 300 does not fit int8". `first` is
 * the index of src[0] in its tensor. */
enum status converter_run(const struct converter *, const void *src, void *dst, uint64_t count,
                          uint64_t first, struct error *err);

/* One element as a value. Bools are integers 0 and 1, times are integers. */
enum element_type {
    ELEMENT_NONE,    /* not a number: void, blocks, float6, and dtypes without a size */
    ELEMENT_INTEGER, /* .integer */
    ELEMENT_LARGE,   /* .large: a uint64 above INT64_MAX */
    ELEMENT_REAL,    /* .real, exact whatever the dtype */
    ELEMENT_COMPLEX, /* .real, .imaginary */
};

struct element {
    int64_t integer;
    uint64_t large;
    double real, imaginary;
};

/* Element `index` of a packed run of elements; only the fields of its type are set. */
enum element_type element_get(const struct dtype *, const void *data, uint64_t index,
                              struct element *out);

/* One element as JSON text ("0.1", "-3", "[1.0,2.0]" for complex, "true", "\"00ff\"" for
 * void), with "NaN", "Infinity", "-Infinity", and "null" for what is not a number. Floats are the
 * shortest text that reads back as the same value of the dtype, formatted like Python's repr() in
 * any locale. Returns the length of the whole text; `out` gets as much as fits in `size` bytes,
 * always with a NUL. */
size_t element_print(const struct dtype *, const void *data, uint64_t index, char *out,
                     size_t size);

/* For tests: run every conversion without vector instructions. */
extern bool converter_scalar_only;

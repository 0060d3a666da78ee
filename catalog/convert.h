/*
 * convert.h - elements of one dtype to another: exact, or rounded once to nearest even.
 *
 * Policy (README, "Casting"): float to a narrower float rounds once from the stored value
 * and overflows as NumPy and ml_dtypes do (to infinity, or NaN where there is none);
 * integers must fit; float to integer must be whole and fit; a value that does not is
 * ERR_VALUE with its position. Any non-zero byte of a bool is true. Complex to real is
 * refused before any data is read. Same dtype: bytes are copied, NaN payloads kept.
 */
#ifndef CKPTDB_CONVERT_H
#define CKPTDB_CONVERT_H

#include "catalog/base/error.h"
#include "catalog/dtype.h"

struct converter {
    struct dtype from, to;
    /* Whole blocks of both dtypes: `count` elements from src to dst, which do not overlap.
     * On ERR_VALUE, *bad is the first element that does not fit. */
    enum status (*run)(const struct converter *, const void *src, void *dst, uint64_t count,
                       uint64_t *bad);
    const void *detail;
};

/* ERR_UNSUPPORTED, with the reason, where there is no such conversion. */
enum status converter_find(const struct dtype *from, const struct dtype *to,
                           struct converter *out, struct error *err);

/* Run, and turn ERR_VALUE into a message: "element 17: 300 does not fit int8". `first` is
 * the index of src[0] in its tensor. */
enum status converter_run(const struct converter *, const void *src, void *dst,
                          uint64_t count, uint64_t first, const char *name,
                          struct error *err);

/* One element as text, as a number of JSON would be written ("0.1", "-3", "[1.0,2.0]" for
 * complex, "true"); NaN and infinities as "NaN", "Infinity", "-Infinity". Shortest that
 * reads back to the same value of its dtype. Returns the length. */
size_t element_print(const struct dtype *, const void *data, uint64_t index, char *out,
                     size_t size);

/* Portable twins of the vector code, for tests: run every conversion without it. */
extern bool converter_scalar_only;

#endif

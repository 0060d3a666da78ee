/*
 * read.h - the one reader: any stored tensor, as bytes.
 *
 * Everything comes out as logical elements: C order, little-endian, packed.
 * What a format did to them (byte order, Fortran order, compression, pieces)
 * is undone here and only here. Files are checked to be the ones that were
 * indexed before their first byte is used.
 */
#ifndef CKPTDB_READ_H
#define CKPTDB_READ_H

#include "catalog/tensor.h"

struct reader;

/* Prepare to read `tensor`, which must outlive the reader. Opens and checks its files
 * (ERR_CHANGED, ERR_MISSING, ERR_IO). ERR_UNSUPPORTED for storage none and dtypes without
 * bytes. Reads no data yet. */
enum status reader_open(const struct stored_tensor *tensor, struct reader **out,
                        struct error *err);
void reader_close(struct reader *);

/* The logical bytes [start, start + len) of the tensor. Threads: any number at once, unless
 * reader_sequential(). */
enum status reader_read(struct reader *, uint64_t start, void *dst, size_t len,
                        struct error *err);
/* True where going back or sharing costs decoding again (a deflated member). */
bool reader_sequential(const struct reader *);

/* Verify the stored checksums, if there are any, by reading everything once. */
enum status reader_verify(struct reader *, struct error *err);

/* Where the tensor's logical bytes are a plain run in a file: its descriptor and offset. */
bool reader_plain(const struct reader *, int *fd, uint64_t *offset);

/* A basic slice, one a dimension: elements start, start + step, ... `count` of them. Step
 * may be negative. */
struct slice {
    uint64_t start, count;
    int64_t step;
};
/* Parse NumPy's spelling ("1:3, :, -1, ..., ::2", without brackets) against a shape: fills
 * rank slices and says in drop[] which dimensions an integer removed. */
enum status slice_parse(const char *text, const uint64_t *shape, unsigned rank,
                        struct slice *slices, bool *drop, struct error *err);
/* Gather a slice into dst (C order, packed; `len` must be its exact size), reading only
 * the extents and runs it touches. Not for sub-byte and block dtypes unless the slice is
 * whole. */
enum status reader_read_slice(struct reader *, const struct slice *slices, void *dst,
                              size_t len, struct error *err);

/* Strings: element i of a DTYPE_STRING tensor, in C order. Opening reads the lengths. */
struct string_table;
enum status reader_strings(struct reader *, struct string_table **out, struct error *err);
uint64_t string_count(const struct string_table *);
/* Bytes are valid until the next call or close. */
enum status string_at(struct string_table *, uint64_t index, struct bytes *out,
                      struct error *err);
void string_table_close(struct string_table *);

#endif

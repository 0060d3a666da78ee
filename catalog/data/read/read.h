/*
 * read.h - the one reader: any stored tensor, as bytes.
 *
 * Everything comes out as logical elements: C order, little-endian, packed. What a format did to
 * them (byte order, Fortran order, compression, pieces) is undone here and only here. Files are
 * checked to be the ones that were indexed before their first byte is used.
 */
#pragma once

#include "catalog/data/model/slice.h"
#include "catalog/data/model/tensor.h"
#include "catalog/data/read/files.h"

struct reader;

/* Prepare to read `tensor`, which must outlive the reader. Opens and checks its files
 * (ERR_CHANGED, ERR_MISSING, ERR_IO), or takes them from `files` (NULL: they are its own).
 * ERR_UNSUPPORTED for storage none and dtypes without bytes. Reads no data yet. */
enum status reader_open(const struct stored_tensor *tensor, struct file_cache *files,
                        struct reader **out, struct error *err);
void reader_close(struct reader *);

/* The logical bytes [start, start + len) of the tensor. Threads: any number at once, unless
 * reader_sequential(). */
enum status reader_read(struct reader *, uint64_t start, void *dst, size_t len, struct error *err);
/* As reader_read() (slices NULL) or reader_read_slice(), for out->len bytes. If the reader has
 * them in memory, *out points there, until the next call; otherwise they are read to `room`. */
enum status reader_borrow(struct reader *, const struct ckptdb_slice *slices, uint64_t start,
                          void *room, struct bytes *out, struct error *err);
/* The first logical byte from `start` on that is stored, or one a little before it: what lies
 * between is the fill value of absent chunks. The tensor's size if none is. Threads: as for
 * reader_read(). */
uint64_t reader_from(struct reader *, uint64_t start);
/* True where reading backwards, or by several threads, means decoding again (a deflated member). */
bool reader_sequential(const struct reader *);

/* Where the tensor's bytes lie in a file as they are: its descriptor, valid while the reader is open, and
 * the offset of the first byte. -1: they are decoded, checked, or not in a file. */
int reader_descriptor(struct reader *, uint64_t *offset);

/* Memory that reading front to back may take besides its result: much for tensors in chunks, next
 * to nothing (0) for others. */
uint64_t reader_memory(const struct reader *);

/* Verify the stored checksums, if there are any (ERR_CHECKSUM). Extents that were read from
 * end to end in order have been verified on the way (the read then failed) and are not read
 * again, so: read everything, then call this. */
enum status reader_verify(struct reader *, struct error *err);

/* Turn the description of a tensor whose sub-byte elements are stored one a byte into a description
 * of these bytes (dtype uint8): what tensor_bytes() and tensor_sha256() give. Others are left as
 * they are. ERR_MEMORY. */
enum status tensor_as_stored(struct stored_tensor *, struct arena *, struct error *err);

/* The bytes [start, start + len) of a slice in C order, packed; start 0 and its exact size
 * give the whole slice. Reads only the extents and runs it touches. Packed sub-byte and block
 * dtypes: whole blocks of the last dimension only. */
enum status reader_read_slice(struct reader *, const struct ckptdb_slice *slices, uint64_t start,
                              void *dst, size_t len, struct error *err);

/* Strings: element i of a DTYPE_STRING tensor, in C order. Opening reads the lengths. The
 * reader must outlive the table. One thread at a time. */
struct string_table;
enum status reader_strings(struct reader *, struct string_table **out, struct error *err);
uint64_t string_count(const struct string_table *);
/* Bytes are valid until the next call or close. */
enum status string_at(struct string_table *, uint64_t index, struct bytes *out, struct error *err);
void string_table_close(struct string_table *);

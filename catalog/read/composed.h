/*
 * composed.h - the reader of a tensor made of tensors (compose/compose.h).
 *
 * Every part is a source of elements in C order, from which boxes are gathered into place.
 * One that is decoded front to back, and wanted in another order, is decoded once and kept
 * (source.h, spill). A part is opened when its first element is wanted.
 */
#ifndef CKPTDB_READ_COMPOSED_H
#define CKPTDB_READ_COMPOSED_H

#include "catalog/read/read.h"

struct composed;

/* Opens each part once to see that it can be read, as reader_open() does. */
enum status composed_open(const struct stored_tensor *, struct composed **out,
                          struct error *err);
void composed_close(struct composed *);

/* Whether reading front to back in large parts is much faster. */
bool composed_gathers(const struct composed *);
/* As reader_sequential() and reader_memory(). */
bool composed_sequential(const struct composed *);
uint64_t composed_memory(const struct composed *);

/* Elements [position, position + count) of the result in C order. Any number of threads. */
enum status composed_read(struct composed *, uint64_t position, uint64_t count,
                          uint8_t *dst, struct error *err);

/* The same of a slice of the result. */
enum status composed_read_slice(struct composed *, const struct slice *slices,
                                uint64_t position, uint64_t count, uint8_t *dst,
                                struct error *err);

/* reader_verify() of all parts. */
enum status composed_verify(struct composed *, struct error *err);

#endif

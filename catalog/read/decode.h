/*
 * decode.h - the chunks that a box of a slice touches, each decoded once and put in its place,
 * on several threads, which stay from box to box.
 *
 * Of several errors that of the lowest chunk is given, whatever thread met it first.
 */
#ifndef CKPTDB_READ_DECODE_H
#define CKPTDB_READ_DECODE_H

#include "catalog/read/band.h"
#include "catalog/read/grid_reader.h"

struct decode;

/* `unit`: bytes of an element. Checks the tensor's files. */
enum status decode_open(const struct stored_tensor *, struct file_cache *, size_t unit,
                        const struct grid_limits *, struct decode **out,
                        struct error *err);
void decode_close(struct decode *);

/* Shape of a chunk. */
const uint64_t *decode_chunk(const struct decode *);
/* The element that is where no chunk is. */
const uint8_t *decode_fill(const struct decode *);

unsigned decode_threads(const struct decode *);

/* Bytes in flight while `bytes` are decoded. */
uint64_t decode_memory(const struct decode *, uint64_t bytes);

/* Whether none of the chunks that the box touches is there. */
bool decode_nothing(const struct decode *, const struct slice *, const struct box *);

/* The first element from `position` on (C order, of all of the tensor) that may lie in a chunk; false:
 * none does. */
bool decode_from(const struct decode *, uint64_t position, uint64_t *out);

/* The elements of the box, packed, in memory, of which the caller holds `taken` bytes, or at
 * the beginning of a cleared temporary file. One box at a time. */
enum status decode_to_memory(struct decode *, const struct slice *, const struct box *,
                             uint64_t taken, uint8_t *dst, struct error *err);
enum status decode_to_file(struct decode *, const struct slice *, const struct box *,
                           int fd, struct error *err);

/* The first of these, done by other threads from now on; slices and box stay where they are
 * until one of the two below is called. What is taken besides may be the memory of other jobs:
 * all share their threads. NULL: no memory. */
struct decode_job;
struct decode_job *decode_begin(struct decode *, const struct slice *, const struct box *,
                                uint64_t taken, uint8_t *dst);
enum status decode_finish(struct decode_job *, struct error *err);
void decode_drop(struct decode_job *);

/* Where the box is a run of one chunk, which is there: that run as a stream. *out NULL: it is
 * not. Closing it lets go what it needs. */
enum status decode_to_stream(struct decode *, const struct slice *, const struct box *,
                             struct source **out, struct error *err);

#endif

/*
 * decode.h - decodes the chunks that a box of a slice touches, each once, into their places, on
 * several threads, which are kept from box to box.
 *
 * If several chunks fail, the lowest one's error is reported, whichever thread failed first.
 */
#pragma once

#include "catalog/data/read/band.h"
#include "catalog/data/read/grid_reader.h"

struct decode;

/* `unit`: bytes of an element. Checks the tensor's files. *out is the caller's to close after an error
 * too. */
enum status decode_open(const struct stored_tensor *, struct file_cache *, size_t unit,
                        const struct grid_limits *, struct decode **out, struct error *err);
void decode_close(struct decode *);

/* Shape of a chunk. */
const uint64_t *decode_chunk(const struct decode *);
/* The fill value: the element of absent chunks. */
const uint8_t *decode_fill(const struct decode *);

unsigned decode_threads(const struct decode *);

/* Memory needed while `bytes` are decoded. */
uint64_t decode_memory(const struct decode *, uint64_t bytes);

/* Whether every chunk that the box touches is absent. */
bool decode_nothing(const struct decode *, const struct ckptdb_slice *, const struct box *);

/* The first element from `position` on (C order of the whole tensor) that may lie in a chunk;
 * false if absent. */
bool decode_from(const struct decode *, uint64_t position, uint64_t *out);

/* Decode a box, packed, into memory, or to the beginning of a cleared temporary file. The caller
 * holds `taken` bytes of memory already. One box at a time. */
enum status decode_to_memory(struct decode *, const struct ckptdb_slice *, const struct box *,
                             uint64_t taken, uint8_t *dst, struct error *err);
enum status decode_to_file(struct decode *, const struct ckptdb_slice *, const struct box *, int fd,
                           struct error *err);

/* As decode_to_memory(), but other threads do it from now on; slices and box must stay valid
 * until one of the two below is called. `taken` includes the memory of other jobs, as all share
 * the threads. NULL: no memory. */
struct decode_job;
struct decode_job *decode_begin(struct decode *, const struct ckptdb_slice *, const struct box *,
                                uint64_t taken, uint8_t *dst);
enum status decode_finish(struct decode_job *, struct error *err);
void decode_drop(struct decode_job *);

/* A box that is one run of a single chunk, as a stream; *out NULL: it is not, or the chunk is
 * absent. Closing the stream releases the chunk. */
enum status decode_to_stream(struct decode *, const struct ckptdb_slice *, const struct box *,
                             struct source **out, struct error *err);

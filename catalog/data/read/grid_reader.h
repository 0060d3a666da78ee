/*
 * grid_reader.h - a tensor in a grid of chunks, as bytes.
 *
 * Reading goes front to back. What is asked for, all or a slice, is cut into bands: runs of
 * the result, in C order, that need the same chunks. A read that enters a band
 * decodes all its chunks, on as many threads as there are cores, into the band's memory; so
 * every chunk is decoded once however reads are cut, and what no band touches is not read. The
 * next band is decoded while one is read.
 *
 * Memory stays below a budget: a band, and the chunks in flight. A band that is too large
 * goes through a temporary file, or, where it is one chunk in C order, is decoded as a
 * stream; a chunk that is too large to be decoded in one go is decoded as a stream.
 */
#pragma once

#include "catalog/data/model/slice.h"
#include "catalog/data/model/tensor.h"
#include "catalog/data/read/files.h"

struct grid_reader;

struct grid_limits {
    uint64_t budget;  /* bytes */
    unsigned threads; /* 0: as many as there are cores */
    /* Bytes of a band that is decoded while the one before is read */
    uint64_t ahead_least;
};

/* `unit`: bytes of an element; of strings, the fixed width. Limits may be NULL. The tensor
 * must outlive the reader. */
enum status grid_reader_open(const struct stored_tensor *, struct file_cache *, size_t unit,
                             const struct grid_limits *, struct grid_reader **out,
                             struct error *err);
void grid_reader_close(struct grid_reader *);

/* A slice that lies inside the tensor (NULL: the whole tensor) as a source: C order, packed. The
 * reader owns it, and it is valid until the next call. One thread at a time. */
enum status grid_reader_slice(struct grid_reader *, const struct ckptdb_slice *slices,
                              struct source **out, struct error *err);

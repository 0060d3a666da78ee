/*
 * chunks.h - where the chunks of a grid are stored: as files of a directory, as runs of files in
 * a list, or as entries in the index of a shard.
 */
#pragma once

#include "catalog/data/model/tensor.h"
#include "catalog/data/read/files.h"

struct chunks;

/* Checks the files, and leaves *out to the caller after an error too, as file_set_open() does. The
 * tensor has a grid. */
enum status chunks_open(const struct stored_tensor *, struct file_cache *, struct chunks **out,
                        struct error *err);
void chunks_close(struct chunks *);

/* A chunk that is being read. */
struct chunk {
    struct source *source; /* its stored bytes; NULL: it is absent, all fill value */
    struct shard *shard;   /* the shard that it lies in; NULL: none */
    const char *codec;     /* its own codec chain (tensor.h); NULL: the tensor's */
};

/* The chunk at a place of the grid (`rank` numbers). Any number of threads. */
enum status chunk_take(struct chunks *, const uint64_t *at, struct chunk *out, struct error *err);
void chunk_give(struct chunks *, struct chunk *);

/* False: no chunk exists between these two places, the corners of a box of the grid. */
bool chunks_between(const struct chunks *, const uint64_t *low, const uint64_t *high);

/* The corner, in elements, of the first stored level 0 box that is not before the box with
 * element `at` (C order); false if absent. */
bool chunks_from(const struct chunks *, const uint64_t *at, uint64_t *corner);

/* "chunk [2,0]: " in front of an error's message. */
void chunk_error(const struct chunks *, const uint64_t *at, struct error *err);

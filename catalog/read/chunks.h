/*
 * chunks.h - where the chunks of a grid lie, and their stored bytes: files of a directory,
 * runs of files that a list names, and what the index of a shard says.
 */
#ifndef CKPTDB_READ_CHUNKS_H
#define CKPTDB_READ_CHUNKS_H

#include "catalog/read/read.h"

struct chunks;

/* Checks the files, as file_set_open() does. The tensor has a grid. */
enum status chunks_open(const struct stored_tensor *, struct file_cache *,
                        struct chunks **out, struct error *err);
void chunks_close(struct chunks *);

/* A chunk that is being read. */
struct chunk {
    struct source *source; /* its stored bytes; NULL: absent, it is all fill */
    struct shard *shard;   /* that it lies in; NULL: none */
    const char *codec;     /* its own steps (tensor.h); NULL: the tensor's */
};

/* The chunk of the last level at this place of its grid: rank numbers. Any number of threads. */
enum status chunk_take(struct chunks *, const uint64_t *at, struct chunk *out,
                       struct error *err);
void chunk_give(struct chunks *, struct chunk *);

/* False: between these two places, which are corners of a box, there is no chunk at all. */
bool chunks_between(const struct chunks *, const uint64_t *low, const uint64_t *high);

/* The corner, in elements, of the first box of level 0 with anything in it that is not before the one in
 * which element `at` lies (C order); false: there is none. */
bool chunks_from(const struct chunks *, const uint64_t *at, uint64_t *corner);

/* "chunk [2,0]: " in front of an error's message. */
void chunk_error(const struct chunks *, const uint64_t *at, struct error *err);

#endif

/*
 * pool.h - the decoded extents of one tensor: opened on demand, the last few kept.
 */
#ifndef CKPTDB_POOL_H
#define CKPTDB_POOL_H

#include "catalog/data/model/tensor.h"
#include "catalog/data/read/file_cache.h"

struct pool;

/* Opens and checks the tensor's files, as file_set_open() does. */
enum status pool_open(const struct stored_tensor *, struct file_cache *, struct pool **out,
                      struct error *err);
void pool_close(struct pool *);

struct lease {
    struct source *source; /* the elements of the extent's box */
    int slot;              /* -1: not kept, closed when given back */
};

/* `random`: will be read in any order; a stream decoder is then decoded to its end first.
 * Any number of threads. */
enum status pool_take(struct pool *, uint64_t extent, bool random, struct lease *out,
                      struct error *err);
void pool_give(struct pool *, const struct lease *);

/* Verify the checksums that reading has not verified yet. */
enum status pool_verify(struct pool *, struct error *err);

#endif

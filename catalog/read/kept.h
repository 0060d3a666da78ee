/*
 * kept.h - decoded tensors that are kept for others that are made of them: the layers cut out
 * of one stacked and compressed tensor are many tensors, and it is to be decoded once.
 *
 * A cache belongs to a file_cache (read.h). What is in use stays; of the rest the last few.
 */
#ifndef CKPTDB_READ_KEPT_H
#define CKPTDB_READ_KEPT_H

#include "catalog/read/read.h"

struct kept_cache;
struct kept_tensor;

struct kept_cache *kept_cache_new(void);
void kept_cache_free(struct kept_cache *);

/* The elements of a tensor as a source for any order of reading: made by `make`, unless
 * it is there, or another thread is making it, which is then waited for. *source is kept until
 * kept_give(). Any number of threads. */
typedef enum status kept_maker(const struct stored_tensor *, struct file_cache *,
                               struct source **out, struct error *err);
enum status kept_take(struct file_cache *, const struct stored_tensor *, kept_maker *make,
                      struct kept_tensor **out, struct source **source,
                      struct error *err);
void kept_give(struct file_cache *, struct kept_tensor *);

#endif

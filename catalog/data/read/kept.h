/*
 * kept.h - decoded tensors, kept for the tensors that are composed of them: the layers cut out of
 * one stacked and compressed tensor are many tensors, but it should be decoded once.
 *
 * A cache belongs to a file_cache (read.h). Tensors in use stay in it, and the last few of others.
 */
#ifndef CKPTDB_KEPT_H
#define CKPTDB_KEPT_H

#include "catalog/data/model/tensor.h"
#include "catalog/data/read/file_cache.h"

struct kept_cache;
struct kept_tensor;

struct kept_cache *kept_cache_new(void);
void kept_cache_free(struct kept_cache *);

/* The elements of a tensor as a source that can be read in any order. `make` decodes it, unless
 * that was done already or another thread is at it, which is then waited for. *source is valid
 * until kept_give(). Any number of threads. */
typedef enum status kept_maker(const struct stored_tensor *, struct file_cache *,
                               struct source **out, struct error *err);
enum status kept_take(struct file_cache *, const struct stored_tensor *, kept_maker *make,
                      struct kept_tensor **out, struct source **source, struct error *err);
void kept_give(struct file_cache *, struct kept_tensor *);

#endif

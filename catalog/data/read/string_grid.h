/*
 * string_grid.h - strings of varying length in a grid of chunks.
 *
 * A chunk holds its strings in C order, or in the order of its level; a chunk at the edge of the
 * tensor also holds strings that lie outside of it. Those of a row of chunks
 * are kept decoded, as far as 64 MiB hold them, so that reading in order decodes each once.
 */
#ifndef CKPTDB_STRING_GRID_H
#define CKPTDB_STRING_GRID_H

#include "catalog/data/model/tensor.h"
#include "catalog/data/read/file_cache.h"

struct string_grid;

/* Checks the tensor's files, as file_set_open() does. */
enum status string_grid_open(const struct stored_tensor *, struct file_cache *,
                             struct string_grid **out, struct error *err);
void string_grid_close(struct string_grid *);

/* String `index`, in C order; valid until the next call. One thread at a time. */
enum status string_grid_at(struct string_grid *, uint64_t index, struct bytes *out,
                           struct error *err);

#endif

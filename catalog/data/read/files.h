/*
 * files.h - the files of one tensor, checked to be those that were indexed; and the cache of what
 * outlives one tensor.
 */
#pragma once

#include "catalog/data/model/tensor.h"
#include "catalog/data/read/kept.h"

/* Files that stay open from one tensor to the next, and decoded tensors, for callers that read many.
 * The identity of a file is checked again every few milliseconds. Any number of threads. */
struct file_cache;

/* NULL without memory. It must outlive the readers that it is given to. */
struct file_cache *file_cache_new(void);
void file_cache_free(struct file_cache *);

struct file_set;

/* Open and check (or take from the cache, if there is one) every file that an extent of the
 * tensor or a value of its grid lies in; check the directory of a grid of chunk files, the
 * directories inside it, and its metadata file. ERR_CHANGED: a file has changed or is gone; ERR_MISSING:
 * it was missing when it was indexed. After an error too *out, which may be NULL, is the caller's to
 * close. */
enum status file_set_open(const struct stored_tensor *, struct file_cache *, struct file_set **out,
                          struct error *err);
void file_set_close(struct file_set *);

/* Open one file (`out` NULL: only look at it), and check it; the same errors. */
enum status file_open_indexed(const struct stored_file *, struct source **out, struct error *err);
/* Check a file or directory that need not be opened; the same errors. */
enum status file_as_indexed(const struct stored_file *, struct error *err);
/* Check again that everything a tensor was read from is unchanged: then what was read is good.
 * (Files of chunks have no identity in the catalog.) */
enum status tensor_files_as_indexed(const struct stored_tensor *, struct error *err);
/* ERR_CHANGED, saying what to do about a file that is gone. */
enum status file_gone(const char *path, struct error *err);
/* ERR_CHANGED: it is no longer a regular file. */
enum status file_replaced(const char *path, struct error *err);

/* The stored bytes of an extent, with the `before` bytes in front; valid while the set is open. Any
 * number of threads. */
enum status file_set_extent(struct file_set *, const struct extent *, uint64_t before,
                            struct source **out, struct error *err);

/* `stored` bytes from `offset` on, to which the file's base is added. */
enum status file_set_range(struct file_set *, uint32_t file, uint64_t offset, uint64_t stored,
                           struct source **out, struct error *err);

/* Decoded tensors, kept for the tensors composed from them: the layers cut out of one stacked
 * and compressed tensor are many tensors, but it should be decoded once. */
struct kept_list *kept_tensors(struct file_cache *);

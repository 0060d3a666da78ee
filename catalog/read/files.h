/*
 * files.h - the files of one tensor, checked to be the ones that were indexed.
 */
#ifndef CKPTDB_READ_FILES_H
#define CKPTDB_READ_FILES_H

#include "catalog/read/read.h"

struct file_set;

/* Opens and checks (or takes from the cache, where there is one) every file that an extent of the tensor, or a value of its grid, lies in;
 * checks the directory of a grid in files, and the metadata in it. ERR_CHANGED for one that
 * is not as it was or is gone; ERR_MISSING for one that was missing then. */
enum status file_set_open(const struct stored_tensor *, struct file_cache *,
                          struct file_set **out, struct error *err);
void file_set_close(struct file_set *);

/* Whether a file or directory that is not opened is as it was: the same errors. */
enum status file_as_indexed(const struct stored_file *, struct error *err);
/* Whether all that a tensor was read from is as it was, asked of the system again: what was read before
 * is good. (Chunk files have no identity.) */
enum status tensor_files_as_indexed(const struct stored_tensor *, struct error *err);
/* ERR_CHANGED, with what to do about a file that is no longer there. */
enum status file_gone(const char *path, struct error *err);
/* ERR_CHANGED, of what is no regular file now. */
enum status file_replaced(const char *path, struct error *err);

/* The stored bytes of an extent, less `before` bytes in front of it; valid while the set is
 * open. Any number of threads. */
enum status file_set_extent(struct file_set *, const struct extent *, uint64_t before,
                            struct source **out, struct error *err);

/* `stored` bytes from `offset` of a file of the tensor (before the file's base is added). */
enum status file_set_range(struct file_set *, uint32_t file, uint64_t offset,
                           uint64_t stored, struct source **out, struct error *err);

/* The decoded tensors that go with the open files. */
struct kept_cache;
struct kept_cache *file_cache_kept(const struct file_cache *);

#endif

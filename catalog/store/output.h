/*
 * output.h - a file that appears complete or not at all.
 *
 * It is written without a name where the file system can do that (O_TMPFILE), so that not
 * even a kill leaves anything behind; elsewhere under an unpredictable name beside its
 * final one. output_commit() gives it that name in one step, and without `replace` never
 * in the place of something else, however late that came.
 */
#ifndef CKPTDB_STORE_OUTPUT_H
#define CKPTDB_STORE_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "catalog/base/error.h"

/* The system calls that can fail for reasons of the world; each returns -1 and sets errno as
 * the call it is named for. Tests put failing ones in their place. */
struct output_io {
    int (*open_unnamed)(int directory);
    int (*open_named)(int directory, const char *name);
    int (*reserve)(int fd, uint64_t size);
    ssize_t (*pwrite)(int fd, const void *bytes, size_t len, off_t offset);
    int (*start_writeback)(int fd);
    int (*fsync)(int fd);
    int (*link)(int fd, int directory, const char *name);
    int (*rename)(int directory, const char *from, const char *to, bool replace);
    int (*unlink)(int directory, const char *name);
    int (*make_folder)(int directory, const char *name);
    int (*exchange)(int directory, const char *a, const char *b); /* their names */
    int (*sync_all)(int fd); /* of the file system that the file is on */
};

extern const struct output_io output_system;

struct output;

/* Begin a file that will be called `path`. `io` NULL: output_system. ERR_ARGUMENT where its
 * directory is not there or nothing can be made in it. */
enum status output_open(const char *path, const struct output_io *io, struct output **out,
                        struct error *err);

/* Make room for `size` bytes, so that a full disk is known before the first is written. */
enum status output_reserve(struct output *, uint64_t size, struct error *err);

/* Any number of threads at once. With `early` the disk is set to work every 32 MiB, so that
 * output_sync() has little left to wait for. */
enum status output_write(struct output *, uint64_t offset, const void *bytes, size_t len,
                         bool early, struct error *err);

/* All bytes are on the disk. */
enum status output_sync(struct output *, struct error *err);

/* Give it its name. ERR_ARGUMENT where that is taken and `replace` is false. */
enum status output_commit(struct output *, bool replace, struct error *err);

/* The name itself is on the disk. */
enum status output_sync_name(struct output *, struct error *err);

/* Frees; what was not committed is gone. Takes NULL. */
void output_close(struct output *);

#endif

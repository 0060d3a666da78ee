/*
 * output.h - a file that appears complete or not at all.
 *
 * It is written without a name where the file system can do that (O_TMPFILE), so that not
 * even a kill leaves anything behind; elsewhere under an unpredictable name beside its
 * final one. output_commit() gives it the final name atomically, and without `replace` never
 * overwrites anything, even if that appeared at the last moment.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "catalog/base/error.h"

/* The system calls that can fail for outside reasons; each returns -1 and sets errno like the call
 * it is named after. Tests replace them by failing ones. */
struct output_io {
    int (*open_unnamed)(int directory);
    int (*open_named)(int directory, const char *name);
    int (*reserve)(int fd, uint64_t size);
    ssize_t (*pwrite)(int fd, const void *bytes, size_t len, off_t offset);
    ssize_t (*copy)(int from, off_t from_offset, int fd, off_t offset, size_t len);
    int (*start_writeback)(int fd);
    int (*fsync)(int fd);
    int (*link)(int fd, int directory, const char *name);
    int (*rename)(int directory, const char *from, const char *to, bool replace);
    int (*unlink)(int directory, const char *name);
    int (*make_folder)(int directory, const char *name);
    int (*exchange)(int directory, const char *a, const char *b); /* swaps two names */
    int (*sync_all)(int fd); /* syncs the whole file system of the file */
};

extern const struct output_io output_system;

/* Open the folder that a path lies in; its last component is *name. -1 after an error: ERR_ARGUMENT if
 * there is no such folder. */
int output_directory(const char *path, const char **name, struct error *err);
/* Whether a file or folder can have this name: anything but "", "." and "..". */
bool output_named(const char *name);
/* Write all bytes; -1 and errno on failure. */
int output_write_all(const struct output_io *, int fd, uint64_t offset, const void *bytes,
                     size_t len);

/* Copy bytes of another file without reading them, or share them where both files can and lie alike in
 * their blocks. Returns how many were copied before the system refused: the rest is to be read and written. */
uint64_t output_copy_all(const struct output_io *, int fd, uint64_t offset, int from,
                         uint64_t from_offset, uint64_t len);

/* Write the names of a folder to the disk; `path` is a file in it, for errors. */
enum status output_sync_folder(const struct output_io *, int directory, const char *path,
                               struct error *err);

struct output;

/* Begin a file that will be called `path`. `io` NULL: output_system. ERR_ARGUMENT if its directory
 * does not exist or is not writable. */
enum status output_open(const char *path, const struct output_io *io, struct output **out,
                        struct error *err);

/* Reserve `size` bytes, so that a full disk is noticed before the first byte is written. */
enum status output_reserve(struct output *, uint64_t size, struct error *err);

/* Any number of threads at once. `early` starts writeback to the disk every 32 MiB, so that
 * output_sync() has little left to do. */
enum status output_write(struct output *, uint64_t offset, const void *bytes, size_t len,
                         bool early, struct error *err);

/* As output_copy_all(). */
uint64_t output_copy(struct output *, uint64_t offset, int from, uint64_t from_offset, uint64_t len,
                     bool early);

/* Wait until all bytes are on the disk. */
enum status output_sync(struct output *, struct error *err);

/* Give it its name. ERR_ARGUMENT if that is taken and `replace` is false. */
enum status output_commit(struct output *, bool replace, struct error *err);

/* Wait until the name itself is on the disk. */
void output_sync_name(struct output *, struct error *err);

/* Free it; an uncommitted file disappears. Takes NULL. */
void output_close(struct output *);

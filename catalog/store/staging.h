/*
 * staging.h - files that appear together or not at all: they are written in a folder that has
 * no name yet (leftover.h), beside the place where they will be.
 *
 *   staging_open("DIR/model.zarr", NULL, &s, err);
 *   staging_put(s, "a/.zarray", text, err);       a whole file, with the folders above it
 *   staging_create(s, "part-1", size, err);            or one that is written in pieces
 *   staging_write(s, "part-1", offset, bytes, true, err);
 *   staging_sync(s, err);
 *   staging_commit_folder(s, false, err);              the folder is DIR/model.zarr, or
 *   staging_commit_file(s, "part-1", false, err);      DIR/part-1
 *   staging_close(s);
 *
 * Only some of the files are open at a time, however many there are.
 */
#ifndef CKPTDB_STORE_STAGING_H
#define CKPTDB_STORE_STAGING_H

#include "catalog/base/bits.h"
#include "catalog/store/output.h"

struct staging;

/* `io` NULL: output_system. ERR_ARGUMENT where the directory is not there or nothing can be made
 * in it. */
enum status staging_open(const char *path, const struct output_io *io,
                         struct staging **out, struct error *err);

/* A file of that size, so that a full disk is known before its first byte is written. */
enum status staging_create(struct staging *, const char *name, uint64_t size,
                           struct error *err);

/* Into a file that staging_create() has made. Any number of threads, up to 32. `early`: see
 * output_write(). */
enum status staging_write(struct staging *, const char *name, uint64_t offset,
                          struct bytes bytes, bool early, struct error *err);

/* A whole file, in folders that are made where they are not there. Any number of threads. */
enum status staging_put(struct staging *, const char *name, struct bytes bytes,
                        struct error *err);

/* All bytes of that file, or of all files, are on the disk. */
enum status staging_sync_file(struct staging *, const char *name, struct error *err);
enum status staging_sync(struct staging *, struct error *err);

/* The folder gets its name. With `replace` what has the name now goes, and all that is in it:
 * the caller has looked at it. ERR_ARGUMENT where the name is taken and `replace` is false. */
enum status staging_commit_folder(struct staging *, bool replace, struct error *err);

/* A file gets its name beside the folder; staging_clear() removes what has such a name. */
enum status staging_commit_file(struct staging *, const char *name, bool replace,
                                struct error *err);
void staging_clear(struct staging *, const char *name);

/* The names themselves are on the disk. */
enum status staging_sync_names(struct staging *, struct error *err);

/* Frees; what was not committed is gone. Takes NULL. */
void staging_close(struct staging *);

#endif

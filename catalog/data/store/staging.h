/*
 * staging.h - files that appear together or not at all: they are written in a folder with a
 * temporary name (leftover.h), beside their final place.
 *
 *   staging_open("DIR/model.zarr", NULL, &s, err);
 *   staging_put(s, "a/.zarray", text, err);            a whole file, with the folders above it
 *   staging_create(s, "part-1", size, err);            or one that is written in pieces
 *   staging_write(s, "part-1", offset, bytes, true, err);
 *   staging_sync(s, err);
 *   staging_commit_folder(s, false, err);              the folder becomes DIR/model.zarr, or
 *   staging_commit_file(s, "part-1", false, err);      the file becomes DIR/part-1
 *   staging_close(s);
 *
 * At most 32 of the files are open at a time, however many there are.
 */
#pragma once

#include "catalog/base/bits.h"
#include "catalog/data/store/output.h"

struct staging;

/* `io` NULL: output_system. ERR_ARGUMENT if the directory does not exist or is not writable. */
enum status staging_open(const char *path, const struct output_io *io, struct staging **out,
                         struct error *err);

/* Create a file of this size, so that a full disk is noticed before its first byte is written. */
enum status staging_create(struct staging *, const char *name, uint64_t size, struct error *err);

/* Write into a file made by staging_create(). Any number of threads (more than 32 files at once
 * wait for each other). `early`: see output_write(). */
enum status staging_write(struct staging *, const char *name, uint64_t offset, struct bytes bytes,
                          bool early, struct error *err);

/* A part of an open file. */
struct staged_part {
    int from;
    uint64_t offset, len;
};
/* As output_copy_all(), into such a file; `early`: see output_write(). Returns how many bytes. */
uint64_t staging_copy(struct staging *, const char *name, uint64_t offset, struct staged_part part,
                      bool early, struct error *err);

/* Write a whole file, and create the folders above it. Any number of threads. */
enum status staging_put(struct staging *, const char *name, struct bytes bytes, struct error *err);

/* The path of a file of the folder, for a caller that opens files itself; free() it. NULL: no memory. */
char *staging_path(const struct staging *, const char *name);

/* Wait until all bytes of this file, or of all files, are on the disk. */
void staging_sync_file(struct staging *, const char *name, struct error *err);
void staging_sync(struct staging *, struct error *err);

/* Give the folder its name. With `replace` whatever has the name now is removed with its contents,
 * which the caller has checked. ERR_ARGUMENT if the name is taken and `replace` is false. */
enum status staging_commit_folder(struct staging *, bool replace, struct error *err);

/* Move a file out of the folder, beside it; staging_clear() removes a file with this name there. */
enum status staging_commit_file(struct staging *, const char *name, bool replace,
                                struct error *err);
void staging_clear(struct staging *, const char *name);

/* Wait until the names themselves are on the disk. */
void staging_sync_names(struct staging *, struct error *err);

/* Free it; what was not committed disappears. Takes NULL. */
void staging_close(struct staging *);

/*
 * directory.h - lists one directory: the only place that reads directory entries.
 *
 * Entries come in no particular order. A symbolic link is reported as its target, with `linked`
 * set. An entry that vanishes while the directory is read is skipped.
 */
#pragma once

#include "catalog/data/store/source.h"

enum entry_kind {
    ENTRY_FILE,
    ENTRY_FOLDER,
    ENTRY_SPECIAL,  /* a pipe, socket or device */
    ENTRY_DANGLING, /* a link to nothing, or in a loop */
    ENTRY_UNKNOWN,  /* exists, but stat() failed: see `trouble` */
};

struct directory_entry {
    const char *name; /* valid during the call */
    enum entry_kind kind;
    bool linked;                   /* a symbolic link */
    int trouble;                   /* ENTRY_UNKNOWN: the errno value */
    struct file_identity identity; /* zeros unless DIRECTORY_IDENTIFY */
};

#define DIRECTORY_IDENTIFY 1 /* stat() each entry, even if its kind is known without */

/* Call `see` for each entry except "." and "..", until it returns false (which is no error). `own`
 * gets the identity of the directory itself; may be NULL.
 * ERR_MISSING: no such directory. ERR_IO: it cannot be read, or not to its end; the entries seen
 * before are then incomplete. */
enum status directory_list(const char *path, int flags, struct file_identity *own,
                           bool (*see)(void *context, const struct directory_entry *),
                           void *context, struct error *err);

/* "DIRECTORY/NAME" in the caller's memory: path_size() is the bytes needed, with the NUL;
 * path_join() writes the text to `to`. "/" is a directory like any other. */
size_t path_size(const char *directory, const char *name);
char *path_join(char *to, const char *directory, const char *name);

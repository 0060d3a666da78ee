/*
 * directory.h - what lies in one directory: the one place that reads entries.
 *
 * Entries come in no order. A link counts as what it leads to, and says that it is one. An
 * entry that vanishes while the directory is read is left out.
 */
#ifndef CKPTDB_STORE_DIRECTORY_H
#define CKPTDB_STORE_DIRECTORY_H

#include "catalog/store/source.h"

enum entry_kind {
    ENTRY_FILE,
    ENTRY_FOLDER,
    ENTRY_SPECIAL,  /* a pipe, socket or device */
    ENTRY_DANGLING, /* a link that leads nowhere, or in a circle */
    ENTRY_UNKNOWN,  /* there, but the system does not say what it is: see `trouble` */
};

struct directory_entry {
    const char *name; /* valid during the call */
    enum entry_kind kind;
    bool linked; /* a symbolic link */
    int trouble; /* ENTRY_UNKNOWN: the errno value */
    struct file_identity
        identity; /* of a file or folder; zeros unless DIRECTORY_IDENTIFY */
};

#define DIRECTORY_IDENTIFY                                                               \
    1 /* look at each entry, also where its kind is known without */

/* Call `see` for each entry but "." and "..", until it returns false (no error: whoever does so
 * knows why). `own` is the identity of the directory itself; may be NULL.
 * ERR_MISSING: no such directory. ERR_IO: it cannot be read, or not to its end; what was seen
 * before is then not all that there is. */
enum status directory_list(const char *path, int flags, struct file_identity *own,
                           bool (*see)(void *context, const struct directory_entry *),
                           void *context, struct error *err);

/* "DIRECTORY/NAME" in memory of any kind: the bytes that it takes, its NUL included, and the
 * text itself. "/" is a directory like any other. */
size_t path_size(const char *directory, const char *name);
char *path_join(char *to, const char *directory, const char *name);

#endif

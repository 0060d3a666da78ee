/*
 * ocdbt_database.h - list what an OCDBT database of TensorStore holds, in the order of its keys.
 *
 *   struct ocdbt *db;
 *   struct ocdbt_entry e;
 *   if (ocdbt_open(&files, &db, err) != OK) ...
 *   while ((status = ocdbt_next(db, &e, err)) == OK && e.key.at)
 *       e.value.at ? use(e.value) : use(ocdbt_file(db, e.file), e.offset, e.length);
 *   ocdbt_close(db);
 *
 * Only the newest version is read. Every node's checksum and every claim in a node is checked
 * before its first entry is given: keys strictly ascend, over all. A node that is damaged or
 * missing is reported and its part of the tree left out; the rest goes on. How much a small
 * file may ask for is limited (ERR_LIMIT; catalog/base/limits.h).
 *
 * Files are known by their paths relative to the database's directory, which come from the database
 * and are checked: relative, without "..", ".", empty components, NUL and backslash. They are
 * numbered in the order met, from 0, so that a caller can keep its own data on them in an array.
 */
#pragma once

#include "catalog/data/store/source.h"

#define OCDBT_MANIFEST "manifest.ocdbt"

struct ocdbt;

/* Where the files come from, and where damage is reported. */
struct ocdbt_files {
    /* Open a file that holds a manifest or nodes; the reader closes it. It keeps few open
     * at a time, and opens one again only after many others. A missing file: ERR_MISSING. */
    enum status (*read)(void *context, uint32_t file, const char *path, struct source **out,
                        struct error *err);
    /* The names of the files in the database's directory, for numbered manifests alone. NULL
     * if they cannot be listed. */
    const char *const *(*names)(void *context, uint64_t *count);
    /* Damage that did not stop the reading: a node whose entries are lost or, as a warning,
     * something without losses. The error is valid during the call. */
    void (*report)(void *context, bool warning, const struct error *error);
    void *context;
};

struct ocdbt_entry {
    struct bytes key;   /* valid until the next call; key.at NULL: the end */
    struct bytes value; /* inline: the same; value.at NULL: in a file */
    uint32_t file;      /* the file that it is in; for an inline value, its node's file */
    uint64_t offset;    /* in its file; not yet checked against the file's size */
    uint64_t length;    /* length of the value, inline or not */
};

/* Reads the manifest (if they are numbered, the newest intact one) and the root. An empty
 * database is not an error. `files` is copied. */
enum status ocdbt_open(const struct ocdbt_files *files, struct ocdbt **out, struct error *err);
enum status ocdbt_next(struct ocdbt *, struct ocdbt_entry *, struct error *err);

/* The path of a file by its number, NULL if there is no such file; valid until ocdbt_close(). */
const char *ocdbt_file(const struct ocdbt *, uint32_t file);

/* Read the value of the entry just returned; valid until the next call. ERR_LIMIT past
 * `limit` bytes; ERR_CORRUPT ("truncated") if its file is too short. */
enum status ocdbt_value(struct ocdbt *, const struct ocdbt_entry *, uint64_t limit,
                        struct bytes *out, struct error *err);

void ocdbt_close(struct ocdbt *);

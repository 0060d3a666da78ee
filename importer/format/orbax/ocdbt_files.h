/*
 * ocdbt_files.h - the inside of ocdbt_database.h: the files of a database by number (ocdbt_files.c),
 * and the manifest (ocdbt_manifest.c). Nodes and the walk over them are in ocdbt_database.c.
 */
#pragma once

#include "catalog/base/arena.h"
#include "catalog/base/strmap.h"
#include "importer/format/orbax/ocdbt_database.h"
#include "importer/format/orbax/ocdbt_inflate.h"
#include "importer/format/orbax/ocdbt_node.h"

#define OCDBT_OPEN_FILES 16
#define OCDBT_FILES_MOST (UINT32_MAX - 1) /* numbers from here on mean something else */

/* A file by its number; number 0 is the manifest. */
struct ocdbt_file {
    const char *path;
    uint32_t len;
    bool counted; /* its size is included in ocdbt_store.there */
};

struct ocdbt_store {
    struct ocdbt_files files;
    struct arena arena;
    struct strmap numbers; /* path -> number */
    struct ocdbt_file *known;
    size_t known_count, known_space;
    struct ocdbt_open {
        struct source *source; /* NULL: free */
        uint32_t number;
        uint64_t used; /* clock at the last use */
    } open[OCDBT_OPEN_FILES];
    uint64_t clock;
    uint64_t there; /* total size of all files opened */
    struct inflater inflater;
    struct buffer stored;
};
void ocdbt_store_release(struct ocdbt_store *);

/* Whether an error ends the reading, instead of losing only a part. */
bool ocdbt_fatal(enum status);

bool ocdbt_path_is_safe(const char *at, size_t len);
/* The number of the file with this path. */
enum status ocdbt_number(struct ocdbt_store *, const char *path, size_t len, uint32_t *out,
                         struct error *err);
/* Valid until OCDBT_OPEN_FILES other files have been opened. */
enum status ocdbt_open_file(struct ocdbt_store *, uint32_t number, struct source **out,
                            struct error *err);

/* A frame to read. */
struct ocdbt_frame_at {
    const struct source *source;
    uint64_t offset, length;
    uint32_t magic;
    uint64_t most; /* most bytes its body may have, stored or decoded */
};
/* Read a frame and decode its body, which is in `memory`. */
enum status ocdbt_read_frame(struct ocdbt_store *, const struct ocdbt_frame_at *,
                             struct buffer *memory, struct bytes *body, struct error *err);

/* ocdbt_manifest.c: the manifest to use; if they are numbered, the newest intact one. */
struct ocdbt_manifest_read {
    struct ocdbt_manifest is;
    struct buffer memory; /* holds its table; free memory.at */
    struct ocdbt_place at;
};
enum status ocdbt_manifest_read(struct ocdbt_store *, struct ocdbt_manifest_read *out,
                                struct error *err);

/*
 * known.h - what the catalog already holds below some roots, so that an import opens only what
 * is new or has changed. Read-only once loaded: any number of threads may look things up.
 */
#ifndef CKPTDB_KNOWN_H
#define CKPTDB_KNOWN_H

#include <stdbool.h>
#include <stdint.h>

#include "catalog/base/arena.h"
#include "catalog/base/error.h"
#include "catalog/base/strmap.h"
#include "catalog/store/source.h"

struct sqlite3;

#define KNOWN_NONE UINT32_MAX

struct known_file {
    const char *path;
    struct file_identity identity;
    const char *kind; /* of a file passed over: what it was found to be, or NULL */
    bool present;
    uint32_t checkpoint; /* position in checkpoints; KNOWN_NONE: a file passed over */
    uint32_t position;   /* in its checkpoint; 0 is the primary */
    uint32_t next;       /* another row of the same path; KNOWN_NONE: none */
};

struct known_checkpoint {
    int64_t id;
    const char *path, *format;
    bool again; /* a part could not be read for a passing reason: look again */
    uint32_t first_file, file_count; /* consecutive in files */
    bool stale; /* another program indexed it: it is to be indexed again */
};

struct known {
    struct arena arena;
    struct known_file *files;
    uint32_t file_count;
    struct known_checkpoint *checkpoints;
    uint32_t checkpoint_count;
    struct strmap by_path;       /* file path -> position in files */
    struct strmap by_checkpoint; /* checkpoint path -> position in checkpoints */
};

/* `db` NULL: an empty one. `looker` is who asks (writer_open()): of what another one passed
 * over nothing is known, and what another one indexed is stale. */
enum status known_load(struct sqlite3 *db, const char *looker, struct known **out,
                       struct error *err);
void known_free(struct known *);

/* The first row of a path (follow `next`), or NULL. */
const struct known_file *known_file(const struct known *, const char *path);
const struct known_checkpoint *known_checkpoint(const struct known *, const char *path);

#endif

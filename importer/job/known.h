/*
 * known.h - what the catalog already holds, so that an import opens only files that are new or
 * have changed. Read-only once loaded: any number of threads may look things up.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "catalog/base/arena.h"
#include "catalog/base/error.h"
#include "catalog/base/strmap.h"
#include "catalog/data/store/source.h"

struct sqlite3;

#define KNOWN_NONE UINT32_MAX

struct known_file {
    const char *path;
    struct file_identity identity;
    const char *kind; /* for a file that is not read: its kind, or NULL */
    bool present;
    uint32_t checkpoint; /* index in checkpoints; KNOWN_NONE: passed over */
    uint32_t position;   /* position in its checkpoint; 0: the primary file */
    uint32_t next;       /* another row with the same path; KNOWN_NONE: none */
};

struct known_checkpoint {
    int64_t id;
    const char *path, *format;
    bool again;                      /* a part could not be read for a passing reason: look again */
    uint32_t first_file, file_count; /* its range of indexes in files */
    bool stale;                      /* another version of the program indexed it: index it again */
};

struct known {
    struct arena arena;
    struct known_file *files;
    uint32_t file_count;
    struct known_checkpoint *checkpoints;
    uint32_t checkpoint_count;
    const char **refused; /* paths of issues of no checkpoint, sorted */
    uint32_t refused_count;
    struct strmap by_path;       /* file path -> index in files */
    struct strmap by_checkpoint; /* checkpoint path -> index in checkpoints */
};

/* `db` NULL: nothing is known. `looker` is this version of the program (writer_open()): files
 * that another version passed over are not known, and checkpoints that it indexed are stale. */
enum status known_load(struct sqlite3 *db, const char *looker, struct known **out,
                       struct error *err);
void known_free(struct known *);

/* The first row of a path (follow `next` for others), or NULL. */
const struct known_file *known_file(const struct known *, const char *path);
const struct known_checkpoint *known_checkpoint(const struct known *, const char *path);

/* Whether a row (may be NULL) describes a checkpoint's primary file. */
static inline bool known_is_primary(const struct known_file *f)
{
    return f && f->checkpoint != KNOWN_NONE && f->position == 0;
}

/*
 * import.h - paths in, catalog rows out.
 *
 *   walk -> units, sorted by path, numbered
 *        -> jobs on many threads, one per unit -> batches, handed over in order
 *        -> one writer, on the caller's thread
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "catalog/base/error.h"

struct classes;
struct sqlite3;
struct walk;

struct import_options {
    const char *const *paths;
    int path_count;
    unsigned jobs; /* threads; 0: chosen by the number of cores */
    bool prune;    /* drop checkpoints that are no longer there */
    bool follow;   /* enter linked directories */
    bool dry_run;  /* only find out what would be done */
    bool salvage; /* take the whole tensors of files that were cut short, rather than refuse them */
    /* Asked from any thread; true ends the import at the next checkpoint. NULL: never. */
    bool (*stop)(void *context);
    /* "looking" for files (total 0), then "indexing" checkpoints. NULL: silent. */
    void (*progress)(void *context, const char *doing, uint64_t done, uint64_t total);
    /* Called once if another program is writing the catalog; the import then waits for it. */
    void (*waiting)(void *context);
    void *context;
};

#define IMPORT_LOOKER_MAX 256
/* The program's version, a digest of its sources, and one of the known classes: `_looked` says what its
 * rows were made with. */
void import_looker(const struct classes *, char out[IMPORT_LOOKER_MAX]);

struct import_report {
    uint64_t added, changed, unchanged, failed, vanished, pruned;
    uint64_t failed_known; /* failures whose old rows were kept */
    struct walk *walk;     /* what was found; walk_free() it */
    /* Of a dry run: files that an earlier import refused, and that have not changed. */
    const char **before;
    uint64_t before_count;
};

/* ERR_MISSING: a path does not exist (nothing was done); ERR_INTERRUPTED: what was finished
 * is in the catalog; others: trouble with the catalog. Trouble with checkpoints is in the
 * view `issue`. The report is always filled in. `db` may be NULL for a dry run. */
enum status import_run(struct sqlite3 *db, const struct import_options *, struct import_report *,
                       struct error *err);

/*
 * verify.h - check whether the catalog's rows on checkpoints are still true.
 *
 *   1. The formats read the headers and indexes again, with every checksum that these have,
 *      into a temporary catalog.
 *   2. The two catalogs are compared (schema/verify/): files, tensors, where they are stored,
 *      chunks, facts, stated checksums.
 *   3. All data is read and checked: stored checksums, codecs, members of archives that are
 *      not tensors, and the content hashes in the catalog.
 *
 * Findings are rows of `damages`; `verifications` has the time. What was verified before an
 * interruption is not verified again.
 */
#pragma once

#include "catalog/db/db.h"

struct verify_options {
    const int64_t *ids; /* of checkpoints */
    size_t count;
    sqlite3 *scratch;            /* opened by DB_SCRATCH; receives what is read again */
    unsigned threads;            /* 0: one per core */
    bool quick;                  /* without step 3 */
    bool again;                  /* also what was verified before an interruption */
    void *context;               /* handed to the functions below */
    bool (*stop)(void *context); /* asked on any thread; true ends all with ERR_INTERRUPTED */
    /* Progress in "checkpoints", or "B". On the caller's thread. */
    void (*progress)(void *context, const char *unit, uint64_t done, uint64_t total);
    /* Called for a checkpoint that was imported again meanwhile: it gets no result. May be NULL. */
    void (*renewed)(void *context, const char *path);
};

/* *skipped: checkpoints that had been verified before an interruption. */
void verify_run(sqlite3 *catalog, const struct verify_options *, size_t *skipped,
                struct error *err);

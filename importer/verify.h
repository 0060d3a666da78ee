/*
 * verify.h - is what the catalog says of checkpoints still true?
 *
 *   1. Their headers and indexes are read again, by the formats themselves, with every checksum that
 *      these have, into a catalog that lasts as long as the work.
 *   2. What the two catalogs say is compared (schema/verify/): files, tensors, where they lie,
 *      chunks, facts, stated checksums.
 *   3. All data is read: stored checksums, codecs, members of archives that are not tensors, and
 *      the content hashes that the catalog has.
 *
 * Findings are rows of `damages`; `verifications` says when. What was verified before an
 * interruption is not verified again.
 */
#ifndef CKPTDB_IMPORTER_VERIFY_H
#define CKPTDB_IMPORTER_VERIFY_H

#include "catalog/db/db.h"

struct verify_options {
    const int64_t *ids; /* of checkpoints */
    size_t count;
    unsigned threads; /* 0: one per core */
    bool quick;       /* not the third */
    bool again;       /* also what was verified before an interruption */
    void *context;    /* handed to the functions below */
    bool (*stop)(
        void *context); /* asked on any thread; true ends all with ERR_INTERRUPTED */
    /* How far it has come: "checkpoints", or "B". On the caller's thread. */
    void (*progress)(void *context, const char *unit, uint64_t done, uint64_t total);
    /* A checkpoint that was imported again meanwhile: it has no result. One that was forgotten needs
     * none. May be NULL. */
    void (*renewed)(void *context, const char *path);
};

/* *skipped: checkpoints that had been verified before an interruption. */
enum status verify_run(sqlite3 *catalog, const struct verify_options *, size_t *skipped,
                       struct error *err);

#endif

/*
 * content.h - what tensors hold, computed on all cores and kept in the catalog: content hashes,
 * and SHA-256 for manifests.
 *
 * A tensor's bytes are read once, in the order in which they lie in their files; large plain runs
 * are cut into parts that several threads hash. What is known is not computed again, and what is
 * done is committed now and then, so that work that was stopped goes on where it was. Importing a
 * file that changed drops what was known of it (schema/17_content_drop.sql).
 */
#ifndef CKPTDB_CONTENT_CONTENT_H
#define CKPTDB_CONTENT_CONTENT_H

#include <time.h>

#include "catalog/db/db.h"

struct content_work {
    sqlite3 *db;
    time_t *
        begun; /* the transaction that is open; of the work on any number of checkpoints */
    unsigned threads; /* 0: one per core */
    bool again;       /* compute what is known, too */
    bool twins; /* only tensors that could have an equal one, as twins_find() found */
    /* NULL: never. Asked on any thread; true ends the work with ERR_INTERRUPTED. */
    bool (*stop)(void *context);
    /* Bytes read so far of those that there are to read; on the caller's thread. NULL: none. */
    void (*progress)(void *context, uint64_t done, uint64_t total);
    /* A tensor that could not be read; the work goes on, without the checkpoint's hash. (What
     * has no bytes, for a shard was missing at import, is no trouble: it has no hash.)
     * `tensor` NULL: a file is not as it was. */
    void (*trouble)(void *context, const char *tensor, const struct error *);
    void *context;
};

/* Results are committed every two seconds, and whenever much was read: after the last checkpoint,
 * and after an error or an interruption, the rest of them. */
enum status content_commit(sqlite3 *, struct error *err);

/* Hash all tensors of a checkpoint that have bytes (or those with twins alone), and then the
 * checkpoint, if all are known. *complete says whether all could be read. */
enum status content_hash(const struct content_work *, int64_t checkpoint, bool *complete,
                         struct error *err);

/* The SHA-256 of each tensor with bytes (but strings), in the file's order: `each` gets 64
 * hex digits. Nothing is kept. */
enum status content_sha256(const struct content_work *, int64_t checkpoint,
                           void (*each)(void *context, const char *hex, const char *name),
                           bool *complete, struct error *err);

#endif

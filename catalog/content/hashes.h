/*
 * hashes.h - what tensors hold, computed on all cores and kept in the catalog: content hashes,
 * and SHA-256 for manifests.
 *
 * A tensor's bytes are read once, in the order in which they lie in their files; large plain runs
 * are cut into parts that several threads hash. What is known is not computed again, and what is
 * done is committed now and then, so that work that was stopped goes on where it was. Importing a
 * file that changed drops what was known about it (schema/17_content_drop.sql).
 */
#pragma once

#include <time.h>

#include "catalog/db/db.h"

struct content_work {
    sqlite3 *db;
    time_t *begun;    /* when the open transaction began; shared by all calls */
    unsigned threads; /* 0: one per core */
    bool again;       /* compute what is known, too */
    bool twins;       /* only tensors that could have an equal one, as twins_find() found */
    /* content_hash() and content_stats() only add how many bytes they would read; NULL: they work */
    uint64_t *measured;
    /* NULL: never stop. Called on any thread; true ends the work with ERR_INTERRUPTED. */
    bool (*stop)(void *context);
    /* Bytes read so far, of all there are to read; on the caller's thread. NULL: none. */
    void (*progress)(void *context, uint64_t done, uint64_t total);
    /* Called for a tensor that could not be read; the work goes on, but the checkpoint gets no
     * hash. (A tensor without bytes, because a shard was missing at import, has no hash, but is
     * no trouble.) `tensor` NULL: a file has changed. */
    void (*trouble)(void *context, const char *tensor, const struct error *);
    void *context;
};

/* Results are committed every two seconds, and whenever much was read. Call this after the last
 * checkpoint, and after an error or an interruption, to commit the rest. */
enum status content_commit(sqlite3 *, struct error *err);

/* Find the checkpoints that have names of one file, before content_hash(): it is read once. */
void content_find_links(sqlite3 *, struct error *err);

/* Hash all tensors of a checkpoint that have bytes (or only those with twins), then the
 * checkpoint, if all hashes are known. *complete: all could be read. */
enum status content_hash(const struct content_work *, int64_t checkpoint, bool *complete,
                         struct error *err);

/* The SHA-256 of each tensor with bytes (except strings), in the file's order: `each` gets 64 hex
 * digits. Nothing is kept. */
void content_sha256(const struct content_work *, int64_t checkpoint,
                    void (*each)(void *context, const char *hex, const char *name), bool *complete,
                    struct error *err);

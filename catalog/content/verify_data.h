/*
 * verify_data.h - reads the data of a checkpoint from end to end on all cores, and verifies it by the
 * stored checksums, by its codecs, and by content hashes that were computed earlier.
 */
#pragma once

#include "catalog/db/db.h"

struct verify_data {
    sqlite3 *db;
    int64_t checkpoint;
    unsigned threads; /* 0: one per core */
    /* A query for the content hash that tensor ?1 should have, or no row; run on the caller's
     * thread. NULL: none is known. */
    sqlite3_stmt *hash;
    void *context; /* passed to all functions below */
    /* A tensor is damaged. */
    enum status (*found)(void *context, const char *name, const struct error *what,
                         struct error *err);
    /* A tensor was read; `damage` is the first damage found, or OK. Not called for a tensor that
     * could not be read and that found() did not see. */
    enum status (*read)(void *context, const struct stored_tensor *, const struct error *damage,
                        struct error *err);
    bool (*stop)(void *context); /* called on any thread */
    void (*progress)(void *context, uint64_t done, uint64_t total);
};

/* OK if everything was read, whatever was found. */
enum status verify_data(const struct verify_data *, struct error *err);

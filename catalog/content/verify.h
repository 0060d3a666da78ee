/*
 * verify.h - the data of a checkpoint, read from end to end on all cores: what stored checksums,
 * codecs, and the content hashes of an earlier day say of it.
 */
#ifndef CKPTDB_CONTENT_VERIFY_H
#define CKPTDB_CONTENT_VERIFY_H

#include "catalog/db/db.h"

struct verify_data {
    sqlite3 *db;
    int64_t checkpoint;
    unsigned threads; /* 0: one per core */
    /* A statement that gives the content hash that the tensor called ?1 is to have, or no
     * row; run on the caller's thread. NULL: none is known. */
    sqlite3_stmt *hash;
    void *context; /* handed to all functions below */
    /* Something is wrong with a tensor. */
    enum status (*found)(void *context, const char *name, const struct error *what,
                         struct error *err);
    /* A tensor was read, and what its checksums say is right. */
    enum status (*fine)(void *context, const struct stored_tensor *, struct error *err);
    bool (*stop)(void *context); /* on any thread */
    void (*progress)(void *context, uint64_t done, uint64_t total);
};

/* OK when all was read, whatever was found. */
enum status verify_data(const struct verify_data *, struct error *err);

#endif

/*
 * sweep.h - all tensors of a checkpoint, or some, read once: what hashing, verifying and
 * statistics have in common.
 *
 * Descriptions are loaded in batches on the caller's thread (a connection is one thread's); what
 * is made of each tensor, or of each part of a large one, is made on all cores, and taken back in
 * order (base/work.h).
 *
 *   tensor   0      1            2
 *   part     0      1  2  3      4
 */
#ifndef CKPTDB_CONTENT_SWEEP_H
#define CKPTDB_CONTENT_SWEEP_H

#include "catalog/db/db.h"

/* One tensor, or a part of it: the bytes [start, start + len). */
struct sweep_part {
    struct stored_tensor *tensor;
    uint64_t start, len;
    bool last;                /* of its tensor */
    struct file_cache *files; /* for reader_open() */
};

struct sweep {
    sqlite3 *db;
    int64_t checkpoint;
    const char
        *which; /* a condition on `tensor t` beside that of having bytes; NULL: all */
    const char *order; /* "t.ord"; NULL: as their bytes lie in the files */
    unsigned threads;  /* 0: one per core */
    bool as_stored;    /* sub-byte elements that are stored one a byte are read so */
    void *context;     /* handed to make() and take() */
    /* Bytes of a part. NULL: tensors are not cut. */
    uint64_t (*part)(const struct stored_tensor *);
    /* As those of struct work. */
    void *(*make)(void *context, const struct sweep_part *, uint64_t *bytes);
    enum status (*take)(void *context, const struct sweep_part *, void *thing,
                        struct error *err);
    void (*drop)(void *thing);
    void *watcher;               /* handed to the two below */
    bool (*stop)(void *watcher); /* on any thread; NULL: never */
    /* Bytes done of those that there are; NULL: none. */
    void (*progress)(void *watcher, uint64_t done, uint64_t total);
};

/* OK when all was taken; take()'s error; ERR_INTERRUPTED; ERR_MEMORY; what the catalog says. */
enum status sweep_run(const struct sweep *, struct error *err);

/* Refuse a large tensor of which next to nothing is stored: a few bytes of an array without chunks can
 * claim any number of elements. That is ERR_LIMIT, before anything is hashed. */
bool sweep_is_void(const struct stored_tensor *, struct error *);

/* Whether threads may read parts of it at once without decoding anything twice, and no checksum
 * needs it from end to end. */
bool sweep_parts_are_cheap(const struct stored_tensor *);

#endif

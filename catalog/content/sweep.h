/*
 * sweep.h - reads all tensors of a checkpoint, or some, once: shared by hashing, verifying and
 * statistics.
 *
 * Descriptions are loaded in batches on the caller's thread, to which the connection belongs.
 * Each tensor, or each part of a large one, is then processed on all cores, and the results are
 * taken in order (base/work.h).
 *
 *   tensor   0      1            2
 *   part     0      1  2  3      4
 */
#pragma once

#include "catalog/db/db.h"

struct sweep;

/* A tensor, or a part: the bytes [start, start + len). */
struct sweep_part {
    struct stored_tensor *tensor;
    uint64_t start, len;
    bool last;                /* it is the tensor's last part */
    struct file_cache *files; /* for reader_open() */
    const struct sweep *sweep;
};

struct sweep {
    sqlite3 *db;
    int64_t checkpoint;
    /* Another condition on `tensor t`, besides having bytes; NULL: none */
    const char *which;
    const char *order; /* "t.ord"; NULL: the order of their bytes in the files */
    unsigned threads;  /* 0: one per core, more for files of other machines */
    bool as_stored;    /* read sub-byte elements that are stored one per byte as bytes */
    void *context;     /* passed to make() and take() */
    /* Bytes of a part. NULL: tensors are not cut. */
    uint64_t (*part)(const struct stored_tensor *);
    /* As in struct work. */
    void *(*make)(void *context, const struct sweep_part *, uint64_t *bytes);
    enum status (*take)(void *context, const struct sweep_part *, void *thing, struct error *err);
    void (*drop)(void *thing);
    void *watcher;               /* passed to the two below */
    bool (*stop)(void *watcher); /* called on any thread; NULL: never stop */
    /* Bytes done, of all there are; NULL: none. */
    void (*progress)(void *watcher, uint64_t done, uint64_t total);
    uint64_t *measured; /* only add how many bytes there are to read, and read none; NULL: read */
};

/* OK: everything was taken; otherwise take()'s error, ERR_INTERRUPTED, ERR_MEMORY, or an error of
 * the catalog. */
void sweep_run(const struct sweep *, struct error *err);

/* For make(), to call every few hundred KiB: ERR_INTERRUPTED after stop(), so that a tensor that is
 * not cut into parts, of any size, does not have to be read to its end first. take() passes the error
 * on. */
enum status sweep_go_on(const struct sweep_part *, struct error *);

/* Refuse, with ERR_LIMIT, a large tensor with next to nothing stored: a file of a few bytes can
 * declare an array without chunks with any number of elements. */
bool sweep_is_void(const struct stored_tensor *, struct error *);

/* Whether threads may read parts of the tensor at once without decoding anything twice, and no
 * checksum needs the whole tensor. */
bool sweep_parts_are_cheap(const struct stored_tensor *);

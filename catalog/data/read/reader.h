/*
 * reader.h - the inside of a reader, for the files that make it up: read.c (what any reader does),
 * read_extents.c, grid_reader.c and composed.c (the kinds in readers.def, each with its operations),
 * pool.c (decoded extents), kept.c (what stays open), string_table.c (strings).
 */
#pragma once

#include <pthread.h>

#include "catalog/data/read/read.h"

/* What a kind of reader does in its own way. Slices are in units, and inside the tensor; NULL:
 * the whole tensor. */
struct reader_ops {
    /* Read bytes [start, start + len); ERR_ARGUMENT past the end of the slice. NULL for strings
     * of varying length, which have no such bytes. */
    enum status (*read)(struct reader *, const struct ckptdb_slice *, uint64_t start, uint8_t *dst,
                        size_t len, struct error *err);
    /* Read `count` units of the slice from `position` on, in C order, for units_read()
     * (slice_position() says where one is in units.shape). Needed only for that. */
    enum status (*gather)(struct reader *, const struct ckptdb_slice *, uint64_t position,
                          uint64_t count, uint8_t *dst, struct error *err);
    /* As reader_borrow(): NULL, with or without an error, if the bytes are not in memory. No
     * `lend`: they never are. */
    const uint8_t *(*lend)(struct reader *, const struct ckptdb_slice *, uint64_t start, size_t len,
                           struct error *err);
    /* As reader_from(). NULL: everything is stored. */
    uint64_t (*from)(struct reader *, uint64_t start);
    /* As reader_descriptor(). NULL: -1. */
    int (*descriptor)(struct reader *, uint64_t *offset);
    /* NULL: reading verifies all there is to verify. */
    enum status (*verify)(struct reader *, struct error *err);
    uint64_t (*memory)(const struct reader *); /* NULL: next to none */
    /* Must take a reader that was not opened completely, too. */
    void (*close)(struct reader *);
};

/* The tensor cut into units, and the band that was gathered last. */
struct units {
    struct ckptdb_slice *whole; /* NULL: not cut */
    uint64_t *shape;
    bool moves; /* reading front to back is not front to back in what it gathers from */

    pthread_mutex_t lock; /* guards the band */
    uint8_t *band;
    uint64_t band_at, band_len; /* in units */
    uint64_t next;              /* end of the last read, in units */
};

struct reader {
    const struct reader_ops *ops;
    const struct stored_tensor *tensor;
    struct file_cache *files; /* NULL: no cache */
    size_t unit;              /* bytes */
    uint64_t block;           /* elements in a unit */
    uint64_t nbytes;          /* logical bytes; of strings, with their padding */
    bool shaped;              /* can be cut into units */
    bool sequential;
    struct units units;

    /* Extents: */
    struct pool *pool;
    struct tiles *tiles; /* NULL: one extent holds the whole tensor */
    bool flat;           /* and holds it in C order, byte for byte */
    /* Strings of varying length in a grid: */
    struct string_grid *texts;
    /* Any other kind: its own state, which ops->close frees. */
    void *own;
};

/* A kind of reader: reader_kind_NAME, in a file of its own, and a line READER(NAME) in
 * readers.def. The first in that list that takes a tensor reads it; the last takes what is left.
 * For example, one that reads a run of a file as it is:
 *
 *   static enum status run_gather(struct reader *r, const struct ckptdb_slice *slice, uint64_t position,
 *                                 uint64_t count, uint8_t *dst, struct error *err);
 *   static void run_close(struct reader *r);           frees r->own, which may be NULL
 *
 *   static const struct reader_ops run_ops = {
 *       .read = units_read, .gather = run_gather, .close = run_close};
 *
 *   static enum status run_open(struct reader *r, struct error *err)
 *   {
 *       struct file_set *files;
 *       r->ops = &run_ops;
 *       if (units_open(r, err) == OK) {
 *           file_set_open(r->tensor, r->files, &files, err);
 *           r->own = files;
 *       }
 *       return err->status;
 *   }
 */
struct reader_kind {
    bool (*takes)(const struct stored_tensor *);
    /* Sets ops first, then what is its own: reader_open() calls ops->close after an error, and frees
     * what is in struct units itself. `tensor`, `files`, `unit`, `block`, `nbytes` and `shaped` are
     * set already, `unit` and `block` by the dtype: a kind may set others. Files are opened through
     * files.h, which refuses changed files. */
    enum status (*open)(struct reader *, struct error *err);
};

/* --- read.c ------------------------------------------------------------------------- */

/* For a kind that has `gather`: cut the tensor into units. */
enum status units_open(struct reader *, struct error *err);
void units_close(struct reader *); /* for reader_close() alone */
/* Implements reader_ops.read by reader_ops.gather. Any number of threads. */
enum status units_read(struct reader *, const struct ckptdb_slice *slices, uint64_t start,
                       uint8_t *dst, size_t len, struct error *err);
enum status reader_past_end(const struct reader *, uint64_t bytes, struct error *err);

/* reader_read() that also takes strings of fixed width: their elements with the padding. */
enum status reader_read_padded(struct reader *, uint64_t start, void *dst, size_t len,
                               struct error *err);

/* --- pool.c: the decoded extents of one tensor, opened on demand, the last few kept --------- */

/* Opens and checks the tensor's files; *out is the caller's after an error too, as in
 * file_set_open(). */
enum status pool_open(const struct stored_tensor *, struct file_cache *, struct pool **out,
                      struct error *err);
void pool_close(struct pool *);

/* The elements of an extent's box. `random`: will be read in any order; a stream decoder is then
 * decoded to its end first. Any number of threads. */
enum status pool_take(struct pool *, uint64_t extent, bool random, struct kept **out,
                      struct error *err);
void pool_give(struct pool *, struct kept *);

uint64_t extent_elements(const struct stored_tensor *, const struct extent *);

/* Verify the checksums that reading has not verified yet. */
enum status pool_verify(struct pool *, struct error *err);

/* --- read_extents.c ------------------------------------------------------------------------- */

/* The extents that may touch units of the tensor between two positions in C order, both
 * included: candidates [*begin, *end) for tiles_extent(). */
void tiles_between(const struct tiles *, uint64_t first, uint64_t last, uint64_t *begin,
                   uint64_t *end);
uint64_t tiles_extent(const struct tiles *, uint64_t candidate);

/* --- string_table.c: strings of varying length in a grid ----------------------------------- */

/* Checks the tensor's files; *out is the caller's after an error too, as in file_set_open(). */
enum status string_grid_open(const struct stored_tensor *, struct file_cache *,
                             struct string_grid **out, struct error *err);
void string_grid_close(struct string_grid *);

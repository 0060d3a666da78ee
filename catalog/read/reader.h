/*
 * reader.h - the inside of a reader, for the files that make it up: read.c (what any reader does),
 * read_extents.c, read_grid.c and composed.c (the kinds in readers.def, each with its operations),
 * read_units.c (elements gathered from boxes), string_table.c (strings).
 */
#ifndef CKPTDB_READ_READER_H
#define CKPTDB_READ_READER_H

#include <pthread.h>

#include "catalog/read/pool.h"
#include "catalog/read/read.h"
#include "catalog/read/string_grid.h"
#include "catalog/read/tiles.h"

/* What a kind of readers does in its own way. Slices are in units, and inside the tensor; NULL is
 * all of it. */
struct reader_ops {
    /* Bytes [start, start + len); ERR_ARGUMENT past the end of the slice. NULL: strings of varying
     * length, which have no bytes. */
    enum status (*read)(struct reader *, const struct slice *, uint64_t start,
                        uint8_t *dst, size_t len, struct error *err);
    /* `count` units from `position`, for units_read(). */
    enum status (*gather)(struct reader *, const struct slice *, uint64_t position,
                          uint64_t count, uint8_t *dst, struct error *err);
    /* As reader_borrow(): NULL, with an error or without, where the bytes are not in memory.
     * NULL: they never are. */
    const uint8_t *(*lend)(struct reader *, const struct slice *, uint64_t start,
                           size_t len, struct error *err);
    /* As reader_from(); NULL: all is stored. */
    uint64_t (*from)(struct reader *, uint64_t start);
    /* NULL: what can be verified was verified where it was read. */
    enum status (*verify)(struct reader *, struct error *err);
    uint64_t (*memory)(const struct reader *); /* NULL: next to none */
    void (*close)(struct reader *);            /* also one that was not opened wholly */
};

/* All of the tensor, cut in units, and what was gathered of it last. */
struct units {
    struct slice *whole; /* NULL: not cut */
    uint64_t *shape;
    bool moves; /* reading front to back is not reading so what it is gathered from */

    pthread_mutex_t lock; /* over the band */
    uint8_t *band;
    uint64_t band_at, band_len; /* in units */
    uint64_t next;              /* where the last read ended, in units */
};

struct reader {
    const struct reader_ops *ops;
    const struct stored_tensor *tensor;
    struct file_cache *files; /* NULL: none */
    size_t unit;              /* bytes */
    uint64_t block;           /* elements of a unit */
    uint64_t nbytes;          /* logical; of strings, what reader_read_padded() gives */
    bool shaped;              /* it can be cut in units */
    bool sequential;
    struct units units;

    /* Of extents: */
    struct pool *pool;
    struct tiles *tiles; /* NULL: one extent that is the whole tensor */
    bool flat;           /* and it is in C order, byte for byte */
    /* Of strings of varying length in a grid: */
    struct string_grid *texts;
    /* Of any other kind: what it keeps; ops->close frees it. */
    void *own;
};

/* A kind of reader: reader_kind_NAME, in a file of its own, and a line READER(NAME) in
 * readers.def. The first in that list that takes a tensor reads it; the last one takes all. */
struct reader_kind {
    bool (*takes)(const struct stored_tensor *);
    /* Sets ops first, then what is its own: reader_open() calls ops->close after an error. */
    enum status (*open)(struct reader *, struct error *err);
};

enum status reader_no_memory(const struct stored_tensor *, struct error *err);

/* --- read_units.c ------------------------------------------------------------------------- */

enum status units_open(struct reader *, struct error *err);
void units_close(struct reader *);
/* reader_ops.read by means of reader_ops.gather. Any number of threads. */
enum status units_read(struct reader *, const struct slice *slices, uint64_t start,
                       uint8_t *dst, size_t len, struct error *err);
enum status reader_past_end(const struct reader *, uint64_t bytes, struct error *err);

/* reader_read() for NumPy's strings too: their elements with the padding. */
enum status reader_read_padded(struct reader *, uint64_t start, void *dst, size_t len,
                               struct error *err);

/* reader_verify() of TensorFlow's strings (string_table.c). */
enum status reader_verify_strings(struct reader *, struct error *err);

#endif

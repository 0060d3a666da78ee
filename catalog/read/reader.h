/*
 * reader.h - the inside of a reader, for the files that make it up.
 */
#ifndef CKPTDB_READ_READER_H
#define CKPTDB_READ_READER_H

#include <pthread.h>

#include "catalog/read/composed.h"
#include "catalog/read/grid_reader.h"
#include "catalog/read/pool.h"
#include "catalog/read/read.h"
#include "catalog/read/string_grid.h"
#include "catalog/read/tiles.h"

struct reader {
    const struct stored_tensor *tensor;
    struct pool *pool;         /* NULL: a grid, or composed */
    struct grid_reader *grid;  /* NULL: extents, or: */
    struct composed *composed; /* of other tensors, or: */
    struct string_grid *texts; /* strings of varying length in a grid */
    struct tiles *tiles;       /* NULL: one extent that is the whole tensor */
    size_t unit;               /* bytes */
    uint64_t block;            /* elements of a unit */
    uint64_t nbytes;           /* logical; of strings, what reader_read_padded() gives */
    bool flat, shaped;         /* shaped: can be cut in units */
    bool strided;              /* an extent is not in C order, or not packed */
    bool sequential;
    struct slice *whole; /* all of the tensor, in units */
    uint64_t *shape;     /* in units */

    pthread_mutex_t lock; /* over the band */
    uint8_t *band;
    uint64_t band_at, band_len; /* in units */
    uint64_t next;              /* where the last read ended, in units */
};

/* reader_read() for NumPy's strings too: their elements with the padding. */
enum status reader_read_padded(struct reader *, uint64_t start, void *dst, size_t len,
                               struct error *err);

/* reader_verify() of TensorFlow's strings (string_table.c). */
enum status reader_verify_strings(struct reader *, struct error *err);

#endif

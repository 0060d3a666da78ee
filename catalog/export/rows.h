/*
 * rows.h - the tensors of an export, and the files and texts to write, as rows of a temporary
 * database: a plan of any length takes the same memory, and SQLite sorts on the disk.
 *
 *   struct export_scan *scan;
 *   if (export_scan_open(rows, EXPORT_BY_NAME, all, &scan, err) == OK)
 *       while (export_scan_next(scan, &t, err) == OK && t)
 *           use(t);
 *   export_scan_close(scan);
 *
 * One thread at a time.
 */
#ifndef CKPTDB_ROWS_H
#define CKPTDB_ROWS_H

#include "catalog/db/sqlite.h"

#include "catalog/base/arena.h"
#include "catalog/base/bits.h"
#include "catalog/base/error.h"
#include "catalog/data/model/dtype.h"

struct export_tensor {
    int64_t id;
    const char *recipe; /* of a composed tensor; NULL: the tensor itself */
    /* In the selection, or, once it is placed, in the order of the places */
    uint64_t number;
    const char *name; /* new name */
    const char *old_name;
    const char *checkpoint; /* path of its source */
    struct dtype from, to;  /* as stored, as written */
    uint64_t *shape;
    unsigned rank;
    uint64_t elements;
    uint64_t nbytes;        /* as written */
    uint32_t source_file;   /* where its first byte lies now, for reading in that order: */
    uint64_t source_offset; /* position in the checkpoint's files, byte */
    /* Set by export_layout.h: */
    uint32_t file;     /* which of the files that are written, */
    uint64_t offset;   /* and where in it its data begins; */
    uint32_t lead_len; /* bytes right before it that are about it (a header of its own) */
    uint64_t piece;    /* elements of a piece, of which each is a file; 0: not cut up */
    uint64_t run;      /* elements after which a new piece begins: one that would go past
                          it is filled up with zeros */
};

struct export_rows;

enum status export_rows_open(struct export_rows **out, struct error *err);
void export_rows_close(struct export_rows *);

/* Add a tensor to the selection: all fields up to source_offset, except for nbytes and number. */
enum status export_rows_add(struct export_rows *, const struct export_tensor *, struct error *err);
/* Set the dtype `to` of all tensors for whose current dtype `which` is true. */
enum status export_rows_cast(struct export_rows *, const struct dtype *to,
                             bool (*which)(const struct dtype *), struct error *err);
/* Store the place of a tensor from a scan. */
enum status export_rows_place(struct export_rows *, const struct export_tensor *,
                              struct error *err);

/* The paths of the checkpoints that were added. */
const char *const *export_rows_checkpoints(const struct export_rows *, uint64_t *count);

/* Find two new names of which one is the other followed by `suffix`, in `arena`; *name NULL:
 * there are none. */
enum status export_rows_find_pair(struct export_rows *, const char *suffix, struct arena *arena,
                                  const char **name, const char **longer, struct error *err);

/* Files, texts and checksums to write. Files are numbered from 0 in the order in which they are
 * added. */
enum status export_rows_add_file(struct export_rows *, const char *path, uint64_t size,
                                 struct error *err);
enum status export_rows_add_text(struct export_rows *, uint32_t file, uint64_t at,
                                 struct bytes text, struct error *err);
/* 4 bytes of a text, which was or will be added: a CRC-32. `before` is that of the bytes before
 * the data of the placed tensor. */
struct export_sum {
    uint32_t file;
    uint64_t at, tensor, nbytes;
    uint32_t before;
};
enum status export_rows_add_sum(struct export_rows *, const struct export_sum *, struct error *err);

/* A statement that lists the placed tensors for people; NULL without memory. */
sqlite3_stmt *export_rows_listing(struct export_rows *);

enum export_order {
    EXPORT_BY_SELECTION,
    EXPORT_BY_NAME,
    EXPORT_BY_DTYPE, /* as export_rows_rank() says, then by name */
    EXPORT_BY_TREE,  /* by name, with '/' before all other characters */
    /* Of placed tensors only: */
    EXPORT_BY_PLACE,
    EXPORT_PLACED_BY_NAME,
    EXPORT_PLACED_BY_SOURCE,
};

/* How EXPORT_BY_DTYPE orders; NULL: all the same. */
enum status export_rows_rank(struct export_rows *, unsigned (*rank)(const struct dtype *),
                             struct error *err);

/* The rows with numbers from `first` to `last`. */
struct export_span {
    uint64_t first, last;
};
#define EXPORT_ALL ((struct export_span){0, UINT64_MAX})

struct export_scan;
enum status export_scan_open(struct export_rows *, enum export_order, struct export_span,
                             struct export_scan **out, struct error *err);
/* *t is valid until the next call; NULL at the end. */
enum status export_scan_next(struct export_scan *, struct export_tensor **t, struct error *err);
void export_scan_close(struct export_scan *);

/* Scan files, texts or sums, in the order in which they were added. */
enum export_what {
    EXPORT_FILES,
    EXPORT_TEXTS,
    EXPORT_SUMS
};
struct export_item {
    uint32_t file;
    const char *path;      /* of a file, */
    uint64_t size;         /* and its size; 0: not known */
    uint64_t at;           /* of a text */
    struct bytes text;     /* until the next call */
    struct export_sum sum; /* of EXPORT_SUMS alone */
};
struct export_items;
enum status export_items_open(struct export_rows *, enum export_what, struct export_items **out,
                              struct error *err);
/* False at the end and after an error. */
bool export_items_next(struct export_items *, struct export_item *, struct error *err);
void export_items_close(struct export_items *);

#endif

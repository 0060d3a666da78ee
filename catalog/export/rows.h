/*
 * rows.h - the tensors of an export: rows of a temporary database, so that a plan of any
 * length takes the same memory. Sorting is SQLite's, which spills to the disk.
 *
 *   struct export_scan *scan;
 *   if (export_scan_open(rows, EXPORT_BY_NAME, all, &scan, err) == OK)
 *       while (export_scan_next(scan, &t, err) == OK && t)
 *           use(t);
 *   export_scan_close(scan);
 *
 * One thread at a time.
 */
#ifndef CKPTDB_EXPORT_ROWS_H
#define CKPTDB_EXPORT_ROWS_H

#include "catalog/db/sqlite.h"

#include "catalog/base/arena.h"
#include "catalog/base/error.h"
#include "catalog/model/dtype.h"

struct export_tensor {
    int64_t id;
    const char *recipe; /* of what is made of tensors; NULL: the tensor itself */
    uint64_t
        number; /* in the selection, or, once it is placed, in the order of the places */
    const char *name; /* new name */
    const char *old_name;
    const char *checkpoint; /* path of its source */
    struct dtype from, to;  /* as stored, as written */
    uint64_t *shape;
    unsigned rank;
    uint64_t elements;
    uint64_t nbytes;      /* as written */
    uint32_t source_file; /* where its first byte lies now, for reading in that order: */
    uint64_t source_offset; /* position in the checkpoint's files, byte */
    uint32_t part;          /* which of the files written */
    /* Set by the format's place(): */
    uint64_t offset;   /* where its data begins, behind the file's `base` */
    uint32_t lead_len; /* bytes that stand right before its data (an npy header) */
    /* Set by streaming, where the format wants it: */
    uint32_t crc32; /* of its data, as zlib counts it */
};

struct export_rows;

enum status export_rows_open(struct export_rows **out, struct error *err);
void export_rows_close(struct export_rows *);

/* Add a tensor to the selection: everything up to `part`, nbytes and number aside. */
enum status export_rows_add(struct export_rows *, const struct export_tensor *,
                            struct error *err);
/* The dtype `to` of all tensors that `which` is true for, as they are now. */
enum status export_rows_cast(struct export_rows *, const struct dtype *to,
                             bool (*which)(const struct dtype *), struct error *err);
/* A tensor as it was read, with the place that its format has given it. */
enum status export_rows_place(struct export_rows *, const struct export_tensor *,
                              struct error *err);

/* The paths of the checkpoints that were added. */
const char *const *export_rows_checkpoints(const struct export_rows *, uint64_t *count);

/* Two new names of which one is the other and `suffix`; false: there are none. `t` and
 * `other` are name and longer name, in `arena`. */
enum status export_rows_find_pair(struct export_rows *, const char *suffix,
                                  struct arena *arena, const char **name,
                                  const char **longer, struct error *err);

/* A statement that lists the placed tensors for people; NULL without memory. */
sqlite3_stmt *export_rows_listing(struct export_rows *);

enum export_order {
    EXPORT_BY_SELECTION,
    EXPORT_BY_NAME,
    EXPORT_BY_DTYPE, /* as export_rows_rank() says, then by name */
    /* Of placed ones: */
    EXPORT_BY_PLACE,
    EXPORT_PLACED_BY_NAME,
    EXPORT_PLACED_BY_SOURCE,
};

/* How EXPORT_BY_DTYPE orders; NULL: all the same. */
enum status export_rows_rank(struct export_rows *, unsigned (*rank)(const struct dtype *),
                             struct error *err);

/* Rows first ... last of their numbers. */
struct export_span {
    uint64_t first, last;
};
#define EXPORT_ALL ((struct export_span){0, UINT64_MAX})

struct export_scan;
enum status export_scan_open(struct export_rows *, enum export_order, struct export_span,
                             struct export_scan **out, struct error *err);
/* *t is valid until the next call; NULL at the end. */
enum status export_scan_next(struct export_scan *, struct export_tensor **t,
                             struct error *err);
void export_scan_close(struct export_scan *);

#endif

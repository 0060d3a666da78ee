/*
 * overlay.h - views and tables of a connection's own, which are before those of a file that it only
 * reads.
 *
 *   - The file is of an older program: it lacks tables, and its views are not ours.
 *   - What is computed cannot be kept in it: then the results are here, while they are needed.
 */
#ifndef CKPTDB_DB_OVERLAY_H
#define CKPTDB_DB_OVERLAY_H

#include <stddef.h>

#include "catalog/db/db.h"

/* Whether tensor names are in a table of their own, as they were before version 7. */
bool overlay_names_apart(sqlite3 *, struct error *err);
/* Names where SQL of this version looks for them: views of the connection's own, where its database is a
 * catalog from before then; and layout_blocks, empty, before version 8. The rest is as in the file. */
enum status overlay_names(sqlite3 *, struct error *err);
/* Of a catalog of an older version. */
enum status overlay_old(sqlite3 *, struct error *err);

enum overlay_results {
    OVERLAY_HASHES,
    OVERLAY_DAMAGE,
    OVERLAY_STATISTICS,
};

/* Whether the file cannot be written. */
bool overlay_wanted(sqlite3 *);

/* From now on results of a kind are this connection's own: at first those that the catalog has of
 * `count` checkpoints (NULL: of all). Of others there seem to be none. Until the end; a second one ends
 * the first. */
enum status overlay_begin(sqlite3 *, enum overlay_results, const int64_t *checkpoints,
                          size_t count, struct error *err);

/* All that is temporary and was made since the beginning is dropped. Nothing was begun: nothing to do. */
enum status overlay_end(sqlite3 *, struct error *err);

#endif

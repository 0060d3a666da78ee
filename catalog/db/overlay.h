/*
 * overlay.h - temporary views and tables of a connection, which hide those of a file that it only
 * reads:
 *
 * - If an older version made the file, it lacks tables, and its views are not ours. - If the file
 * cannot be written, results are kept in temporary tables while they are needed.
 */
#ifndef CKPTDB_DB_OVERLAY_H
#define CKPTDB_DB_OVERLAY_H

#include <stddef.h>

#include "catalog/db/statement.h"

/* Whether tensor names are in a table of their own, as before version 7. */
bool overlay_names_apart(sqlite3 *, struct error *err);
/* In a catalog from before version 7, have names where SQL of this version looks for them:
 * temporary views; and before version 8, an empty layout_blocks. All else is left as it is in the
 * file. */
enum status overlay_names(sqlite3 *, struct error *err);
/* Create what a catalog of an older version lacks. */
enum status overlay_old(sqlite3 *, struct error *err);

enum overlay_results {
    OVERLAY_HASHES,
    OVERLAY_DAMAGE,
    OVERLAY_STATISTICS,
};

/* Whether the file is read-only. */
bool overlay_wanted(sqlite3 *);

/* From now on results of a kind go into temporary tables, which begin as copies of the catalog's
 * results for `count` checkpoints (NULL: for all). Others seem to have none. overlay_end(), or a
 * second overlay_begin(), ends it. */
enum status overlay_begin(sqlite3 *, enum overlay_results, const int64_t *checkpoints,
                          size_t count, struct error *err);

/* Drop everything temporary that was made since overlay_begin(), if there was one. */
enum status overlay_end(sqlite3 *, struct error *err);

#endif

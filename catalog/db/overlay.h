/*
 * overlay.h - if a catalog cannot be written, results are kept in temporary tables while they are
 * needed. These hide the file's tables; temporary views read them.
 */
#pragma once

#include <stddef.h>

#include "catalog/db/statement.h"

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
enum status overlay_begin(sqlite3 *, enum overlay_results, const int64_t *checkpoints, size_t count,
                          struct error *err);

/* Drop everything temporary that was made since overlay_begin(), if there was one. */
enum status overlay_end(sqlite3 *, struct error *err);

/*
 * folds.h - folded modules of layouts that an older version indexed (at import,
 * importer/job/folds.c makes them).
 */
#ifndef CKPTDB_DB_FOLDS_H
#define CKPTDB_DB_FOLDS_H

#include "catalog/base/error.h"
#include "catalog/db/sqlite.h"

/* Fill the table layout_folds for all layouts that have modules but no rows there, in the
 * caller's transaction. */
enum status folds_renew(sqlite3 *, struct error *err);

#endif

/*
 * blocks_renew.h - digests of the blocks of layouts that an older version indexed (at import,
 * importer/job/layout.c makes them).
 */
#ifndef CKPTDB_DB_BLOCKS_RENEW_H
#define CKPTDB_DB_BLOCKS_RENEW_H

#include "catalog/base/error.h"
#include "catalog/db/sqlite.h"

/* Fill the table layout_blocks for the layouts that should have a row there, in the caller's
 * transaction. */
enum status blocks_renew(sqlite3 *, struct error *err);

#endif

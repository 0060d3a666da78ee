/*
 * ahead.h - the disk writes what a long statement has put into the catalog's file while the statement
 * goes on, so that the commit, which waits for the disk, has little left to wait for.
 *
 *   struct ahead *a = ahead_start(db);
 *   ... CREATE INDEX ...
 *   ahead_end(a, err);
 */
#ifndef CKPTDB_AHEAD_H
#define CKPTDB_AHEAD_H

#include "catalog/base/error.h"
#include "catalog/db/sqlite.h"

struct ahead;

/* NULL where it is not worth a thread (a small file, one that is only in memory), or there is none. */
struct ahead *ahead_start(sqlite3 *);

/* Stop, and wait for what has been begun. ERR_IO: the disk could not be written; the system says so once
 * only, so the caller must not commit. Takes NULL. */
enum status ahead_end(struct ahead *, struct error *err);

#endif

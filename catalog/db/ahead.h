/*
 * ahead.h - lets the disk write the pages of a long statement, or of many transactions, while they go on, so that the
 * commit, or the checkpoint, which waits for the disk, has little left to wait for.
 *
 *   struct ahead *a = ahead_start(db, false);
 *   ... CREATE INDEX ...
 *   ahead_end(a, err);
 */
#pragma once

#include "catalog/base/error.h"
#include "catalog/db/sqlite.h"

struct ahead;

/* `wal`: of the WAL, which must be open; else of the catalog itself. NULL if it is not worth a thread (a small file, or
 * none), or none can be had. */
struct ahead *ahead_start(sqlite3 *, bool wal);

/* Stop, and wait for what was begun. ERR_IO: the disk could not be written. The system reports
 * that only once, so the caller must not commit. Takes NULL. */
enum status ahead_end(struct ahead *, struct error *err);

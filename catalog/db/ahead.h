/*
 * ahead.h - lets the disk write the pages of a long statement while the statement goes on, so
 * that the commit, which waits for the disk, has little left to wait for.
 *
 *   struct ahead *a = ahead_start(db);
 *   ... CREATE INDEX ...
 *   ahead_end(a, err);
 */
#pragma once

#include "catalog/base/error.h"
#include "catalog/db/sqlite.h"

struct ahead;

/* NULL if it is not worth a thread (a small file, or none), or none can be had. */
struct ahead *ahead_start(sqlite3 *);

/* Stop, and wait for what was begun. ERR_IO: the disk could not be written. The system reports
 * that only once, so the caller must not commit. Takes NULL. */
enum status ahead_end(struct ahead *, struct error *err);

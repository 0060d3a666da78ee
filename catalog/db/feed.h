/*
 * feed.h - rows in memory as a table that SQL can select from: the quickest way into SQLite
 * ("INSERT INTO t SELECT ... FROM ckptdb_feed" costs half of binding row by row).
 */
#ifndef CKPTDB_FEED_H
#define CKPTDB_FEED_H

#include <stdint.h>

#include "catalog/db/sqlite.h"

#define FEED_COLUMNS 14 /* c0 .. c13 */

struct feed {
    uint64_t count; /* number of rows; the first one is row `from` of `rows` */
    /* Put the value of one column into the context (sqlite3_result_*). */
    void (*column)(const struct feed *, uint64_t row, int column, sqlite3_context *);
    const void *rows;
    int64_t base; /* first id, for the column function */
    uint64_t from;
};

/* Register ckptdb_feed on a connection; it shows whatever *feed holds while it is read. Returns
 * an SQLite code. */
int feed_register(sqlite3 *, const struct feed *feed);

#endif

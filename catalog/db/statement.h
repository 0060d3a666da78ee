/*
 * statement.h - SQLite's statements, with our errors: for the catalog and everything built on it.
 */
#pragma once

#include <stdarg.h>
#include <stdbool.h>

#include "catalog/base/bits.h"
#include "catalog/base/error.h"
#include "catalog/data/store/source.h"
#include "catalog/db/sqlite.h"

/* What ERR_BUSY says. */
#define DB_BEING_WRITTEN "another program is writing the catalog; try again later"

/* What most queries do, for errors. */
#define DB_READING "cannot read the catalog"

/* Advice for a catalog that can no longer be used. */
#define DB_IMPORT_ANEW                                                                             \
    "import the same paths into a new one (ckptdb -d NEW import PATH...); FILES in "               \
    "`man ckptdb` says how maps of your own come along"

/* With the page that page_sums_damaged() has. */
#define PAGE_DAMAGED "the catalog is damaged: page %u is not what was written; " DB_IMPORT_ANEW

/* Set *err from the connection's last error; `doing` may be NULL. Where storage contradicts itself, as
 * after another program has changed it, it says so in place of a constraint's text. */
enum status db_error(sqlite3 *, const char *doing, struct error *err);
enum status db_exec(sqlite3 *, const char *sql, struct error *err);
/* Prepare, bind, run and forget a statement, unless *err is set already; `doing` as for db_error(). */
enum status db_run(sqlite3 *, struct error *err, const char *doing, const char *sql,
                   const char *types, ...);
/* Bind the values of a statement that is used again, whose memory must stay until it was run. Returns
 * an SQLite code. */
int db_vbind(sqlite3_stmt *, const char *types, va_list);
int db_bind(sqlite3_stmt *, const char *types, ...);
/* Run a statement, ignore its rows, and reset it; `doing` as for db_error(). */
enum status db_step(sqlite3 *, sqlite3_stmt *, const char *doing, struct error *err);
/* Step to the next row. False: at the end, or *err says why it failed (also before); check which. */
bool db_row(sqlite3_stmt *, const char *doing, struct error *err);

/* A column's text; NULL if it is SQL's NULL. */
static inline const char *db_text(sqlite3_stmt *s, int column)
{
    return (const char *)sqlite3_column_text(s, column);
}

/* Prepare and bind values. Their `types`: 's' const char *, 't' struct bytes (a text), 'i' int64_t,
 * 'p' const int64_t *, 'd' double (NaN is SQL's NULL), 'v' const sqlite3_value *, 'b' struct bytes (a
 * blob), 'f' const struct file_identity * (four values, as db_identity() reads them); NULL is SQL's NULL. NULL with *err set if that fails, or was set before.
 * db_query_to() takes what the query is for, as db_error() does. */
sqlite3_stmt *db_query(sqlite3 *, struct error *err, const char *sql, const char *types, ...);
sqlite3_stmt *db_query_to(sqlite3 *, struct error *err, const char *doing, const char *sql,
                          const char *types, ...);

/* The first column of a query's first row; 0 where that is NULL or there is no row. `name` is ?1
 * (NO_NAME: the query has none); `doing` as for db_error(). */
#define NO_NAME ((struct bytes){0})
enum status db_number(sqlite3 *, const char *sql, struct bytes name, const char *doing,
                      sqlite3_int64 *out, struct error *err);

/* The pages in SQLite's cache; negative: KiB. */
enum status db_size_cache(sqlite3 *, sqlite3_int64 size, struct error *err);

/* Four columns from `at` on: size, mtime_ns, inode and device of a row of `_files` or `_passed`. */
struct file_identity db_identity(sqlite3_stmt *, int at);

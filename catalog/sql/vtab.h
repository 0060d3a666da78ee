/*
 * vtab.h - what the virtual tables of this folder do alike: they come into being, fail, and keep a
 * prepared statement for the next cursor. Functions return SQLite codes.
 */
#ifndef CKPTDB_SQL_VTAB_H
#define CKPTDB_SQL_VTAB_H

#include <stdlib.h>

#include "catalog/base/error.h"
#include "catalog/db/sqlite.h"

/* Make a table of `size` bytes that are 0, whose first member is its sqlite3_vtab, and declare it.
 * `trust` is SQLITE_VTAB_INNOCUOUS, or SQLITE_VTAB_DIRECTONLY for one that reads files. free() it. */
int vtab_new(sqlite3 *, const char *declaration, int trust, size_t size, sqlite3_vtab **out);
/* The xDisconnect of a table that is nothing but these bytes. */
int vtab_free(sqlite3_vtab *);
/* The same for a cursor, in xOpen. */
int vtab_new_cursor(size_t size, sqlite3_vtab_cursor **out);

/* Make a text, or nothing, the reason why a statement fails. The first returns SQLITE_ERROR. */
int vtab_refuse(sqlite3_vtab *, const char *format, ...) __attribute__((format(printf, 2, 3)));
void vtab_clear(sqlite3_vtab *);
/* An inner statement returned a code: that of a failure gets the connection's reason. */
int vtab_failed(sqlite3_vtab *, sqlite3 *, int rc);
/* The code of an error, which becomes the reason. */
int vtab_error(sqlite3_vtab *, const struct error *);

/* Prepare a statement that is kept, if it is not there yet. */
int vtab_once(sqlite3 *, sqlite3_stmt **, const char *sql);
/* Prepare a text, or take the statement `*idle` if it is of the same text. */
int vtab_take(sqlite3 *, sqlite3_stmt **idle, const char *sql, sqlite3_stmt **out);
/* Make what a cursor took the idle one; NULL: it took none. */
void vtab_give_back(sqlite3_stmt **idle, sqlite3_stmt **taken);

#endif

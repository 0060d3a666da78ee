/*
 * vtab.h - common code of this folder's virtual tables: they are created, get arguments,
 * count rows, fail, and keep a prepared statement for the next cursor. Functions return SQLite codes.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "catalog/base/error.h"
#include "catalog/db/sqlite.h"

/* The head of a table whose cursors are `cursor` zeroed bytes. `empty` releases what a cursor
 * holds before its bytes are freed. */
struct vtab {
    sqlite3_vtab base; /* first */
    sqlite3 *db;
    void *of;
    size_t cursor;
    void (*empty)(sqlite3_vtab_cursor *);
};
/* Make such a table; `of` is what its functions are registered with. */
int vtab_make(const struct vtab *, const char *declaration, int trust, sqlite3_vtab **out);
/* The xOpen and xClose of tables that begin with a struct vtab. */
int vtab_open(sqlite3_vtab *, sqlite3_vtab_cursor **out);
int vtab_close(sqlite3_vtab_cursor *);

/* The head of a cursor that counts its rows; its xNext, xEof and xRowid. */
struct vtab_cursor {
    sqlite3_vtab_cursor base; /* first */
    uint64_t at, end;
    uint64_t key; /* of the arguments (rowid.h): calls with others have other rows */
};
int vtab_next(sqlite3_vtab_cursor *);
int vtab_eof(sqlite3_vtab_cursor *);
int vtab_rowid(sqlite3_vtab_cursor *, sqlite3_int64 *id);
/* These and the above, for the sqlite3_module of a table that vtab_make() makes, with such cursors. */
#define VTAB_COUNTED                                                                               \
    .xDisconnect = vtab_free, .xOpen = vtab_open, .xClose = vtab_close, .xEof = vtab_eof,          \
    .xRowid = vtab_rowid

/* Make a table of `size` bytes that are 0, whose first member is its sqlite3_vtab, and declare it.
 * `trust` is SQLITE_VTAB_INNOCUOUS, or SQLITE_VTAB_DIRECTONLY for one that reads files. free() it. */
int vtab_new(sqlite3 *, const char *declaration, int trust, size_t size, sqlite3_vtab **out);
/* The xDisconnect of a table that is nothing but these bytes. */
int vtab_free(sqlite3_vtab *);

/* Make a text, or nothing, the reason why a statement fails. The first returns SQLITE_ERROR. */
int vtab_refuse(sqlite3_vtab *, const char *format, ...) __attribute__((format(printf, 2, 3)));
void vtab_clear(sqlite3_vtab *);
/* An inner statement returned a code: a failure gets the connection's reason. */
int vtab_failed(sqlite3_vtab *, sqlite3 *, int rc);
/* The code of an error, which becomes the reason. */
int vtab_error(sqlite3_vtab *, const struct error *);

/* Views call a table-valued function by its name with this suffix. Without the extension SQLite
 * then says "no such table: NAME (of ckptdb.so: load this extension first)". */
#define OF_EXTENSION " (of ckptdb.so: load this extension first)"
/* Register a table-valued function under its name, and under the name that views use. */
int sql_register_table(sqlite3 *, const char *name, const sqlite3_module *, void *aux);

/* For xBestIndex: the index of the equality constraint on a column (usually a hidden one, which
 * is an argument); -1 if absent. *unusable is set if there is one that this plan cannot use, and
 * left alone otherwise: xBestIndex then returns SQLITE_CONSTRAINT, for optional arguments as well,
 * since a call without the argument would be a different call. */
int sql_given(sqlite3_index_info *, int column, bool *unusable);
/* Choose between two constraints on the same argument (`before` may be -1): prefer a constant,
 * which depends on no other table. With the other one SQLite 3.40 misses plans, and may end up
 * with none. */
int sql_prefer(sqlite3_index_info *, int before, int after);
/* Pass the values of `count` columns from `first` on, which are given by equality, to xFilter: idxNum is
 * their set. SQLite does not compare them again. */
void sql_pass(sqlite3_index_info *, int first, int count, bool *unusable);

/* The xUpdate of tables that lie in the catalog: refuses, and says what to do instead. */
int sql_refuse_change(sqlite3_vtab *, int argc, sqlite3_value **argv, sqlite3_int64 *id);

/* Prepare a statement that is kept, if it is not there yet, and bind values as db_bind() does. */
int vtab_once(sqlite3 *, sqlite3_stmt **, const char *sql, const char *types, ...);
/* Prepare a text, or take the statement `*idle` if it is of the same text. */
int vtab_take(sqlite3 *, sqlite3_stmt **idle, const char *sql, sqlite3_stmt **out);
/* Make the statement that a cursor took the idle one; NULL: it took none. */
void vtab_give_back(sqlite3_stmt **idle, sqlite3_stmt **taken);

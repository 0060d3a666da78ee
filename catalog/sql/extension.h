/*
 * extension.h - registers all SQL functions and table-valued functions, from one list.
 *
 * Each file of catalog/sql/ exports `int sql_register_NAME(sqlite3 *)`, which returns an
 * SQLite code, and has a line in modules.def. If its functions open checkpoint files, they are
 * registered SQLITE_DIRECTONLY, and the line is SQL_READS(NAME).
 */
#ifndef CKPTDB_EXTENSION_H
#define CKPTDB_EXTENSION_H

#include <stdbool.h>

#include "catalog/base/error.h"
#include "catalog/db/sqlite.h"

/* Safe anywhere, even in a view of an untrusted database. */
#define SQL_FLAGS_PURE (SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS)
/* Reads files: allowed only in top-level SQL, never in a view or a trigger. */
#define SQL_FLAGS_READS (SQLITE_UTF8 | SQLITE_DIRECTONLY)

/* Register functions without state whose result depends on their arguments only
 * (SQL_FLAGS_PURE). The list ends with a NULL name. */
struct sql_function {
    const char *name;
    int arguments;
    void (*run)(sqlite3_context *, int, sqlite3_value **);
};
int sql_register_pure(sqlite3 *, const struct sql_function *);

/* Make a value of a statement the result. sqlite3_result_value() would allocate memory for each row,
 * while a text reuses its buffer; and with -1 for its length SQLite need not copy it again to append
 * a NUL. */
void sql_result_copy(sqlite3_context *, sqlite3_value *);

/* Views call a table-valued function by its name with this suffix. Without the extension SQLite
 * then says "no such table: NAME (of ckptdb.so: load this extension first)". */
#define OF_EXTENSION " (of ckptdb.so: load this extension first)"
/* Register a table-valued function under its name, and under the name that views use. */
int sql_register_table(sqlite3 *, const char *name, const sqlite3_module *, void *aux);

/* For xBestIndex: the index of the equality constraint on a column (usually a hidden one, which
 * is an argument); -1: there is none. *unusable is set if there is one that this plan cannot
 * use, and left alone otherwise: xBestIndex then returns SQLITE_CONSTRAINT, for optional
 * arguments as well, since a call without the argument would be a different call. */
int sql_given(sqlite3_index_info *, int column, bool *unusable);
/* Choose between two constraints on the same argument (`before` may be -1): prefer a constant,
 * which depends on no other table. With the other one SQLite 3.40 misses plans, and may end up
 * with none. */
int sql_prefer(sqlite3_index_info *, int before, int after);

/* Put the tables that this program makes of public views in front of these, as temporary ones; in
 * other databases than catalogs it does nothing. */
enum status sql_cover_views(sqlite3 *, struct error *err);
/* A copy of an argument that means a checkpoint: of a text, the id of what commands take it for
 * (catalog/db/find.h), else of the value. Returns an SQLite code; with SQLITE_ERROR *message is set, to be
 * freed with sqlite3_free(). */
int sql_checkpoint(sqlite3 *, sqlite3_value *given, sqlite3_value **out, char **message);

/* The xUpdate of these tables: refuses, and says what to do instead. */
int sql_refuse_change(sqlite3_vtab *, int argc, sqlite3_value **argv, sqlite3_int64 *id);

/* Register everything; without `reads`, only what opens no files. Returns an SQLite code. */
int sql_register_all(sqlite3 *, bool reads);

#define SQL_PURE(x)  int sql_register_##x(sqlite3 *);
#define SQL_READS(x) int sql_register_##x(sqlite3 *);
#include "catalog/sql/modules.def"
#undef SQL_PURE
#undef SQL_READS

#endif

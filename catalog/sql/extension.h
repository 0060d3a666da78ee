/*
 * extension.h - all SQL functions and table-valued functions, from one list.
 *
 * Each file of catalog/sql/ exports `int sql_register_NAME(sqlite3 *)`, which returns an
 * SQLite code, and has a line in modules.def. A file whose functions open checkpoint files
 * registers them SQLITE_DIRECTONLY and is there as SQL_READS.
 */
#ifndef CKPTDB_SQL_EXTENSION_H
#define CKPTDB_SQL_EXTENSION_H

#include <stdbool.h>

#include "catalog/db/sqlite.h"

/* Safe anywhere, even in a view of a database from a stranger. */
#define SQL_FLAGS_PURE (SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS)
/* Reads files: only in SQL a person typed, never from a view or a trigger. */
#define SQL_FLAGS_READS (SQLITE_UTF8 | SQLITE_DIRECTONLY)

/* Functions that hold nothing and depend on their arguments alone, as SQL_FLAGS_PURE; a list ends
 * in a NULL name. */
struct sql_function {
    const char *name;
    int arguments;
    void (*run)(sqlite3_context *, int, sqlite3_value **);
};
int sql_register_pure(sqlite3 *, const struct sql_function *);

/* What follows the name of a table-valued function in our views: where the extension is not
 * loaded, SQLite says that there is no such table, and so what to do about it. */
#define OF_EXTENSION " (of ckptdb.so: load this extension first)"
/* Register a table-valued function under its name, and as views call it. */
int sql_register_table(sqlite3 *, const char *name, const sqlite3_module *, void *aux);

/* The constraint that gives a column (mostly a hidden one: an argument) its value; -1: none.
 * *unusable is set, and else left alone: none does, but one in another plan, for which xBestIndex
 * answers SQLITE_CONSTRAINT. An argument left out is another call, so that holds of those that may be
 * left out, too. */
int sql_given(sqlite3_index_info *, int column, bool *unusable);
/* Of two constraints that give the same (`before` -1: there is one), the one that waits for no other
 * table: with the other SQLite (3.40) overlooks plans, to the last. */
int sql_prefer(sqlite3_index_info *, int before, int after);

/* Register everything, or (reads false) all that opens no file. An SQLite code. */
int sql_register_all(sqlite3 *, bool reads);

#define SQL_PURE(x)  int sql_register_##x(sqlite3 *);
#define SQL_READS(x) int sql_register_##x(sqlite3 *);
#include "catalog/sql/modules.def"
#undef SQL_PURE
#undef SQL_READS

#endif

/*
 * function.h - common code of this folder's SQL functions: they are registered from tables, share
 * data, and give texts and errors.
 */
#pragma once

#include "catalog/base/error.h"
#include "catalog/base/text.h"
#include "catalog/db/sqlite.h"

/* Safe anywhere, even in a view of an untrusted database. */
#define SQL_FLAGS_PURE (SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS)
/* The same, but the result depends on the catalog as well. */
#define SQL_FLAGS_LOOKS (SQLITE_UTF8 | SQLITE_INNOCUOUS)
/* Reads files: allowed only in top-level SQL, never in a view or a trigger. */
#define SQL_FLAGS_READS (SQLITE_UTF8 | SQLITE_DIRECTONLY)

/* Data of several functions or tables of a connection: the first member of a struct in malloc'ed
 * memory, which goes with the last holder. */
struct sql_shared {
    unsigned holders;
    void (*release)(void *shared); /* called by the last one */
};
/* Add a holder; returns the data. sql_drop() removes one, and is the destructor to register. */
void *sql_hold(struct sql_shared *);
void sql_drop(void *shared);

/* Register functions, each with a number of arguments. The list ends with a NULL name. `shared`, which
 * is released if nothing holds it in the end, is the user data of each; NULL: they have none. */
struct sql_function {
    const char *name;
    int arguments;
    void (*run)(sqlite3_context *, int, sqlite3_value **);
};
int sql_register(sqlite3 *, const struct sql_function *, int flags, struct sql_shared *shared);
/* The same for functions without data whose result depends on their arguments only. */
int sql_register_pure(sqlite3 *, const struct sql_function *);

/* Make a value of a statement the result. sqlite3_result_value() would allocate memory for each row,
 * while a text reuses its buffer; and with -1 for its length SQLite need not copy it again to append
 * a NUL. */
void sql_result_copy(sqlite3_context *, sqlite3_value *);
/* Make a text the result, or that it failed, and release it. */
void sql_result_text(sqlite3_context *, struct text *);
/* Make a string the result; NULL: leave it NULL. */
void sql_result_string(sqlite3_context *, const char *);
/* Make an error the result, in its own words or in others. */
void sql_result_error(sqlite3_context *, const struct error *);
void sql_result_refuse(sqlite3_context *, const char *format, ...) PRINTF_LIKE(2, 3);

/* A copy of an argument that means a checkpoint: for a text, the id of the checkpoint that commands take it for
 * (catalog/db/find.h), else of the value. Returns an SQLite code; with SQLITE_ERROR *message is set, to be
 * freed with sqlite3_free(). */
int sql_checkpoint(sqlite3 *, sqlite3_value *given, sqlite3_value **out, char **message);

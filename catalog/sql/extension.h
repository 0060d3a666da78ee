/*
 * extension.h - registers all SQL functions and table-valued functions, from one list.
 *
 * Each file of catalog/sql/ exports `int sql_register_NAME(sqlite3 *)`, which returns an
 * SQLite code, and has a line in modules.def, which also says how it is called and when.
 */
#pragma once

#include <stdbool.h>

#include "catalog/sql/function.h"
#include "catalog/sql/vtab.h"

/* Put the tables that this program makes of public views in front of these, as temporary ones, and
 * refuse rule sets of unknown dialects; in other databases than catalogs it does nothing. */
enum status sql_cover_views(sqlite3 *, struct error *err);

/* Register everything; without `reads`, only what opens no files. Returns an SQLite code. */
int sql_register_all(sqlite3 *, bool reads);

struct keeper;
#define SQL_PURE(x)  int sql_register_##x(sqlite3 *);
#define SQL_LOOKS(x) int sql_register_##x(sqlite3 *, struct keeper *);
#define SQL_READS(x) SQL_LOOKS(x)
#include "catalog/sql/modules.def"
#undef SQL_PURE
#undef SQL_LOOKS
#undef SQL_READS

/*
 * alike.h - which layouts of an older catalog have the same names, dtypes and shapes (schema/09_alike.sql).
 */
#ifndef CKPTDB_ALIKE_H
#define CKPTDB_ALIKE_H

#include "catalog/base/error.h"
#include "catalog/db/sqlite.h"

/* Compute for every layout what an import stores with a new one (importer/job/layout.c). */
enum status alike_fill(sqlite3 *, struct error *err);

#endif

/*
 * alike.h - which layouts have the same names, dtypes and shapes (schema/09_alike.sql).
 */
#pragma once

#include "catalog/base/error.h"
#include "catalog/db/sqlite.h"

/* Find which layouts of this sum are alike: compute the digests that are missing. */
void alike_settle(sqlite3 *, int64_t sum, struct error *err);

/* Compute for every layout what an import stores with a new one. */
enum status alike_fill(sqlite3 *, struct error *err);

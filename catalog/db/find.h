/*
 * find.h - the checkpoint that a user means: for commands, for the library and for SQL functions.
 */
#pragma once

#include "catalog/base/text.h"
#include "catalog/db/sqlite.h"

#define FIND_CANDIDATES 10 /* of an ambiguous name, that a message lists */

/* As ckptdb_find() (catalog/ckptdb.h). */
enum status find_checkpoint(sqlite3 *, const char *name, int64_t *ids, size_t room, size_t *count,
                            struct error *err);

/* The same where exactly one is wanted: *why says in one line what is wrong, with the
 * candidates or the nearest names. */
enum status find_one(sqlite3 *, const char *name, int64_t *id, struct text *why, struct error *err);

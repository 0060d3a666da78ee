/*
 * map_load.h - what a dialect settles (catalog/map/dialect.h), out of the catalog: a rule set, the
 * leaves of checkpoints and the rules that match their names.
 */
#ifndef CKPTDB_SQL_MAP_LOAD_H
#define CKPTDB_SQL_MAP_LOAD_H

#include "catalog/db/sqlite.h"
#include "catalog/map/dialect.h"

/* All of these return an SQLite code; after one that is not SQLITE_OK the connection says why. */

/* The set's dialect (NULL: there is no such set, or the program does not know it), its options
 * and its rules, into the task. */
int map_load_set(sqlite3 *, const char *ruleset, struct map_task *,
                 const struct dialect **);

/* The leaves of a checkpoint, as the dialect has them. */
int map_load_tree(sqlite3 *, const struct dialect *, sqlite3_int64 checkpoint,
                  struct map_task *, struct map_tree *);

/* The leaves of a checkpoint and what the rules make of their names. */
int map_load_matched(sqlite3 *, const struct dialect *, const char *ruleset,
                     sqlite3_int64 checkpoint, struct map_task *, struct map_tree *);

#endif

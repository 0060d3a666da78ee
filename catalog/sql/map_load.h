/*
 * map_load.h - what a dialect settles (catalog/map/dialect.h), out of the catalog: a rule set, the
 * leaves of checkpoints and the rules that match their names.
 */
#ifndef CKPTDB_SQL_MAP_LOAD_H
#define CKPTDB_SQL_MAP_LOAD_H

#include "catalog/db/sqlite.h"
#include "catalog/map/dialect.h"

/* The statements of a connection that load, prepared when first used. Release before it closes. */
enum map_statement {
    MAP_SELECT_SET,
    MAP_SELECT_RULES,
    MAP_SELECT_SOURCE,
    MAP_SELECT_SOURCES,
    MAP_SELECT_BOUND,
    MAP_SELECT_TREE,
    MAP_SELECT_MATCHED,
    MAP_STATEMENTS
};

struct map_statements {
    sqlite3 *db;
    sqlite3_stmt *at[MAP_STATEMENTS];
};

void map_statements_release(struct map_statements *);

/* What of the leaves and their matches is wanted: the rest is left out, and costs nothing. */
enum {
    MAP_WANTS_NAMES = 1, /* of the leaves */
    MAP_WANTS_TYPES = 2, /* their dtypes, shapes */
    MAP_WANTS_RULE =
        4,             /* which it is, and what becomes of leaves that it gives no name */
    MAP_WANTS_OPS = 8, /* what rules do besides, casts too */
    MAP_WANTS_KIND = 16, /* of the leaves; else all are taken for tensors */
    MAP_WANTS_ALL = 31
};

/* All of these return an SQLite code; after one that is not SQLITE_OK the connection says why. */

/* The set's dialect (NULL: there is no such set, or the program does not know it), its options
 * and its rules, into the task. */
int map_load_set(struct map_statements *, const char *ruleset, struct map_task *,
                 const struct dialect **);

struct map_source {
    sqlite3_int64 id, layout;
};

/* The checkpoint `id`, if there is one; NULL: all, those of one layout side by side. free() it. */
int map_load_sources(struct map_statements *, sqlite3_value *id, struct map_source **,
                     size_t *count);

/* The set with what it takes from the checkpoint's metadata (catalog/map/setting.h), as a text that
 * stands for its name; in the arena of the task. */
int map_load_bound(struct map_statements *, const char *ruleset, sqlite3_int64 checkpoint,
                   struct map_task *, const char **out);

/* The leaves of a checkpoint, as the dialect has them. */
int map_load_tree(struct map_statements *, const struct dialect *,
                  sqlite3_int64 checkpoint, struct map_task *, struct map_tree *);

/* The leaves of a checkpoint and what the rules make of their names. */
int map_load_matched(struct map_statements *, const struct dialect *, const char *ruleset,
                     sqlite3_int64 checkpoint, struct map_task *, struct map_tree *);

/* What is wanted without what no rule gives: of rules that only rename nobody need ask what else they
 * do. */
unsigned map_needed(const struct map_task *, unsigned wants);

/* The same little by little, in no order: begin, next (SQLITE_ROW: there may be more; SQLITE_DONE)
 * and, in any case, end. `ruleset` must live until then. */
int map_stream_begin(struct map_statements *, const struct dialect *, const char *ruleset,
                     sqlite3_int64 checkpoint, unsigned wants, sqlite3_stmt **out);
int map_stream_next(sqlite3_stmt *, size_t most, unsigned wants, struct map_task *,
                    struct map_tree *);
void map_stream_end(struct map_statements *, sqlite3_stmt *);

#endif

/*
 * map_load.h - what a dialect settles (catalog/map/dialect.h), out of the catalog: a rule set, the
 * leaves of checkpoints and what the rules make of their names.
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
    MAP_SELECT_NAMES,
    MAP_SELECT_LEAVES,
    MAP_STATEMENTS
};

struct map_statements {
    sqlite3 *db;
    sqlite3_stmt *at[MAP_STATEMENTS];
};

void map_statements_release(struct map_statements *);

/* Which parts of leaves and matches are needed: the rest is left out, and costs nothing. */
enum {
    MAP_WANTS_NAMES = 1, /* of the leaves */
    MAP_WANTS_VALUES =
        2, /* their kinds, dtypes and shapes; else all are taken for tensors */
    MAP_WANTS_OPS = 4, /* what rules do besides, casts too */
    MAP_WANTS_ALL = 7
};

/* All of these return an SQLite code; after one that is not SQLITE_OK the connection says why. */

/* The set's dialect (NULL: there is no such set, or the program does not know it), its options
 * and its rules, into the task. */
int map_load_set(struct map_statements *, const char *ruleset, struct map_task *,
                 const struct dialect **);

struct map_source {
    sqlite3_int64 id, layout, meta; /* meta 0: it states nothing of itself */
    sqlite3_int64 tensors;
};

/* The checkpoint `id`, if there is one; NULL: all, those of one layout side by side. free() it. */
int map_load_sources(struct map_statements *, sqlite3_value *id, struct map_source **,
                     size_t *count);

/* The set with what it takes from the checkpoint's metadata (catalog/map/setting.h), as a text that
 * stands for its name; free() it. */
int map_load_bound(struct map_statements *, const char *ruleset, sqlite3_int64 checkpoint,
                   char **out);

/* How the leaves of a checkpoint are read. */
struct map_reading {
    const struct dialect *dialect;
    struct rules *rules; /* that are tried on their names; NULL: none */
    unsigned wants;
    sqlite3_stmt *leaves; /* between begin and end */
};

/* Little by little: begin, next (SQLITE_ROW: there may be more; SQLITE_DONE) and, in any case,
 * end. Each piece is in the order of `place`. */
int map_read_begin(struct map_statements *, sqlite3_int64 checkpoint,
                   struct map_reading *);
int map_read_next(struct map_reading *, size_t most, struct map_task *,
                  struct map_tree *);
void map_read_end(struct map_statements *, struct map_reading *);

/* All of them; `rules` may be NULL. Without rules also containers, if the dialect uses them. */
int map_load_leaves(struct map_statements *, const struct dialect *, struct rules *,
                    sqlite3_int64 checkpoint, struct map_task *, struct map_tree *);
/* The same without a dialect: with containers, and not matched. */
int map_load_tree(struct map_statements *, sqlite3_int64 checkpoint, struct map_task *,
                  struct map_tree *);
/* Match the names of a tree that others use, too: its leaves are copied into the arena of the task, and
 * only their texts shared. False: no memory. */
bool map_match_leaves(const struct dialect *, struct rules *, struct map_task *,
                      struct map_tree *);

#endif

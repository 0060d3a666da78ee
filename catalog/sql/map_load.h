/*
 * map_load.h - reads the input of a dialect (catalog/maps/map/dialect.h) from the catalog: a rule set,
 * the leaves of checkpoints, and the rules that match their names.
 */
#pragma once

#include "catalog/db/sqlite.h"
#include "catalog/maps/map/dialect.h"

/* The statements that read, prepared when first used. Release them before the connection closes. */
enum map_statement {
    MAP_SELECT_SET,
    MAP_SELECT_RULES,
    MAP_SELECT_SOURCE,
    MAP_SELECT_SOURCES,
    MAP_SELECT_BOUND,
    MAP_SELECT_NAMES,
    MAP_SELECT_LEAVES,
    MAP_SELECT_TRANSLATED,
    MAP_STATEMENTS
};

struct map_statements {
    sqlite3 *db;
    sqlite3_stmt *at[MAP_STATEMENTS];
};

void map_statements_release(struct map_statements *);

/* Which parts of leaves and matches are needed; the others are not read. */
enum {
    MAP_WANTS_NAMES = 1,  /* of the leaves */
    MAP_WANTS_VALUES = 2, /* kinds, dtypes and shapes; without them every leaf counts as a tensor */
    MAP_WANTS_OPS = 4,    /* the casts and operations of rules */
    MAP_WANTS_ALL = 7
};

/* All of these return an SQLite code; if it is not SQLITE_OK, sqlite3_errmsg() says why. */

/* Read a set's options and rules into the task, and find its dialect. NULL: there is no such
 * set, or its dialect is unknown. */
int map_load_set(struct map_statements *, const char *ruleset, struct map_task *,
                 const struct dialect **);

struct map_source {
    sqlite3_int64 id, layout, meta; /* meta 0: it has no metadata */
    sqlite3_int64 tensors;
    bool nulls; /* it has null leaves */
};

/* The checkpoint `id`, if it exists; id NULL: all checkpoints, sorted by layout. free() the
 * list. */
int map_load_sources(struct map_statements *, sqlite3_value *id, struct map_source **,
                     size_t *count);

/* The set bound to its settings for the checkpoint (catalog/maps/map/setting.h), as a text that is
 * accepted in place of its name; free() it. */
int map_load_bound(struct map_statements *, const char *ruleset, sqlite3_int64 checkpoint,
                   char **out);

/* How the leaves of a checkpoint are read. */
struct map_reading {
    const struct dialect *dialect;
    struct rules *rules; /* to try on their names; NULL: none */
    unsigned wants;
    size_t expected;      /* leaves in one batch, about; 0: not known */
    sqlite3_stmt *leaves; /* set between map_read_begin() and map_read_end() */
};

/* Read in batches: begin, next until it returns something other than SQLITE_ROW (SQLITE_DONE:
 * that was the last batch), and in any case end. Each batch is sorted by `place`. */
int map_read_begin(struct map_statements *, sqlite3_int64 checkpoint, struct map_reading *);
int map_read_next(struct map_reading *, size_t most, struct map_task *, struct map_tree *);
void map_read_end(struct map_statements *, struct map_reading *);

/* Read all leaves; `rules` may be NULL. Only without rules, and if the dialect uses them, empty
 * containers are included. */
int map_load_leaves(struct map_statements *, const struct dialect *, struct rules *,
                    sqlite3_int64 checkpoint, struct map_task *, struct map_tree *);
/* Read all leaves and empty containers, without matching; there are about `expected`. */
int map_load_tree(struct map_statements *, sqlite3_int64 checkpoint, size_t expected,
                  struct map_task *, struct map_tree *);
/* Read the translation of a checkpoint as the rows of the task, in the file's order: each row
 * `ok`, `dropped`, `unmatched`, or `error` where the original raises something for it alone. */
int map_load_translated(struct map_statements *, const char *ruleset, sqlite3_int64 checkpoint,
                        struct map_task *);
/* Match the names of a shared tree as map_match_leaves() does, but copy only the first `most`
 * leaves that a rule matches. False: out of memory. */
bool map_match_some(const struct map_reading *, size_t most, struct map_task *,
                    const struct map_tree *, struct map_tree *out);
/* Match the names of a tree that is shared: its leaves are copied to the task's arena first,
 * their texts are not. False: out of memory. */
bool map_match_leaves(const struct dialect *, struct rules *, struct map_task *, struct map_tree *);

/*
 * map_cursor.h - the rows of the table-valued functions of maps (vt_map.c), one after the other: the
 * checkpoints that are asked for, what their map makes of them, and whose row is next.
 */
#ifndef CKPTDB_SQL_MAP_CURSOR_H
#define CKPTDB_SQL_MAP_CURSOR_H

#include "catalog/sql/map_counts.h"
#include "catalog/sql/map_trees.h"
#include "catalog/sql/rule_cache.h"

/* One list for all functions; some columns mean something in one of them alone. */
#define MAP_COLUMNS(X)                                                                   \
    X(SOURCE_ID, "source_id INTEGER")                                                    \
    X(CHECKPOINT_ID, "checkpoint_id INTEGER")                                            \
    X(ORD, "ord INTEGER")                                                                \
    X(PLACE, "place INTEGER")                                                            \
    X(NTH, "nth INTEGER")                                                                \
    X(IS_TENSOR, "is_tensor INTEGER")                                                    \
    X(NAME, "name TEXT")                                                                 \
    X(NEW_NAME, "new_name TEXT")                                                         \
    X(OLD_NAME, "old_name TEXT")                                                         \
    X(TENSOR_ID, "tensor_id INTEGER")                                                    \
    X(ORIGIN, "origin TEXT")                                                             \
    X(DTYPE, "dtype TEXT")                                                               \
    X(SHAPE, "shape TEXT")                                                               \
    X(PART, "part INTEGER")                                                              \
    X(PARTS, "parts INTEGER")                                                            \
    X(OPS, "ops TEXT")                                                                   \
    X(RECIPE, "recipe TEXT")                                                             \
    X(RULE, "rule INTEGER")                                                              \
    X(STATUS, "status TEXT")                                                             \
    X(ERROR, "error TEXT")                                                               \
    X(NOTE, "note TEXT")                                                                 \
    X(WINS, "wins INTEGER")                                                              \
    X(ROWS, "rows INTEGER")                                                              \
    X(RULESET, "ruleset HIDDEN")                                                         \
    X(SOURCE, "source HIDDEN")                                                           \
    X(TARGET, "target_id HIDDEN")                                                        \
    X(STRICT, "strict HIDDEN")

enum column {
#define X(column, declaration) COLUMN_##column,
    MAP_COLUMNS(X)
#undef X
};

/* What is given, in the order of the arguments; a bit of idxNum each. */
enum given {
    GIVEN_RULESET,
    GIVEN_SOURCE,
    GIVEN_TARGET,
    GIVEN_STRICT,
    GIVEN,
    /* One more bit: the rule set comes from rows of another table, so many may be asked for. */
    GIVEN_FROM_ROWS = GIVEN
};

/* A table-valued function. */
struct map_function {
    const char *name;
    enum map_view view;
    bool needs[GIVEN];
    bool counts; /* instead of rows */
};

struct map_table {
    sqlite3_vtab base; /* first */
    const struct map_function *function;
    struct rule_cache *rules;
    struct map_statements statements;
};

/* Checkpoints, those of one layout side by side. */
struct map_group {
    struct map_source *list;
    size_t count;
    size_t first, next; /* those of one layout: from first up to next */
    size_t at;          /* of them, whose row it is */
};

struct map_cursor {
    sqlite3_vtab_cursor base; /* first */
    const struct dialect *dialect;
    void (*settle)(struct map_task *);
    const char *fault;     /* of the set's options; NULL: none */
    uint64_t used;         /* columns, a bit each */
    bool by_leaf;          /* each leaf is settled by itself */
    struct map_task set;   /* without checkpoints */
    struct map_task given; /* the set and some targets, which all sources meet */
    struct map_task task;  /* and what comes of some sources */
    struct map_group source, target;
    struct rule_set *rules; /* as they are for the sources; NULL: they match no names */
    char *bound;            /* what these rules were found by */
    sqlite3_int64 meta;     /* of the sources that they were bound to */
    struct map_reading reading; /* has more leaves of the sources, if any */
    struct map_trees trees;     /* of this question and the ones before */
    unsigned questions;         /* of the statement: sets, checkpoints */
    bool many;                  /* questions are to be expected */
    size_t row;
    size_t before; /* rows of the sources that the stream gave and that are gone */
    struct map_counts counts; /* in place of rows: of the sources, from the beginning */
    /* For counts, of leaves that no rule matches: dialect->unmatched(). */
    const char *if_some, *if_all;
    sqlite3_value *argument[GIVEN];
};

static inline bool map_cursor_uses(const struct map_cursor *c, enum column column)
{
    return c->used >> column & 1;
}

/* xOpen, xClose, xFilter, xNext and xEof of the module. `used`: the columns in use, a bit each, in
 * hexadecimal; `set`: what is given (enum given), a bit each. */
int map_cursor_open(sqlite3_vtab *, sqlite3_vtab_cursor **out);
int map_cursor_close(sqlite3_vtab_cursor *);
int map_cursor_filter(sqlite3_vtab_cursor *, int set, const char *used, int argc,
                      sqlite3_value **argv);
int map_cursor_next(sqlite3_vtab_cursor *);
int map_cursor_eof(sqlite3_vtab_cursor *);

#endif

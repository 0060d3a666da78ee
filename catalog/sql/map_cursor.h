/*
 * map_cursor.h - the cursor of the table-valued functions of maps (vt_map.c): goes through the
 * requested checkpoints, settles their maps, and returns the rows one after the other.
 */
#pragma once

#include "catalog/sql/map_counts.h"
#include "catalog/sql/map_trees.h"
#include "catalog/sql/rule_cache.h"
#include "catalog/sql/vtab.h"

/* One list for all functions; some columns are used by one function only. */
#define MAP_COLUMNS(X)                                                                             \
    X(SOURCE_ID, "source_id INTEGER")                                                              \
    X(CHECKPOINT_ID, "checkpoint_id INTEGER")                                                      \
    X(ORD, "ord INTEGER")                                                                          \
    X(PLACE, "place INTEGER")                                                                      \
    X(NTH, "nth INTEGER")                                                                          \
    X(IS_TENSOR, "is_tensor INTEGER")                                                              \
    X(NAME, "name TEXT")                                                                           \
    X(NEW_NAME, "new_name TEXT")                                                                   \
    X(OLD_NAME, "old_name TEXT")                                                                   \
    X(TENSOR_ID, "tensor_id INTEGER")                                                              \
    X(ORIGIN, "origin TEXT")                                                                       \
    X(DTYPE, "dtype TEXT")                                                                         \
    X(SHAPE, "shape TEXT")                                                                         \
    X(PART, "part INTEGER")                                                                        \
    X(PARTS, "parts INTEGER")                                                                      \
    X(OPS, "ops TEXT")                                                                             \
    X(RECIPE, "recipe TEXT")                                                                       \
    X(RULE, "rule INTEGER")                                                                        \
    X(STATUS, "status TEXT")                                                                       \
    X(ERROR, "error TEXT")                                                                         \
    X(NOTE, "note TEXT")                                                                           \
    X(WINS, "wins INTEGER")                                                                        \
    X(ROWS, "rows INTEGER")                                                                        \
    X(RULESET, "ruleset HIDDEN")                                                                   \
    X(SOURCE, "source HIDDEN")                                                                     \
    X(TARGET, "target_id HIDDEN")                                                                  \
    X(STRICT, "strict HIDDEN")

enum column {
#define X(column, declaration) COLUMN_##column,
    MAP_COLUMNS(X)
#undef X
};

/* The arguments, in their order; each has a bit of idxNum. */
enum given {
    GIVEN_RULESET,
    GIVEN_SOURCE,
    GIVEN_TARGET,
    GIVEN_STRICT,
    GIVEN,
    /* Further bits of idxNum: the rule set comes from another table, so several calls are likely; the
     * source is given by a column that rows have. */
    GIVEN_FROM_ROWS = GIVEN,
    GIVEN_BY_COLUMN,
    GIVEN_PLAN /* and the bits above: the number of the plan */
};

/* The plans that give a rule set by a constant, a parameter or a subquery, which is to be one of the
 * view's. xBestIndex is not told: a plan is taken for one of these until SQLite asks, for the same
 * statement, what else there is without the tables that the name comes from. */
#define MAP_PLANS   4096
#define MAP_NUMBERS (1u << (30 - GIVEN_PLAN))
struct map_plans {
    struct {
        unsigned number;
        bool by_value;
    } at[MAP_PLANS];        /* the last ones, by number % MAP_PLANS */
    unsigned number, first; /* of the last plan, and of the first of its statement */
};

/* A table-valued function. */
struct map_function {
    const char *name;
    enum map_view view;
    bool needs[GIVEN];
    bool counts; /* instead of rows */
    /* The SELECT that gives the rows of :ruleset and :source. NULL: the dialect settles them. */
    const char *select;
};

struct map_table {
    struct vtab of; /* first */
    const struct map_function *function;
    struct rule_cache *rules;
    struct map_statements statements;
    struct map_plans plans;
    sqlite3_stmt *idle; /* a SELECT that no cursor uses at the moment, */
    uint64_t idle_used; /* and the columns it computes */
};

/* Checkpoints, sorted by layout. */
struct map_group {
    struct map_source *list;
    size_t count;
    size_t first, next; /* the current ones share a layout: [first, next) */
    size_t at;          /* of these, the one to which the current row belongs */
};

struct map_cursor {
    sqlite3_vtab_cursor base; /* first */
    const struct dialect *dialect;
    void (*settle)(struct map_task *);
    const char *fault;          /* error in the set's options; NULL: none */
    uint64_t used;              /* set of the used columns */
    uint64_t selected;          /* those that `select` has, in this order */
    sqlite3_stmt *select;       /* the SELECT of `used`; NULL: rows are settled */
    bool selecting;             /* it may have more rows of the current sources */
    bool renames;               /* leaves are renamed, some at a time */
    struct map_reading reading; /* what reads them; `leaves` NULL: there are no more */
    struct map_task set;        /* the rule set, without checkpoints */
    struct map_task given;      /* `set` with the current target */
    struct map_task task;       /* `given` with the current sources, and their rows */
    struct map_group source, target;
    struct rule_set *rules; /* bound to the current sources; NULL: rules are paths */
    char *bound;            /* the text with which these rules were found */
    sqlite3_int64 meta;     /* the metadata to which they are bound */
    struct map_trees trees; /* kept for all calls of the statement */
    unsigned questions;     /* number of calls (xFilter) so far */
    bool many;              /* more calls are likely */
    bool by_value;          /* the rule set was named, and not by the rows of a table */
    sqlite3_stmt *sets;     /* no rule set was named: those to come; NULL: none */
    size_t row;
    size_t before;            /* rows that the SELECT gave of the current sources */
    bool counting;            /* rows are counted, not made */
    bool repeats;             /* a count of n is returned as n equal rows */
    struct map_counts counts; /* of the current sources, instead of rows */
    size_t repeat;            /* number of the current row among the equal ones */
    /* For counting: what dialect->unmatched() says of leaves that no rule matches. */
    const char *if_some, *if_all;
    sqlite3_value *argument[GIVEN];
};

static inline bool map_cursor_uses(const struct map_cursor *c, enum column column)
{
    return c->used >> column & 1;
}

/* Release what a cursor holds; and xFilter, xNext and xEof of the module. `used`: the columns in use, a bit each, in
 * hexadecimal; `set`: what is given (enum given), a bit each. */
void map_cursor_empty(sqlite3_vtab_cursor *);
int map_cursor_filter(sqlite3_vtab_cursor *, int set, const char *used, int argc,
                      sqlite3_value **argv);
int map_cursor_next(sqlite3_vtab_cursor *);
int map_cursor_eof(sqlite3_vtab_cursor *);

/* Set `wins` of the current row and of all that follow, for renamed leaves. */
int map_cursor_find_winners(struct map_cursor *);

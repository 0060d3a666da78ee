/*
 * tensor_plan.h - how the table `tensor` answers a statement: where it begins, what it tests, and in
 * which order its rows come. Made in xBestIndex, carried to xFilter as idxNum and idxStr.
 */
#pragma once

#include <stdbool.h>

#include "catalog/db/sqlite.h"

enum tensor_column {
    TENSOR_ID,
    TENSOR_CHECKPOINT_ID,
    TENSOR_CHECKPOINT,
    TENSOR_PATH,
    TENSOR_ORD,
    TENSOR_NAME,
    TENSOR_DTYPE,
    TENSOR_SHAPE,
    TENSOR_RANK,
    TENSOR_ELEMENTS,
    TENSOR_NBYTES,
    TENSOR_STORED,
    TENSOR_STORAGE,
    TENSOR_FILE,
    TENSOR_OFFSET,
    TENSOR_HASH,
    TENSOR_CHECKPOINTS, /* of by_name: how many have the layout */
    TENSOR_COLUMNS
};
#define TENSOR_DECLARATION                                                                         \
    "CREATE TABLE x(id INTEGER PRIMARY KEY, checkpoint_id INTEGER, checkpoint TEXT, path TEXT,"    \
    " ord INTEGER, name TEXT, dtype TEXT, shape TEXT, rank INTEGER, elements INTEGER,"             \
    " nbytes INTEGER, stored INTEGER, storage TEXT, file TEXT, \"offset\" INTEGER,"                \
    " hash TEXT) WITHOUT ROWID"
#define BY_NAME_DECLARATION                                                                        \
    "CREATE TABLE x(name TEXT, dtype TEXT, shape TEXT, elements INTEGER, nbytes INTEGER,"          \
    " checkpoints INTEGER)"
#define LARGEST_DECLARATION                                                                        \
    "CREATE TABLE x(checkpoint_id INTEGER, checkpoint TEXT, name TEXT, dtype TEXT, shape TEXT,"    \
    " nbytes INTEGER)"

/* Where the rows are found. */
enum tensor_access {
    BY_ID,
    BY_CHECKPOINT_ID,
    BY_CHECKPOINT, /* its name */
    BY_PATH,       /* the checkpoint's */
    BY_HASH,
    BY_HASHED, /* all that have a hash */
    BY_FILE,
    BY_NAME,  /* of tensors, in all checkpoints */
    BY_NAMES, /* between two */
    BY_SCAN,  /* of all, or a range of ids */
};

enum tensor_order {
    /* By checkpoint, within one by the keys if any, then by ord. */
    IN_FILES,      /* by the checkpoint's id: the files' order */
    IN_CHECKPOINT, /* by its name */
    IN_PATH,       /* by its path */
    IN_KEYS,       /* by columns of the tensors */
    IN_STORAGE,    /* by the word for where the bytes are, then checkpoint id and ord */
    IN_FILE,       /* by the file's path, NULL first, then checkpoint id */
    IN_COUNT,      /* of by_name: by how many checkpoints have the layout */
};

/* How the rows of one key come. */
enum tensor_then {
    THEN_ANY,
    THEN_ID,
    THEN_CHECKPOINT, /* by its name, then by ord */
    THEN_COUNT,      /* of by_name: by how many checkpoints have the layout */
};

/* Of rows that a DISTINCT does not tell apart, those that come once. */
enum tensor_once {
    EACH_ROW,
    EACH_CHECKPOINT,
    EACH_KEY,
    EACH_VALUE, /* the values of the columns used, without the tensors that have them */
};

#define PLAN_TESTS 16
#define PLAN_KEYS  6

struct tensor_plan {
    enum tensor_access access;
    enum tensor_order order;
    enum tensor_once once;
    bool backwards; /* IN_FILES, IN_CHECKPOINT, IN_PATH, IN_FILE; IN_KEYS: what comes `then` */
    bool upright;   /* what one checkpoint has comes forwards, though checkpoints come backwards */
    enum tensor_then then; /* IN_KEYS */
    bool whole;            /* IN_KEYS: for a GROUP BY or DISTINCT, which wants all rows */
    int tests, keys;
    int later; /* IN_KEYS: N further keys order what one checkpoint has of the first ones */
    struct {
        int column;
        char op;
    } test[PLAN_TESTS]; /* the n-th has the n-th argument of xFilter */
    struct {
        int column;
        bool backwards;
    } key[PLAN_KEYS];
    unsigned used;     /* columns of the statement */
    unsigned long top; /* the keys order all rows, of which SQLite wants so many; 0: all */
};

/* How much there is, for estimates. */
struct tensor_counts {
    double checkpoints, tensors; /* tensors: of one checkpoint */
};

/* Which column of a tensor a table's columns are; NULL: the same. */
extern const int by_name_columns[], largest_columns[];
int plan_make(struct sqlite3_index_info *, const int *columns, const struct tensor_counts *);
void plan_read(struct tensor_plan *, int number, const char *text);
/* The equality test of a column; -1: none. */
int plan_equality(const struct tensor_plan *, int column);
/* IN_KEYS: how many of the keys put all tensors in order; */
int plan_head(const struct tensor_plan *);
/* and whether they come without being sorted, the first before the others are read. */
bool plan_streams(const struct tensor_plan *);
bool tensor_column_is_text(int column);
/* The statement that returns the rows of an EACH_VALUE: the columns used, from the first on. */
struct text;
void plan_values(const struct tensor_plan *, struct text *sql);

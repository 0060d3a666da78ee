/*
 * tensor_cursor.h - the table `tensor` and its cursors, for the three files that go through them:
 * vt_tensor.c opens, tensor_walk.c steps, tensor_cells.c answers.
 */
#pragma once

#include "catalog/base/limits.h"
#include "catalog/data/model/tensor.h"
#include "catalog/sql/tensor_groups.h"
#include "catalog/sql/tensor_test.h"

/* Statements that find checkpoints: id, layout, placed, and the ord of the one tensor that is meant
 * (NULL: all). ?1 is what is looked for, or ?1 and ?2 the range of ids. By file they have the file's
 * position and path, too. */
enum stream {
    STREAM_ID,
    STREAM_RANGE,
    STREAM_RANGE_BACK,
    STREAM_NAME,
    STREAM_PATH,
    STREAM_FILE,
    STREAM_HASH,
    STREAM_HASHED,
    STREAM_BY_NAME,
    STREAM_BY_NAME_BACK,
    STREAM_BY_PATH,
    STREAM_BY_PATH_BACK,
    STREAM_BY_FILE,
    STREAM_BY_FILE_BACK,
    STREAM_LAYOUTS,
    STREAM_BY_COUNT,
    STREAM_BY_COUNT_BACK,
    STREAMS
};

/* Statements that read rows of one checkpoint or tensor. */
enum detail { DETAIL_LABEL, DETAIL_FILES, DETAIL_PLACES, DETAIL_HASHES, DETAIL_NAMED, DETAILS };
#define FEW_TENSORS 4

struct tensor_table {
    sqlite3_vtab base; /* first */
    sqlite3 *db;
    struct blocks blocks;
    struct tensor_counts counts;
    sqlite3_stmt *idle[STREAMS], *detail[DETAILS];
    struct regex_cache *regexes;
    const int *columns; /* which of a tensor's they are; NULL: these */
    bool by_name;       /* a row is a tensor of a layout, with the first checkpoint that has it */
};

/* The wanted tensors of a layout. `ords` NULL: all. */
struct selection {
    uint64_t round; /* of the cursor when it was made; 0: never */
    uint32_t *ords;
    uint32_t count;
};

struct hit {
    int64_t checkpoint;
    struct layout *layout;
    bool placed;
    int64_t ord;  /* -1: those that are selected */
    int64_t rank; /* of its checkpoint, in the list of a group */
};

struct place {
    int64_t storage, file, start, stored;
    bool known;
};

struct file_cell {
    int64_t base;
    struct cell path;
};

/* The selected tensors of a layout, or of a checkpoint that has its own places, by the file that they
 * are in: its position, or FILE_NONE, which is the least. */
#define FILE_NONE (-1)
struct filed {
    struct filed_tensor {
        int32_t file;
        uint32_t ord;
    } * tensor;
    uint32_t *ords; /* of these */
    uint32_t count;
};

/* Rows of a checkpoint with positions from `first` to `last`, read for a run of its tensors. */
struct window {
    bool known;
    int64_t first, last;
    char *at;
};

/* In the order of what happens. NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding) */
struct tensor_cursor {
    sqlite3_vtab_cursor base; /* first */
    struct tensor_plan plan;
    struct tensor_test test[PLAN_TESTS];
    unsigned test_columns;        /* of blocks, that the tests look at */
    unsigned read_columns;        /* of blocks, that rows are made of */
    int test_tensors, test_kinds; /* tests of tensors, and of these of dtype, shape and size */
    int test_places;              /* tests of where they are */
    int test_checkpoints;
    int named;                  /* the test of a name; -1: none */
    struct arena arena;         /* of selections */
    struct selection *selected; /* two a layout: selection_of() */
    size_t selected_space;
    uint64_t round; /* counts how often all selections were forgotten: there may be a million */

    /* Where checkpoints come from: a statement, or the list of a group. */
    enum stream kind;
    sqlite3_stmt *stream;
    enum stream later_kind; /* IN_FILE: what comes after `stream`, */
    sqlite3_stmt *later;    /* files, or checkpoints for tensors in none; NULL: done */
    int64_t first_id;       /* ids before it are not wanted */
    sqlite3_stmt *values;   /* of an EACH_VALUE: its rows are ours */
    struct tensor_groups groups;
    bool grouped, group_left; /* group_left: group_layout is the begin of the next group */
    bool group_good;          /* its name passes */
    bool group_named;         /* each has one name, */
    struct text group_name;   /* this is the current one's */
    struct layout *group_layout;
    uint32_t group_ord;
    struct group_pick {
        struct layout *layout;
        uint32_t ord;
    } * pick;
    size_t pick_count, pick_space;
    bool pick_mixed; /* not by layout and ord */
    struct ranked {
        int64_t checkpoint, rank;
    } * ranked; /* THEN_CHECKPOINT: how checkpoints come by name, by id */
    size_t ranked_count, ranked_space;
    struct hit *list;
    size_t list_count, list_space, list_at;

    /* IN_STORAGE: it goes through the checkpoints once for each kind of storage. */
    unsigned storage;                 /* which pass it is */
    unsigned storages;                /* a set of the kinds for which it goes */
    unsigned seen;                    /* a set of the kinds that there were the first time */
    struct selection placed_selected; /* of a checkpoint that has its own places */

    /* IN_FILE: it goes through the files, and through the checkpoints for tensors in none. */
    bool unfiled;          /* this pass is for tensors in none */
    struct strmap filed;   /* a layout's id, or a checkpoint's and 1, to a struct filed */
    struct arena of_filed; /* all of these; given back when it is FILED_BYTES */
    struct {
        int64_t position;
        struct cell path; /* NULL: none */
    } file;
    struct selection in_file;
    uint64_t wanted, given; /* tensors, of checkpoints and of files: equal, or files are missing */

    /* Of a plan's `top`: the first rows in its order. */
    struct top {
        struct top_row {
            char *key; /* they differ, and none begins with another */
            size_t len;
            struct hit hit;
        } * row;
        size_t count, space, at;
        size_t most; /* wanted; the first so many are in order, and the last of these is a bound, */
        bool full;   /* if there were more */
        bool left;   /* some were left out that come after these */
        struct text key;  /* of the row that is looked at */
        struct text last; /* of what was given before: only later ones are wanted */
    } top;

    /* The row. */
    struct hit hit;
    const struct selection *selection;
    uint32_t at, end; /* rows of the checkpoint: counted, backwards or not */
    uint32_t ord;
    bool eof;
    const struct block *block;
    unsigned block_round;
    uint32_t block_end;    /* ord */
    struct block *own_row; /* that block_row() fills */

    /* Of its checkpoint. */
    struct arena own;
    bool label_known;
    struct cell name, path;
    struct window files, places, hashes;
};

static inline struct tensor_table *table_of(const struct tensor_cursor *c)
{
    return (struct tensor_table *)c->base.pVtab;
}

/* Go to the first row of the next checkpoint that has any. Returns an SQLite code. */
int tensor_walk(struct tensor_cursor *);
/* Find which tensors of a layout the tests leave: a groups_filter of a cursor. */
int tensor_filter_layout(void *cursor, struct layout *, const uint32_t **ords, uint32_t *count);
/* Whether the tensors of each checkpoint come in the order of the keys. */
static inline bool tensor_keys_within(const struct tensor_plan *p)
{
    return p->keys && p->order <= IN_PATH;
}

/* Whether the current checkpoint's places, of which tests or keys are, are not those of its layout. */
static inline bool tensor_has_own_places(const struct tensor_cursor *c)
{
    bool matter = c->test_places;
    for (int i = 0; c->plan.top && i < c->plan.keys; i++)
        matter |= c->plan.key[i].column == TENSOR_STORED;
    return matter && c->hit.placed && !c->grouped;
}

/* Go to the row that `at` counts. */
static inline void tensor_go(struct tensor_cursor *c)
{
    const bool back = c->plan.backwards && !tensor_keys_within(&c->plan) && !c->plan.upright;
    const uint32_t at = back ? c->end - 1 - c->at : c->at;
    c->ord = c->hit.ord >= 0      ? (uint32_t)c->hit.ord
             : c->selection->ords ? c->selection->ords[at]
                                  : at;
}
/* Before all rows are gone through for the first ones, */
int tensor_top_begin(struct tensor_cursor *);
/* look at those of each checkpoint. */
int tensor_top_look(struct tensor_cursor *);
/* Go to the next of these; false: all must be gone through again. */
bool tensor_top_next(struct tensor_cursor *);
/* Leave out tensors of the current layout that come after all that is wanted, whichever checkpoint has them. */
int tensor_top_trim(struct tensor_cursor *, uint32_t *ords, uint32_t *count);
/* `again`: what was given so far is not wanted again. */
void tensor_top_forget(struct tensor_cursor *, bool again);
/* Keep only those selected tensors of the current checkpoint that are in the current file. */
int tensor_select_filed(struct tensor_cursor *, const struct selection *all);
/* Take the file of the stream's row for the current one. */
int tensor_take_file(struct tensor_cursor *);
void tensor_forget_filed(struct tensor_cursor *);
/* Begin with the checkpoints again, for the next kind of storage; false: there is no further one. */
bool tensor_next_storage(struct tensor_cursor *);

/* A statement for rows of a checkpoint, with ids from ?1 to ?2. */
int tensor_detail(struct tensor_table *, enum detail which, int64_t first, int64_t last,
                  sqlite3_stmt **out);
/* Read the name and path of the current checkpoint. */
int tensor_label(struct tensor_cursor *);
/* Forget the rows of the current checkpoint. */
void tensor_leave(struct tensor_cursor *);
/* A kind of storage, 0 to 4, whatever a catalog says. */
static inline unsigned storage_kind(int64_t storage)
{
    return storage > 0 && storage <= STORAGE_INLINE ? (unsigned)storage : 0;
}
/* Find the one for the current tensor. */
int tensor_storage(struct tensor_cursor *, unsigned *out);
/* Find its stored size. */
int tensor_stored(struct tensor_cursor *, int64_t *out);
/* Find the position of the current tensor's file among the checkpoint's, or FILE_NONE. */
int tensor_file(struct tensor_cursor *, int64_t *position);

/* The id of a row by its position in the current checkpoint. */
static inline int64_t tensor_id_of(const struct tensor_cursor *c, int64_t position)
{
    return (int64_t)((uint64_t)c->hit.checkpoint << TENSOR_ORD_BITS) + position;
}
/* Make a column of the current row the result. */
int tensor_cell(struct tensor_cursor *, sqlite3_context *, int column);

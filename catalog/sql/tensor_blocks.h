/*
 * tensor_blocks.h - the layouts of a catalog in memory: the columns of their tensors, BLOCK_TENSORS
 * at a time, and the checkpoints that have each. Everything is read when it is first needed, and
 * kept for the statements that follow until the catalog changes.
 *
 * What is kept has a ceiling (BLOCKS_BYTES): beyond it all blocks are dropped and read again, so a
 * block is valid until the next call of block_load().
 *
 * Functions return SQLite codes; the reason of a failure is sqlite3_errmsg(), or blocks_damage().
 */
#pragma once

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#include "catalog/base/strmap.h"
#include "catalog/data/model/checks.h"
#include "catalog/db/sqlite.h"

#define BLOCK_TENSORS CHECK_TENSORS
#define BLOCKS_BYTES  ((size_t)128 << 20)

/* Columns of _layout_tensors: first the texts, then the numbers. */
enum block_column {
    BLOCK_NAME,
    BLOCK_DTYPE,
    BLOCK_SHAPE,
    BLOCK_TEXTS,
    BLOCK_ELEMENTS = BLOCK_TEXTS,
    BLOCK_NBYTES,
    BLOCK_STORED,
    BLOCK_STORAGE,
    BLOCK_FILE,
    BLOCK_START,
    BLOCK_COLUMNS
};

/* A text, with a NUL after it. `at` NULL: SQL NULL. */
struct cell {
    const char *at;
    size_t len;
};

struct block;
struct packed_columns;

/* A checkpoint that has a layout. */
struct holder {
    int64_t checkpoint;
    bool placed;
};

struct layout {
    int64_t id;
    uint32_t index; /* its place in blocks.layout */
    uint32_t tensors;
    /* NULL: nobody has looked yet whether it has these tensors. [] NULL: that one was not read. */
    struct block **block;
    struct holder *holders; /* by id */
    size_t holder_count;
    bool holders_known;
    uint8_t *checks; /* of its columns (_layout_checks); NULL: not read, or not there */
    bool checks_known;
    struct packed_columns *packed; /* (_layout_columns); NULL: not read, or not there */
    bool packed_known;
    /* How many of its tensors block_row() has read since it last had blocks. */
    uint32_t rows;
};

/* One statement for each set of columns. */
struct block_load {
    unsigned columns;
    sqlite3_stmt *stmt;
};

struct blocks {
    sqlite3 *db;
    struct filler *filler;
    struct layout **layout;
    size_t layout_count, layout_space;
    struct strmap by_id; /* of struct layout.id to index */
    size_t bytes;
    unsigned round;   /* counts how often blocks were dropped */
    unsigned version; /* of the database that was read */
    bool written;     /* by a transaction that may be rolled back */
    unsigned cursors;
    sqlite3_stmt *anchor; /* holds a read transaction while there are cursors */
    unsigned asked;       /* layouts whose holders were looked up one by one */
    bool all_holders;
    sqlite3_stmt *find_layout, *find_last, *find_holders, *find_named, *find_between, *find_checks,
        *find_packed;
    struct block_load load[8];
    char damage[512];
};

/* Register the SQL function through which the rows of a block come: an aggregate is handed 200,000
 * rows in half the time that it takes to step through them. Its holder gives it to each `blocks`. */
struct filler;
int filler_register(sqlite3 *, struct filler **out);
/* Register the table by_module (vt_module.c), which reads names through it. */
int sql_register_module(sqlite3 *, struct filler *);

/* Forget everything that was read; statements stay. */
void blocks_forget(struct blocks *);
void blocks_close(struct blocks *);
/* Forget it if the database has changed since, and nobody reads it now; returns whether it did. */
bool blocks_renew(struct blocks *);
/* A cursor begins, and ends: in between the database stays as it is. */
int blocks_enter(struct blocks *, bool *renewed);
void blocks_leave(struct blocks *);

/* The layout of this id, which is in _layouts, with as many tensors as it says. */
int blocks_layout(struct blocks *, int64_t id, struct layout **out);
/* The same in two steps: most statements want the tensors of few layouts, and looking at a layout's last tensor
 * reads a page. A layout that is not checked yet has no tensors to step through, and no blocks. */
int blocks_find(struct blocks *, int64_t id, struct layout **out);
int blocks_check(struct blocks *, struct layout *);
/* Read which checkpoints have a layout; for many layouts it reads the checkpoints of all. */
int blocks_holders(struct blocks *, struct layout *);
/* The same for all layouts at once: each that a checkpoint has is in blocks.layout then. */
int blocks_all_holders(struct blocks *);
/* SQLITE_DONE if all layouts together have `tensors` tensors; else kinds are missing. */
int blocks_all_given(struct blocks *, uint64_t tensors);

/* The failure for a damaged layout. */
int blocks_damaged(struct blocks *, int64_t layout, const char *what);
/* The failure for tensors whose files are missing. */
int blocks_lack_files(struct blocks *);

/* Read what a layout has of packed columns; valid as a block is. Afterwards layout.packed is NULL where it has none. */
int blocks_packed(struct blocks *, struct layout *);

/* Read the columns (a set of 1 << enum block_column) of the block that tensor `ord` is in. */
int block_load(struct blocks *, struct layout *, uint32_t ord, unsigned columns,
               const struct block **out);

/* The same for a single tensor, where few of a layout are wanted: its block if that is there, or if
 * enough have been wanted to make it worth reading, else *own, which the caller keeps for the next
 * call and gives to block_free(). */
int block_row(struct blocks *, struct layout *, uint32_t ord, unsigned columns, struct block **own,
              const struct block **out);
void block_free(struct block *);

struct block {
    uint32_t first;   /* the ord of the first tensor */
    unsigned columns; /* that are there */
    unsigned shared;  /* columns whose texts the layout's packed columns own */
    char *bytes[BLOCK_TEXTS];
    size_t length[BLOCK_TEXTS]; /* of bytes */
    struct span *span[BLOCK_TEXTS];
    int64_t *number[BLOCK_COLUMNS - BLOCK_TEXTS];
};

static inline struct cell block_text(const struct block *b, uint32_t ord, enum block_column column)
{
    assert(b->span[column]);
    const struct span s = b->span[column][ord - b->first];
    return s.len == SPAN_NULL ? (struct cell){0} : (struct cell){b->bytes[column] + s.at, s.len};
}

static inline int64_t block_number(const struct block *b, uint32_t ord, enum block_column column)
{
    const int64_t *number = b->number[column - BLOCK_TEXTS];
    assert(number);
    return number[ord - b->first];
}

/* The rank that a shape has as JSON: its commas. */
int64_t shape_rank(struct cell shape);

/* The damage to the catalog after SQLITE_CORRUPT_VTAB. */
const char *blocks_damage(const struct blocks *);

/*
 * write_rows.h - rows of the writer: its statements, and rows in memory as a table that SQL can
 * select from, the quickest way into SQLite ("INSERT INTO t SELECT ... FROM ckptdb_feed" costs
 * half of binding row by row). writer.c has transactions and checkpoints, write_layout.c what
 * checkpoints share (layouts, facts).
 *
 * Once *err is set, the functions here do nothing.
 */
#pragma once

#include <time.h>

#include "catalog/data/model/batch.h"
#include "catalog/db/db.h"
#include "catalog/db/write/writer.h"

#define SHIFT TENSOR_ORD_BITS

/* Indexes of the table of statements in write_rows.c. */
enum writer_statement_id {
    FIND_CHECKPOINT,
    FIND_OUTDATED,
    PUT_CHECKPOINT,
    RENEW_CHECKPOINT,
    PUT_LABEL,
    RENEW_LABEL,
    PUT_STATE,
    FIND_LAYOUT,
    FIND_MOVED,
    PUT_LAYOUT,
    FIND_SUM,
    PUT_ALIKE,
    PUT_BLOCKS,
    PUT_CHECKS,
    PUT_MODULE_SUMS,
    PUT_COLUMNS,
    FIND_META,
    PUT_META,
    FIND_LONG_TEXT,
    PUT_LONG_TEXT,
    PUT_LONG_FACT,
    PUT_FILE,
    PUT_ISSUE,
    PUT_PASSED,
    PUT_UNREAD,
    PUT_SUMS,
    CLEAR_ISSUES,
    CLEAR_BELOW,
    CLEAR_NOTES,
    CLEAR_PASSED,
    FIND_TRACES,
    FIND_LOOKER,
    PUT_LOOKER,
    CLEAR_WALKED,
    CLEAR_SETTLED,
    FEED_TENSORS,
    MORE_TENSORS,
    MORE_PLAIN_TENSORS,
    FEED_NODES,
    FEED_MODULES,
    MORE_MODULES,
    FEED_FOLDS,
    MORE_FOLDS,
    FEED_DTYPES,
    FEED_KINDS,
    FEED_FACTS,
    FEED_PLACEMENTS,
    STATEMENTS,
};

struct feed {
    uint64_t count; /* number of rows; the first one is row `from` of `rows` */
    /* Put the value of one column behind the id into the context (sqlite3_result_*). */
    void (*column)(const struct feed *, uint64_t row, int column, sqlite3_context *);
    const void *rows;
    int64_t base; /* first id */
    uint64_t from;
};

struct writer {
    sqlite3 *db;
    sqlite3_stmt *statement[STATEMENTS];
    struct feed feed;
    int64_t next_layout, next_meta, next_checkpoint;
    int64_t version; /* data version at which they were read; -1: none */
    bool unnamed;    /* labels_renew() must run: checkpoints were added or dropped */
    bool indexes_wait, in_transaction, orphans;
    bool kept;  /* of the last batch: writer_kept() */
    bool blank; /* earlier imports have left nothing to clear */
    bool wal;   /* was tried */
    struct timespec committed;
};

/* Make ckptdb_feed a table of the connection, which shows what w->feed holds. */
void write_rows_begin(struct writer *, struct error *err);
void write_rows_end(struct writer *);

/* Run a statement with values as of db_query(). */
enum status write_row(struct writer *, struct error *err, enum writer_statement_id,
                      const char *types, ...);
/* The first column of the first row; -1: no row, or *err says why not. */
int64_t write_find(struct writer *, struct error *err, enum writer_statement_id, const char *types,
                   ...);
enum status write_exec(struct writer *, struct error *err, const char *sql);
enum status write_feed(struct writer *, enum writer_statement_id, struct feed rows,
                       struct error *err);
/* Insert rows of the newest layout: the first with its id, the others after it. */
void write_feed_behind(struct writer *, enum writer_statement_id first,
                       enum writer_statement_id more, struct feed rows, struct error *err);

static inline struct bytes digest_bytes(const struct layout_digest *d)
{
    return (struct bytes){d->at, sizeof(d->at)};
}

/* --- write_layout.c, write_outdated.c ----------------------------------------------------- */

/* Find or write the layout's row; *placed: this checkpoint's bytes are not at the places of the
 * layout's. */
void write_layout(struct writer *, const struct batch_layout *, int64_t *id, bool *placed,
                  struct error *err);
void write_placements(struct writer *, const struct batch_layout *, int64_t checkpoint,
                      struct error *err);
/* Called before a checkpoint is written again: if another version of the program indexed it,
 * remember what that found, for write_renewed() to compare afterwards. (write_outdated.c) */
void write_outdated(struct writer *, int64_t checkpoint, bool *outdated, struct error *err);
void write_renewed(struct writer *, int64_t checkpoint, struct error *err);
/* Forget all results about the contents of its tensors. */
void write_forget_content(struct writer *, int64_t checkpoint, struct error *err);
/* Find or write the row of a batch's facts; -1 on failure. */
int64_t write_meta(struct writer *, const struct batch *, struct error *err);

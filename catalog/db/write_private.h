/*
 * write_private.h - the inside of the writer: write.c has transactions and checkpoints,
 * write_layout.c what checkpoints share (layouts, facts).
 */
#ifndef CKPTDB_WRITE_PRIVATE_H
#define CKPTDB_WRITE_PRIVATE_H

#include <time.h>

#include "catalog/db/db.h"
#include "catalog/db/feed.h"
#include "catalog/db/write.h"
#include "catalog/model/batch.h"

#define SHIFT TENSOR_ORD_BITS

/* Positions in the table of statements (write.c). */
enum writer_statement_id {
    FIND_CHECKPOINT,
    FIND_OUTDATED,
    PUT_CHECKPOINT,
    RENEW_CHECKPOINT,
    PUT_LABEL,
    RENEW_LABEL,
    PUT_STATE,
    FIND_LAYOUT,
    PUT_LAYOUT,
    PUT_BLOCKS,
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
    FEED_TENSORS,
    MORE_TENSORS,
    MORE_PLAIN_TENSORS,
    FEED_NODES,
    FEED_MODULES,
    MORE_MODULES,
    FEED_FOLDS,
    MORE_FOLDS,
    FEED_DTYPES,
    FEED_FACTS,
    FEED_PLACEMENTS,
    STATEMENTS,
};

/* NOLINTNEXTLINE(bugprone-suspicious-missing-comma): each has its index before it */

struct writer {
    sqlite3 *db;
    sqlite3_stmt *statement[STATEMENTS];
    struct feed feed;
    int64_t next_layout, next_meta, next_checkpoint;
    int64_t version; /* of the data that these were read from, -1: none */
    bool unnamed;    /* what is catalogued has changed, and with it the names */
    bool indexes_wait, in_transaction, orphans;
    bool kept;  /* the last one that was put: writer_kept() */
    bool blank; /* nothing that batches would clear away */
    bool wal;   /* tried, at least */
    struct timespec committed;
};

/* A statement of the table, prepared once and kept; NULL on failure, which
 * writer_finish() and writer_find() report. */
sqlite3_stmt *writer_statement(struct writer *, enum writer_statement_id);
void writer_bind_text(sqlite3_stmt *, int at, const char *text);
void writer_bind_digest(sqlite3_stmt *, int at, const struct layout_digest *);
/* Step a statement that gives no rows, and make it ready again. */
enum status writer_finish(struct writer *, sqlite3_stmt *, struct error *err);
/* The first column of the first row, or -1. */
int64_t writer_find(struct writer *, sqlite3_stmt *, struct error *err);
/* The pages that are kept in memory, by whether there are indexes to find places in. */
void writer_size_cache(struct writer *, bool indexed);
enum status writer_feed(struct writer *, enum writer_statement_id, struct feed rows,
                        struct error *err);
/* Rows of the newest layout: the first one with its id, the others after it. */
enum status writer_feed_behind(struct writer *, enum writer_statement_id first,
                               enum writer_statement_id more, struct feed rows,
                               struct error *err);

/* The layout's row, made if it is new; *placed says that this checkpoint's bytes lie in
 * another way than the layout's. */
enum status writer_find_layout(struct writer *, const struct batch_layout *, int64_t *id,
                               bool *placed, struct error *err);
enum status writer_put_placements(struct writer *, const struct batch_layout *,
                                  int64_t checkpoint, struct error *err);
/* Before a checkpoint is written again: whether another program indexed it. What that found is noted
 * then, and compared by write_renewed(), after it. (write_outdated.c) */
enum status write_outdated(struct writer *, int64_t checkpoint, bool *outdated,
                           struct error *err);
enum status write_renewed(struct writer *, int64_t checkpoint, struct error *err);
/* Nothing is known any more of what its tensors hold. */
enum status write_forget_content(struct writer *, int64_t checkpoint, struct error *err);
/* The row of a batch's facts, made if it is new; -1 on failure. */
int64_t writer_find_meta(struct writer *, const struct batch *, struct error *err);

#endif

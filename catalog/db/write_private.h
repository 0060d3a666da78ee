/*
 * write_private.h - the inside of the writer: writer.c has transactions and checkpoints,
 * write_layout.c what checkpoints share (layouts, facts).
 */
#ifndef CKPTDB_WRITE_PRIVATE_H
#define CKPTDB_WRITE_PRIVATE_H

#include <time.h>

#include "catalog/data/model/batch.h"
#include "catalog/db/db.h"
#include "catalog/db/feed.h"
#include "catalog/db/writer.h"

#define SHIFT TENSOR_ORD_BITS

/* Indexes of the table of statements in writer.c. */
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
    FIND_SUM,
    PUT_ALIKE,
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
    FEED_KINDS,
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
    int64_t version; /* data version at which they were read; -1: none */
    bool unnamed;    /* labels_renew() must run: checkpoints were added or dropped */
    bool indexes_wait, in_transaction, orphans;
    bool kept;  /* of the last batch: writer_kept() */
    bool blank; /* earlier imports have left nothing to clear */
    bool wal;   /* was tried */
    struct timespec committed;
};

/* A statement of the table, prepared at first use and kept; NULL on failure, which
 * writer_finish() and writer_find() report. */
sqlite3_stmt *writer_statement(struct writer *, enum writer_statement_id);
void writer_bind_text(sqlite3_stmt *, int at, const char *text);
void writer_bind_digest(sqlite3_stmt *, int at, const struct layout_digest *);
/* Step a statement that gives no rows, and reset it. */
enum status writer_finish(struct writer *, sqlite3_stmt *, struct error *err);
/* The first column of the first row; -1: no row, or an error. */
int64_t writer_find(struct writer *, sqlite3_stmt *, struct error *err);
/* Set the size of SQLite's cache, which matters where indexes are searched. */
void writer_size_cache(struct writer *, bool indexed);
enum status writer_feed(struct writer *, enum writer_statement_id, struct feed rows,
                        struct error *err);
/* Insert rows of the newest layout: the first with its id, the others after it. */
enum status writer_feed_behind(struct writer *, enum writer_statement_id first,
                               enum writer_statement_id more, struct feed rows, struct error *err);

/* Find or write the layout's row; *placed: this checkpoint's bytes are at other places than the
 * layout's. */
enum status writer_find_layout(struct writer *, const struct batch_layout *, int64_t *id,
                               bool *placed, struct error *err);
enum status writer_put_placements(struct writer *, const struct batch_layout *, int64_t checkpoint,
                                  struct error *err);
/* Called before a checkpoint is written again: if another version of the program indexed it,
 * remember what that found, for write_renewed() to compare afterwards. (write_outdated.c) */
enum status write_outdated(struct writer *, int64_t checkpoint, bool *outdated, struct error *err);
enum status write_renewed(struct writer *, int64_t checkpoint, struct error *err);
/* Forget all that is known of the contents of its tensors. */
enum status write_forget_content(struct writer *, int64_t checkpoint, struct error *err);
/* Find or write the row of a batch's facts; -1 on failure. */
int64_t writer_find_meta(struct writer *, const struct batch *, struct error *err);

#endif

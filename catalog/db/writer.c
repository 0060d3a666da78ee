#include "catalog/db/writer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "catalog/db/ids.h"
#include "catalog/db/labels.h"
#include "catalog/db/write_private.h"

#define COMMIT_SECONDS 2 /* the most work that a kill can undo */

/* KiB of pages. Without indexes rows are only appended, so full pages are not used again. */
#define CACHE_APPENDING 8192
#define CACHE_INDEXED   65536

static const char *const state_names[] = {
    [STATE_COMPLETE] = "complete",
    [STATE_INCOMPLETE] = "incomplete",
    [STATE_DAMAGED] = "damaged",
};

/* Statements that take fed rows. A failure ends the transaction: to roll back the statement
 * alone, SQLite would first save each page that it changes, and in an index many rows change many
 * pages. */
#define INSERT_ALL "INSERT OR ROLLBACK INTO "

static const char *const statement_sql[STATEMENTS] = {
    [FIND_CHECKPOINT] = "SELECT id FROM _checkpoints WHERE path = ?1",
    [FIND_OUTDATED] = "SELECT 1 FROM _outdated WHERE id = ?1",
    /* Without ON CONFLICT, because for that SQLite saves each changed page, too. */
    [PUT_CHECKPOINT] =
        "INSERT INTO _checkpoints(id, path, format, run, step, item, layout, meta, placed,"
        " stored, files, mtime_ns, imported)"
        " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
    [RENEW_CHECKPOINT] =
        "UPDATE _checkpoints SET format = ?3, run = ?4, step = ?5, item = ?6, layout = ?7,"
        " meta = ?8, placed = ?9, stored = ?10, files = ?11, mtime_ns = ?12,"
        " imported = ?13 WHERE id = ?1",
    [PUT_LABEL] = "INSERT INTO _labels(id, name, state) VALUES (?1, ?2, ?3)",
    [RENEW_LABEL] = "INSERT INTO _labels(id, name, state) VALUES (?1, ?2, ?3)"
                    " ON CONFLICT(id) DO UPDATE SET state = excluded.state",
    [PUT_STATE] = "UPDATE _labels SET state = ?2 WHERE id = ?1",
    [FIND_LAYOUT] = "SELECT id, placement FROM _layouts WHERE logical = ?1",
    [PUT_LAYOUT] = "INSERT INTO _layouts VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
    [FIND_SUM] = "SELECT 1 FROM _layout_alike WHERE sum = ?1 LIMIT 1",
    [PUT_ALIKE] = "INSERT INTO _layout_alike VALUES (?1, ?2, NULL, ?1)",
    [PUT_BLOCKS] = "INSERT INTO _layout_blocks VALUES (?1, ?2)",
    [FIND_META] = "SELECT id FROM _metas WHERE digest = ?1",
    [PUT_META] = "INSERT INTO _metas VALUES (?1, ?2)",
    [FIND_LONG_TEXT] = "SELECT id FROM _long_texts WHERE digest = ?1",
    [PUT_LONG_TEXT] = "INSERT INTO _long_texts(digest, text) VALUES (?1, ?2)",
    [PUT_LONG_FACT] = "INSERT INTO _long_facts VALUES (?1, ?2)",
    [PUT_FILE] = "INSERT INTO _files VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
    [PUT_ISSUE] = "INSERT INTO _issues(checkpoint, path, offset, severity, code, message)"
                  " VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
    [PUT_PASSED] = "INSERT OR REPLACE INTO _passed VALUES (?1, ?2, ?3, ?4, ?5)",
    [PUT_UNREAD] = "INSERT INTO _unread VALUES (?1, ?2)",
    [PUT_SUMS] = "INSERT INTO _checksums VALUES (?1, ?2, ?3)",
    [CLEAR_ISSUES] = "DELETE FROM _issues WHERE checkpoint IS NULL AND path = ?1",
    [CLEAR_BELOW] = "DELETE FROM _issues WHERE checkpoint IS NULL"
                    " AND path > ?1 || '/' AND path < ?1 || '0'",
    [CLEAR_NOTES] = "DELETE FROM _issues WHERE checkpoint = ?1"
                    " AND code IN ('two-formats', 'shadowed')",
    [FIND_TRACES] = "SELECT EXISTS (SELECT 1 FROM _issues) OR EXISTS (SELECT 1 FROM _passed)",
    [FIND_LOOKER] = "SELECT 1 FROM _looked WHERE looker = ?1",
    [PUT_LOOKER] = "INSERT INTO _looked VALUES (?1)",
    [CLEAR_PASSED] = "DELETE FROM _passed WHERE path = ?1",
    [CLEAR_WALKED] = "DELETE FROM _issues WHERE code IN ('gone', 'unreadable',"
                     " 'unfinished', 'dangling-link', 'not-a-file', 'two-formats', 'shadowed',"
                     " 'not-read') AND (path = ?1"
                     "  OR (path > rtrim(?1, '/') || '/' AND path < rtrim(?1, '/') || '0'))",
    [FEED_TENSORS] = INSERT_ALL "_layout_tensors SELECT * FROM ckptdb_feed",
    /* Without an id SQLite appends, and need not search for the place of each row. Listing
     * columns by name would copy them once more. */
    [MORE_TENSORS] = INSERT_ALL
    "_layout_tensors SELECT NULL, c1, c2, c3, c4, c5, c6, c7, c8, c9, c10, c11, c12, c13"
    " FROM ckptdb_feed",
    [MORE_PLAIN_TENSORS] =
        INSERT_ALL "_layout_tensors"
                   " SELECT NULL, c1, c2, c3, c4, c5, c6, 1, 0, c9, c10, NULL, NULL, NULL"
                   " FROM ckptdb_feed",
    [FEED_NODES] = INSERT_ALL "_layout_nodes SELECT c0, c1, c2, c3 FROM ckptdb_feed",
    [FEED_MODULES] =
        INSERT_ALL "_layout_modules SELECT c0, c1, c2, c3, c4, c5, c6 FROM ckptdb_feed",
    [MORE_MODULES] =
        INSERT_ALL "_layout_modules SELECT NULL, c1, c2, c3, c4, c5, c6 FROM ckptdb_feed",
    [FEED_FOLDS] = INSERT_ALL "_layout_folds SELECT c0, c1, c2, c3, c4, c5 FROM ckptdb_feed",
    [MORE_FOLDS] = INSERT_ALL "_layout_folds SELECT NULL, c1, c2, c3, c4, c5 FROM ckptdb_feed",
    [FEED_DTYPES] = INSERT_ALL "_layout_dtypes SELECT c0, c1, c2, c3, c4 FROM ckptdb_feed",
    [FEED_KINDS] = INSERT_ALL "_layout_kinds SELECT c0, c1, c2, c3, c4 FROM ckptdb_feed",
    [FEED_FACTS] = INSERT_ALL "_meta_facts SELECT c0, c1, c2 FROM ckptdb_feed",
    [FEED_PLACEMENTS] = INSERT_ALL "_placements"
                                   " SELECT c0, c1, c2, c3, c4, c5, c6, c7 FROM ckptdb_feed",
};

/* --- small helpers ---------------------------------------------------------------------- */

sqlite3_stmt *writer_statement(struct writer *w, enum writer_statement_id which)
{
    if (!w->statement[which])
        sqlite3_prepare_v3(w->db, statement_sql[which], -1, SQLITE_PREPARE_PERSISTENT,
                           &w->statement[which], NULL);
    return w->statement[which];
}

void writer_bind_text(sqlite3_stmt *s, int at, const char *text)
{
    if (text)
        sqlite3_bind_text(s, at, text, -1, SQLITE_STATIC);
    else
        sqlite3_bind_null(s, at);
}

static void bind_blob(sqlite3_stmt *s, int at, const void *bytes, size_t len)
{
    sqlite3_bind_blob64(s, at, bytes, len, SQLITE_STATIC);
}

void writer_bind_digest(sqlite3_stmt *s, int at, const struct layout_digest *d)
{
    bind_blob(s, at, d->at, sizeof(d->at));
}

enum status writer_finish(struct writer *w, sqlite3_stmt *s, struct error *err)
{
    int rc = s ? sqlite3_step(s) : SQLITE_ERROR;
    if (s) {
        sqlite3_reset(s);
        sqlite3_clear_bindings(s);
    }
    return rc == SQLITE_DONE ? OK : db_error(w->db, "cannot write the catalog", err);
}

int64_t writer_find(struct writer *w, sqlite3_stmt *s, struct error *err)
{
    int rc = s ? sqlite3_step(s) : SQLITE_ERROR;
    int64_t id = rc == SQLITE_ROW ? sqlite3_column_int64(s, 0) : -1;
    if (rc != SQLITE_ROW && rc != SQLITE_DONE)
        db_error(w->db, "cannot read the catalog", err);
    sqlite3_reset(s);
    return id;
}

enum status writer_feed(struct writer *w, enum writer_statement_id which, struct feed rows,
                        struct error *err)
{
    if (!rows.count)
        return OK;
    w->feed = rows;
    return writer_finish(w, writer_statement(w, which), err);
}

enum status writer_feed_behind(struct writer *w, enum writer_statement_id first,
                               enum writer_statement_id more, struct feed rows, struct error *err)
{
    struct feed rest = rows;
    if (!rows.count)
        return OK;
    rows.count = 1;
    rest.count--;
    rest.from = 1;
    if (writer_feed(w, first, rows, err) != OK || writer_feed(w, more, rest, err) != OK)
        return err->status;
    if (sqlite3_last_insert_rowid(w->db) != rows.base + (int64_t)rest.count)
        return error_set(err, ERR_CORRUPT, sqlite3_db_filename(w->db, "main"), NO_OFFSET,
                         "the catalog holds rows of a layout that it does not know");
    return OK;
}

/* One more than the highest id; -1: *err says why. Never an id that is taken. */
static int64_t next_id(sqlite3 *db, const char *table, struct error *err)
{
    char sql[96];
    sqlite3_stmt *s = NULL;
    snprintf(sql, sizeof(sql), "SELECT coalesce(max(id), 0) + 1 FROM %s", table);
    int64_t id = -1;
    if (sqlite3_prepare_v2(db, sql, -1, &s, NULL) != SQLITE_OK)
        db_error(db, "cannot read what is catalogued", err);
    else if (db_row(s, "cannot read what is catalogued", err))
        id = sqlite3_column_int64(s, 0);
    sqlite3_finalize(s);
    return id;
}

/* --- opening ---------------------------------------------------------------------------- */

static int64_t data_version(sqlite3 *db)
{
    sqlite3_stmt *s = NULL;
    int64_t version = -1;
    if (sqlite3_prepare_v2(db, "PRAGMA data_version", -1, &s, NULL) == SQLITE_OK &&
        sqlite3_step(s) == SQLITE_ROW)
        version = sqlite3_column_int64(s, 0);
    sqlite3_finalize(s);
    return version;
}

void writer_size_cache(struct writer *w, bool indexed)
{
    struct error ignored = {.offset = NO_OFFSET};
    db_size_cache(w->db, indexed ? -CACHE_INDEXED : -CACHE_APPENDING, &ignored);
}

/* The writer's knowledge of the catalog is valid until another program writes, or the journal
 * mode changes. A catalog that was new a moment ago continues without indexes. */
static enum status learn(struct writer *w, struct error *err)
{
    int64_t version = data_version(w->db);
    if (version == w->version && version >= 0)
        return OK;
    w->version = version;
    w->next_layout = next_id(w->db, "_layouts", err);
    w->next_meta = next_id(w->db, "_metas", err);
    w->next_checkpoint = next_id(w->db, "_checkpoints", err);
    if (err->status != OK) {
        w->version = -1;
        return err->status;
    }
    bool was_new = w->indexes_wait;
    w->indexes_wait = w->next_layout == 1;
    writer_size_cache(w, !w->indexes_wait && !was_new);
    return w->indexes_wait || was_new ? OK : db_build_indexes(w->db, err);
}

static enum status write_begin(struct writer *w, struct error *err)
{
    if (w->in_transaction)
        return OK;
    if (db_exec(w->db, "BEGIN IMMEDIATE", err) != OK)
        return err->status;
    w->in_transaction = true;
    clock_gettime(CLOCK_MONOTONIC, &w->committed);
    return learn(w, err);
}

static enum status write_commit(struct writer *w, struct error *err)
{
    if (!w->in_transaction)
        return OK;
    if (db_exec(w->db, "COMMIT", err) == OK)
        w->in_transaction = false;
    return err->status;
}

/* So that others can read while this one writes. Where WAL is impossible (no shared memory), they
 * cannot. */
static void enter_wal(struct writer *w)
{
    w->wal = true;
    sqlite3_exec(w->db,
                 "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;"
                 "PRAGMA wal_autocheckpoint=1000",
                 NULL, NULL, NULL);
}

/* Whether the catalog is still empty: then the first rows are written without WAL, straight into
 * the file. */
static bool write_is_empty(sqlite3 *db)
{
    struct error ignored = {.offset = NO_OFFSET};
    return next_id(db, "_layouts", &ignored) == 1;
}

/* Whether earlier imports have left nothing that a batch would have to clear. */
static bool is_blank(struct writer *w, struct error *err)
{
    return writer_find(w, writer_statement(w, FIND_TRACES), err) == 0;
}

static enum status take_over(struct writer *w, const char *looker, struct error *err)
{
    if (!looker)
        return OK;
    sqlite3_stmt *s = writer_statement(w, FIND_LOOKER);
    writer_bind_text(s, 1, looker);
    int64_t same = writer_find(w, s, err);
    if (err->status != OK || same > 0)
        return err->status;
    if (db_exec(w->db,
                "DELETE FROM _passed; DELETE FROM _looked;"
                "INSERT OR IGNORE INTO _outdated SELECT id FROM _checkpoints",
                err) != OK)
        return err->status;
    s = writer_statement(w, PUT_LOOKER);
    writer_bind_text(s, 1, looker);
    return writer_finish(w, s, err);
}

enum status writer_open(sqlite3 *db, const char *looker, int (*wait)(void *context, int times),
                        void *context, struct writer **out, struct error *err)
{
    struct writer *w = calloc(1, sizeof(*w));
    if (!w)
        return error_memory(err);
    w->db = db;
    w->version = -1;
    if (db_repair(db, err) != OK)
        goto fail;
    if (wait)
        sqlite3_busy_handler(db, wait, context);
    if (!write_is_empty(db))
        enter_wal(w);
    if (feed_register(db, &w->feed) != SQLITE_OK) {
        db_error(db, "cannot start the writer", err);
        goto fail;
    }
    if (write_begin(w, err) == OK && take_over(w, looker, err) == OK) {
        w->blank = is_blank(w, err);
        *out = w;
        return OK;
    }

fail:
    writer_abort(w);
    return err->status;
}

/* --- one batch -------------------------------------------------------------------------- */

/* Delete what belongs to a checkpoint alone, before it is written again. */
static enum status clear_own(struct writer *w, int64_t id, struct error *err)
{
    char sql[512];
    int64_t low = (int64_t)((uint64_t)id << SHIFT), high = low + TENSOR_ORD_MASK;
    snprintf(sql, sizeof(sql),
             "DELETE FROM _files WHERE id BETWEEN %lld AND %lld;"
             "DELETE FROM _placements WHERE id BETWEEN %lld AND %lld;"
             "DELETE FROM _checksums WHERE id = %lld;DELETE FROM _issues WHERE checkpoint = %lld",
             (long long)low, (long long)high, (long long)low, (long long)high, (long long)id,
             (long long)id);
    w->orphans = true;
    return db_exec(w->db, sql, err);
}

static enum status put_files(struct writer *w, const struct batch *b, int64_t id, struct error *err)
{
    for (uint64_t i = 0; i < b->file_count && err->status == OK; i++) {
        const struct batch_file *f = &b->files[i];
        sqlite3_stmt *s = writer_statement(w, PUT_FILE);
        sqlite3_bind_int64(s, 1, (int64_t)((uint64_t)id << SHIFT) + (int64_t)i);
        writer_bind_text(s, 2, f->path);
        if (f->present)
            db_bind_identity(s, 3, &f->identity);
        writer_bind_text(s, 7, f->role);
        sqlite3_bind_int64(s, 8, (sqlite3_int64)f->base);
        writer_finish(w, s, err);
    }
    return err->status;
}

static enum status put_issues(struct writer *w, const struct batch *b, int64_t id,
                              struct error *err)
{
    for (uint64_t i = 0; i < b->issue_count && err->status == OK; i++) {
        const struct batch_issue *issue = &b->issues[i];
        sqlite3_stmt *s = writer_statement(w, PUT_ISSUE);
        if (id > 0)
            sqlite3_bind_int64(s, 1, id);
        writer_bind_text(s, 2, issue->path);
        if (issue->offset != NO_OFFSET)
            sqlite3_bind_int64(s, 3, (sqlite3_int64)issue->offset);
        writer_bind_text(s, 4, issue->warning ? "warning" : "error");
        writer_bind_text(s, 5, issue->code);
        writer_bind_text(s, 6, issue->message);
        writer_finish(w, s, err);
    }
    return err->status;
}

static enum status put_passed(struct writer *w, const struct batch_file *list, uint64_t count,
                              struct error *err)
{
    for (uint64_t i = 0; i < count && err->status == OK; i++) {
        sqlite3_stmt *s = writer_statement(w, PUT_PASSED);
        writer_bind_text(s, 1, list[i].path);
        db_bind_identity(s, 2, &list[i].identity);
        if (writer_finish(w, s, err) != OK || !list[i].kind)
            continue;
        /* An earlier row was deleted together with the one that was replaced. */
        s = writer_statement(w, PUT_UNREAD);
        writer_bind_text(s, 1, list[i].path);
        writer_bind_text(s, 2, list[i].kind);
        writer_finish(w, s, err);
    }
    return err->status;
}

/* Delete the issues of files without a checkpoint, which are reported again with the file. */
static enum status clear_paths(struct writer *w, const struct batch *b, struct error *err)
{
    sqlite3_stmt *s;
    if (b->path) {
        s = writer_statement(w, CLEAR_ISSUES);
        writer_bind_text(s, 1, b->path);
        writer_finish(w, s, err);
    }
    if (b->folder && !b->failed && err->status == OK) {
        s = writer_statement(w, CLEAR_BELOW);
        writer_bind_text(s, 1, b->path);
        writer_finish(w, s, err);
    }
    for (uint64_t i = 0; i < b->file_count && err->status == OK; i++) {
        s = writer_statement(w, CLEAR_ISSUES);
        writer_bind_text(s, 1, b->files[i].path);
        if (writer_finish(w, s, err) != OK)
            break;
        s = writer_statement(w, CLEAR_PASSED);
        writer_bind_text(s, 1, b->files[i].path);
        writer_finish(w, s, err);
    }
    for (uint64_t i = 0; i < b->passed_count && err->status == OK; i++) {
        s = writer_statement(w, CLEAR_ISSUES);
        writer_bind_text(s, 1, b->passed[i].path);
        writer_finish(w, s, err);
    }
    for (uint64_t i = 0; !b->path && i < b->issue_count && err->status == OK; i++) {
        s = writer_statement(w, CLEAR_ISSUES);
        writer_bind_text(s, 1, b->issues[i].path);
        writer_finish(w, s, err);
    }
    return err->status;
}

static void bind_checkpoint(sqlite3_stmt *s, const struct batch *b, int64_t id, int64_t layout,
                            bool placed)
{
    int64_t newest = 0;
    for (uint64_t i = 0; i < b->file_count; i++)
        if (b->files[i].present && b->files[i].identity.mtime_ns > newest)
            newest = b->files[i].identity.mtime_ns;
    sqlite3_bind_int64(s, 1, id);
    writer_bind_text(s, 2, b->path);
    writer_bind_text(s, 3, b->format);
    writer_bind_text(s, 4, b->run);
    if (b->has_step)
        sqlite3_bind_int64(s, 5, b->step);
    writer_bind_text(s, 6, b->item);
    sqlite3_bind_int64(s, 7, layout);
    sqlite3_bind_int(s, 9, placed);
    if (!b->layout->stored_unknown)
        sqlite3_bind_int64(s, 10, (sqlite3_int64)b->layout->stored);
    sqlite3_bind_int64(s, 11, (sqlite3_int64)b->file_count);
    sqlite3_bind_int64(s, 12, newest);
    sqlite3_bind_int64(s, 13, (sqlite3_int64)time(NULL));
}

static enum status put_sums(struct writer *w, const struct batch *b, int64_t id, struct error *err)
{
    if (!b->sum_kind || !b->sum_count)
        return OK;
    sqlite3_stmt *s = writer_statement(w, PUT_SUMS);
    sqlite3_bind_int64(s, 1, id);
    writer_bind_text(s, 2, b->sum_kind);
    bind_blob(s, 3, b->sums, b->sum_count * sizeof(*b->sums));
    return writer_finish(w, s, err);
}

/* A checkpoint's name is its path until labels_renew() names all of them. */
static enum status put_label(struct writer *w, const struct batch *b, int64_t id, bool known,
                             struct error *err)
{
    sqlite3_stmt *s = writer_statement(w, known ? RENEW_LABEL : PUT_LABEL);
    sqlite3_bind_int64(s, 1, id);
    writer_bind_text(s, 2, b->path);
    writer_bind_text(s, 3, state_names[b->state]);
    w->unnamed = true;
    return writer_finish(w, s, err);
}

static enum status put_checkpoint(struct writer *w, const struct batch *b, int64_t id, bool known,
                                  struct error *err)
{
    const struct batch_layout *l = b->layout;
    int64_t layout, meta = -1;
    bool placed;
    if (writer_find_layout(w, l, &layout, &placed, err) != OK ||
        (b->meta_count && (meta = writer_find_meta(w, b, err)) < 0) || err->status != OK)
        return err->status;
    sqlite3_stmt *s = writer_statement(w, known ? RENEW_CHECKPOINT : PUT_CHECKPOINT);
    bind_checkpoint(s, b, id, layout, placed);
    if (meta >= 0)
        sqlite3_bind_int64(s, 8, meta);
    if (writer_finish(w, s, err) != OK || put_label(w, b, id, known, err) != OK)
        return err->status;
    return placed ? writer_put_placements(w, l, id, err) : OK;
}

static enum status commit_if_due(struct writer *w, struct error *err)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (now.tv_sec - w->committed.tv_sec < COMMIT_SECONDS || write_commit(w, err) != OK)
        return err->status;
    if (!w->wal)
        enter_wal(w);
    return OK;
}

static enum status put_found(struct writer *w, const struct batch *b, int64_t *id,
                             struct error *err)
{
    bool outdated = false, known = *id >= 0;
    if (!known)
        *id = w->next_checkpoint++;
    else if (write_outdated(w, *id, &outdated, err) != OK || clear_own(w, *id, err) != OK)
        return err->status;
    if (put_checkpoint(w, b, *id, known, err) == OK && put_files(w, b, *id, err) == OK &&
        put_sums(w, b, *id, err) == OK && outdated)
        write_renewed(w, *id, err);
    return err->status;
}

/* What is catalogued stays, with issues that say what happened since; but hashes and the like
 * (17_content_drop.sql) are of the old contents, and go. A passing failure changes nothing of
 * that. */
static enum status put_failed(struct writer *w, const struct batch *b, int64_t id,
                              struct error *err)
{
    char sql[80];
    snprintf(sql, sizeof(sql), "DELETE FROM _issues WHERE checkpoint = %lld", (long long)id);
    if (b->passes) {
        w->kept = true;
        return db_exec(w->db, sql, err);
    }
    /* Earlier imports left nothing to clear, but this one may have issues of the same files. */
    if (w->blank && clear_paths(w, b, err) != OK)
        return err->status;
    sqlite3_stmt *s = writer_statement(w, PUT_STATE);
    sqlite3_bind_int64(s, 1, id);
    writer_bind_text(s, 2, state_names[b->state]);
    if (db_exec(w->db, sql, err) == OK && writer_finish(w, s, err) == OK &&
        b->state != STATE_COMPLETE)
        write_forget_content(w, id, err);
    return err->status;
}

enum status writer_put(struct writer *w, const struct batch *b, struct error *err)
{
    int64_t id = -1;
    w->kept = false;
    if (write_begin(w, err) != OK || (!w->blank && clear_paths(w, b, err) != OK))
        return err->status;
    if (b->path) {
        sqlite3_stmt *s = writer_statement(w, FIND_CHECKPOINT);
        writer_bind_text(s, 1, b->path);
        id = writer_find(w, s, err);
        if (err->status != OK)
            return err->status;
    }
    if (b->path && !b->failed && (id < 0 || !b->passes))
        put_found(w, b, &id, err);
    else if (id > 0)
        put_failed(w, b, id, err);
    if (err->status != OK || put_issues(w, b, id, err) != OK ||
        put_passed(w, b->passed, b->passed_count, err) != OK)
        return err->status;
    return commit_if_due(w, err);
}

/* --- dropping --------------------------------------------------------------------------- */

enum status writer_drop(struct writer *w, int64_t checkpoint, struct error *err)
{
    char sql[160];
    if (write_begin(w, err) != OK || clear_own(w, checkpoint, err) != OK)
        return err->status;
    w->unnamed = true;
    snprintf(sql, sizeof(sql),
             "DELETE FROM _labels WHERE id = %lld; DELETE FROM _checkpoints WHERE id = %lld",
             (long long)checkpoint, (long long)checkpoint);
    return db_exec(w->db, sql, err);
}

enum status writer_clear_walked(struct writer *w, const char *root, struct error *err)
{
    if (write_begin(w, err) != OK)
        return err->status;
    sqlite3_stmt *s = writer_statement(w, CLEAR_WALKED);
    writer_bind_text(s, 1, root);
    return writer_finish(w, s, err);
}

enum status writer_vanished(struct writer *w, int64_t checkpoint, const char *path,
                            struct error *err)
{
    struct batch_issue issue = {
        .path = path,
        .offset = NO_OFFSET,
        .warning = true,
        .code = "gone",
        .message = "no longer there; `ckptdb import --prune` drops it from the catalog, "
                   "`ckptdb relocate OLD NEW` follows it where it was moved",
    };
    struct batch b = {.issues = &issue, .issue_count = 1};
    return write_begin(w, err) == OK ? put_issues(w, &b, checkpoint, err) : err->status;
}

enum status writer_clear_notes(struct writer *w, int64_t checkpoint, struct error *err)
{
    if (write_begin(w, err) != OK || w->blank)
        return err->status;
    sqlite3_stmt *s = writer_statement(w, CLEAR_NOTES);
    sqlite3_bind_int64(s, 1, checkpoint);
    return writer_finish(w, s, err);
}

enum status writer_note(struct writer *w, const char *checkpoint, const struct batch_issue *issue,
                        struct error *err)
{
    struct batch b = {.issues = (struct batch_issue *)issue, .issue_count = 1};
    if (write_begin(w, err) != OK)
        return err->status;
    sqlite3_stmt *s = writer_statement(w, FIND_CHECKPOINT);
    writer_bind_text(s, 1, checkpoint);
    int64_t id = writer_find(w, s, err);
    return err->status == OK ? put_issues(w, &b, id, err) : err->status;
}

enum status writer_forget_passed(struct writer *w, const char *path, struct error *err)
{
    struct batch_file file = {.path = path};
    struct batch b = {.files = &file, .file_count = 1};
    return write_begin(w, err) == OK ? clear_paths(w, &b, err) : err->status;
}

/* Layouts and facts that no checkpoint uses any more. */
static const char drop_orphans[] =
    "CREATE TEMP TABLE gone AS SELECT id FROM _layouts"
    "  WHERE id NOT IN (SELECT layout FROM _checkpoints);DELETE FROM _layout_tensors WHERE id" ID_OWNER
    "IN (SELECT id FROM gone);DELETE FROM _layout_nodes WHERE id" ID_OWNER
    "IN (SELECT id FROM gone);DELETE FROM _layout_modules WHERE id" ID_OWNER
    "IN (SELECT id FROM gone);DELETE FROM _layout_folds WHERE id" ID_OWNER
    "IN (SELECT id FROM gone);DELETE FROM _layout_blocks WHERE id IN (SELECT id FROM gone);"
    "DELETE FROM _layout_dtypes WHERE id" ID_OWNER
    "IN (SELECT id FROM gone);DELETE FROM _layout_kinds WHERE id" ID_OWNER
    "IN (SELECT id FROM gone);DELETE FROM _layout_alike WHERE id IN (SELECT id FROM gone);"
    "UPDATE _layout_alike SET first = (SELECT min(a.id) FROM _layout_alike a"
    "  WHERE a.sum = _layout_alike.sum AND a.digest = _layout_alike.digest) WHERE first IN (SELECT id FROM gone);"
    "DELETE FROM _layouts WHERE id IN (SELECT id FROM gone);DROP TABLE gone;"
    "DELETE FROM _meta_facts WHERE id" ID_OWNER
    "NOT IN  (SELECT meta FROM _checkpoints WHERE meta IS NOT NULL);"
    "DELETE FROM _metas WHERE id NOT IN  (SELECT meta FROM _checkpoints WHERE meta IS NOT NULL);"
    "DELETE FROM _long_facts WHERE id" ID_OWNER "NOT IN (SELECT id FROM _metas);"
    "DELETE FROM _long_texts WHERE id NOT IN (SELECT text FROM _long_facts)";

static void write_release(struct writer *w)
{
    for (int i = 0; i < STATEMENTS; i++)
        sqlite3_finalize(w->statement[i]);
    /* The module points into this struct. */
    sqlite3_create_module_v2(w->db, "ckptdb_feed", NULL, NULL, NULL);
    free(w);
}

/* Leave WAL mode, which SQLite refuses while another program has the catalog open; then the next
 * writer does it. Indexes are built after that, as their pages are then written only once. The
 * checkpoint comes first, because others can read during it, and it leaves little to do while
 * they cannot. */
static void leave_wal(sqlite3 *db)
{
    sqlite3_busy_timeout(db, 0);
    sqlite3_exec(db, "PRAGMA wal_checkpoint; PRAGMA journal_mode=DELETE", NULL, NULL, NULL);
    sqlite3_busy_timeout(db, DB_BUSY_MS);
}

enum status writer_close(struct writer *w, struct error *err)
{
    if (w->orphans && write_begin(w, err) == OK)
        db_exec(w->db, drop_orphans, err);
    if (err->status == OK && w->unnamed && write_begin(w, err) == OK)
        labels_renew(w->db, err);
    sqlite3 *db = w->db;
    if (err->status == OK && w->in_transaction && !w->wal)
        db_build_indexes(db, err);
    if (err->status == OK && write_commit(w, err) == OK) {
        write_release(w);
        leave_wal(db);
        return db_repair(db, err);
    }
    writer_abort(w);
    return err->status;
}

void writer_abort(struct writer *w)
{
    if (!w)
        return;
    sqlite3 *db = w->db;
    if (w->in_transaction)
        sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
    write_release(w);
    leave_wal(db);
}

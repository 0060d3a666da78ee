#include "catalog/db/write/writer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "catalog/db/ids.h"
#include "catalog/db/labels.h"
#include "catalog/db/write/write_rows.h"

#define COMMIT_SECONDS 2 /* the most work that a kill can undo */

/* KiB of pages. Without indexes rows are only appended, so full pages are not used again. */
#define CACHE_APPENDING 8192
#define CACHE_INDEXED   65536

static const char *const state_names[] = {
    [STATE_COMPLETE] = "complete",
    [STATE_INCOMPLETE] = "incomplete",
    [STATE_DAMAGED] = "damaged",
};

/* One more than the highest id; -1: *err says why. Never an id that is taken. */
static int64_t next_id(sqlite3 *db, const char *table, struct error *err)
{
    char sql[96];
    sqlite3_int64 id;
    snprintf(sql, sizeof(sql), "SELECT coalesce(max(id), 0) + 1 FROM %s", table);
    return db_number(db, sql, NO_NAME, "cannot read what is catalogued", &id, err) == OK ? id : -1;
}

/* --- opening ---------------------------------------------------------------------------- */

/* The writer's knowledge of the catalog is valid until another program writes, or the journal
 * mode changes. A catalog that was new a moment ago continues without indexes. */
static enum status learn(struct writer *w, struct error *err)
{
    struct error ignored = {.offset = NO_OFFSET};
    sqlite3_int64 version;
    if (db_number(w->db, "PRAGMA data_version", NO_NAME, NULL, &version, &ignored) != OK)
        version = -1;
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
    /* SQLite's cache matters where indexes are searched. */
    db_size_cache(w->db, w->indexes_wait || was_new ? -CACHE_APPENDING : -CACHE_INDEXED, &ignored);
    return w->indexes_wait || was_new ? OK : db_build_indexes(w->db, err);
}

static enum status write_begin(struct writer *w, struct error *err)
{
    if (w->in_transaction || write_exec(w, err, "BEGIN IMMEDIATE") != OK)
        return err->status;
    w->in_transaction = true;
    clock_gettime(CLOCK_MONOTONIC, &w->committed);
    return learn(w, err);
}

static enum status write_commit(struct writer *w, struct error *err)
{
    if (w->in_transaction && write_exec(w, err, "COMMIT") == OK)
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

static void take_over(struct writer *w, const char *looker, struct error *err)
{
    if (!looker || write_find(w, err, FIND_LOOKER, "s", looker) > 0)
        return;
    write_exec(w, err,
               "DELETE FROM _passed; DELETE FROM _looked;"
               "INSERT OR IGNORE INTO _outdated SELECT id FROM _checkpoints");
    write_row(w, err, PUT_LOOKER, "s", looker);
}

enum status writer_open(sqlite3 *db, const char *looker, int (*wait)(void *context, int times),
                        void *context, struct writer **out, struct error *err)
{
    struct writer *w = calloc(1, sizeof(*w));
    struct error ignored = {.offset = NO_OFFSET};
    if (!w)
        return error_memory(err);
    w->db = db;
    w->version = -1;
    if (db_repair(db, err) == OK) {
        if (wait)
            sqlite3_busy_handler(db, wait, context);
        /* The first rows of an empty catalog are written without WAL, straight into the file. */
        if (next_id(db, "_layouts", &ignored) != 1)
            enter_wal(w);
        write_rows_begin(w, err);
        write_begin(w, err);
        take_over(w, looker, err);
        w->blank = write_find(w, err, FIND_TRACES, "") == 0;
    }
    if (err->status == OK)
        *out = w;
    else
        writer_abort(w);
    return err->status;
}

/* --- one batch -------------------------------------------------------------------------- */

/* Delete what belongs to a checkpoint alone, before it is written again. */
static void clear_own(struct writer *w, int64_t id, struct error *err)
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
    write_exec(w, err, sql);
}

static void put_issues(struct writer *w, const struct batch *b, int64_t id, struct error *err)
{
    for (uint64_t i = 0; i < b->issue_count && err->status == OK; i++) {
        const struct batch_issue *issue = &b->issues[i];
        const int64_t offset = (int64_t)issue->offset;
        write_row(w, err, PUT_ISSUE, "pspsss", id > 0 ? &id : NULL, issue->path,
                  issue->offset != NO_OFFSET ? &offset : NULL, issue->warning ? "warning" : "error",
                  issue->code, issue->message);
    }
}

/* Delete the issues of files without a checkpoint, which are reported again with the file. */
static void clear_paths(struct writer *w, const struct batch *b, struct error *err)
{
    if (b->path)
        write_row(w, err, CLEAR_ISSUES, "s", b->path);
    if (b->folder && !b->failed)
        write_row(w, err, CLEAR_BELOW, "s", b->path);
    for (uint64_t i = 0; i < b->file_count && err->status == OK; i++) {
        const char *role = b->files[i].role;
        if (b->path && role && strcmp(role, "facts") == 0)
            continue; /* only facts came from it: its issues are the file's own */
        write_row(w, err, CLEAR_ISSUES, "s", b->files[i].path);
        write_row(w, err, CLEAR_PASSED, "s", b->files[i].path);
    }
    for (uint64_t i = 0; i < b->passed_count && err->status == OK; i++)
        write_row(w, err, CLEAR_ISSUES, "s", b->passed[i].path);
    for (uint64_t i = 0; !b->path && i < b->issue_count && err->status == OK; i++)
        write_row(w, err, CLEAR_ISSUES, "s", b->issues[i].path);
}

static int64_t newest(const struct batch *b)
{
    int64_t time = 0;
    for (uint64_t i = 0; i < b->file_count; i++)
        if (b->files[i].present && b->files[i].identity.mtime_ns > time)
            time = b->files[i].identity.mtime_ns;
    return time;
}

static void put_checkpoint(struct writer *w, const struct batch *b, int64_t id, bool known,
                           struct error *err)
{
    const struct batch_layout *l = b->layout;
    const int64_t stored = (int64_t)l->stored;
    int64_t layout;
    bool placed;
    write_layout(w, l, &layout, &placed, err);
    const int64_t meta = b->meta_count ? write_meta(w, b, err) : -1;
    write_row(w, err, known ? RENEW_CHECKPOINT : PUT_CHECKPOINT, "issspsipipiii", id, b->path,
              b->format, b->run, b->has_step ? &b->step : NULL, b->item, layout,
              meta >= 0 ? &meta : NULL, (int64_t)placed, l->stored_unknown ? NULL : &stored,
              (int64_t)b->file_count, newest(b), (int64_t)time(NULL));
    /* A checkpoint's name is its path until labels_renew() names all. */
    write_row(w, err, known ? RENEW_LABEL : PUT_LABEL, "iss", id, b->path, state_names[b->state]);
    w->unnamed = true;
    if (placed)
        write_placements(w, l, id, err);
}

static void commit_if_due(struct writer *w, struct error *err)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (err->status == OK && now.tv_sec - w->committed.tv_sec >= COMMIT_SECONDS &&
        write_commit(w, err) == OK && !w->wal)
        enter_wal(w);
}

static void put_found(struct writer *w, const struct batch *b, int64_t *id, struct error *err)
{
    bool outdated = false, known = *id >= 0;
    if (!known) {
        *id = w->next_checkpoint++;
    } else {
        write_outdated(w, *id, &outdated, err);
        clear_own(w, *id, err);
    }
    put_checkpoint(w, b, *id, known, err);
    for (uint64_t i = 0; i < b->file_count && err->status == OK; i++) {
        const struct batch_file *f = &b->files[i];
        write_row(w, err, PUT_FILE, "isfsi", (int64_t)((uint64_t)*id << SHIFT) + (int64_t)i,
                  f->path, f->present ? &f->identity : NULL, f->role, (int64_t)f->base);
    }
    if (b->sum_kind && b->sum_count)
        write_row(w, err, PUT_SUMS, "isb", *id, b->sum_kind,
                  (struct bytes){(const uint8_t *)b->sums, b->sum_count * sizeof(*b->sums)});
    if (outdated)
        write_renewed(w, *id, err);
}

enum status writer_put(struct writer *w, const struct batch *b, struct error *err)
{
    w->kept = false;
    write_begin(w, err);
    if (!w->blank)
        clear_paths(w, b, err);
    int64_t id = b->path ? write_find(w, err, FIND_CHECKPOINT, "s", b->path) : -1;
    if (err->status == OK && b->path && !b->failed && (id < 0 || !b->passes)) {
        put_found(w, b, &id, err);
    } else if (err->status == OK && id > 0) {
        /* What is catalogued stays, with issues that say what happened since; but hashes and
             * the like (17_content_drop.sql) describe the old contents, and go. A passing failure
             * changes nothing. */
        char sql[80];
        snprintf(sql, sizeof(sql), "DELETE FROM _issues WHERE checkpoint = %lld", (long long)id);
        /* Earlier imports left nothing to clear, but this one may have issues of the same
             * files. */
        if (!b->passes && w->blank)
            clear_paths(w, b, err);
        write_exec(w, err, sql);
        if (b->passes)
            w->kept = true;
        else
            write_row(w, err, PUT_STATE, "is", id, state_names[b->state]);
        if (!b->passes && b->state != STATE_COMPLETE)
            write_forget_content(w, id, err);
    }
    put_issues(w, b, id, err);
    for (uint64_t i = 0; i < b->passed_count && err->status == OK; i++) {
        write_row(w, err, PUT_PASSED, "sf", b->passed[i].path, &b->passed[i].identity);
        /* An earlier row was deleted together with the one that was replaced. */
        if (b->passed[i].kind)
            write_row(w, err, PUT_UNREAD, "ss", b->passed[i].path, b->passed[i].kind);
    }
    commit_if_due(w, err);
    return err->status;
}

/* --- dropping --------------------------------------------------------------------------- */

void writer_drop(struct writer *w, int64_t checkpoint, struct error *err)
{
    char sql[160];
    write_begin(w, err);
    clear_own(w, checkpoint, err);
    w->unnamed = true;
    snprintf(sql, sizeof(sql),
             "DELETE FROM _labels WHERE id = %lld; DELETE FROM _checkpoints WHERE id = %lld",
             (long long)checkpoint, (long long)checkpoint);
    write_exec(w, err, sql);
}

void writer_clear_walked(struct writer *w, const char *root, struct error *err)
{
    write_begin(w, err);
    write_row(w, err, CLEAR_WALKED, "s", root);
}

void writer_clear_settled(struct writer *w, struct error *err)
{
    write_begin(w, err);
    write_row(w, err, CLEAR_SETTLED, "");
}

void writer_vanished(struct writer *w, int64_t checkpoint, const char *path, struct error *err)
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
    write_begin(w, err);
    put_issues(w, &b, checkpoint, err);
}

void writer_clear_notes(struct writer *w, int64_t checkpoint, struct error *err)
{
    if (write_begin(w, err) == OK && !w->blank)
        write_row(w, err, CLEAR_NOTES, "i", checkpoint);
}

void writer_note(struct writer *w, const char *checkpoint, const struct batch_issue *issue,
                 struct error *err)
{
    struct batch b = {.issues = (struct batch_issue *)issue, .issue_count = 1};
    write_begin(w, err);
    const int64_t id = write_find(w, err, FIND_CHECKPOINT, "s", checkpoint);
    put_issues(w, &b, id, err);
}

void writer_forget_passed(struct writer *w, const char *path, struct error *err)
{
    struct batch_file file = {.path = path};
    struct batch b = {.files = &file, .file_count = 1};
    write_begin(w, err);
    clear_paths(w, &b, err);
}

static const char orphans[] =
    "CREATE TEMP TABLE gone AS SELECT id FROM _layouts"
    "  WHERE id NOT IN (SELECT layout FROM _checkpoints);DELETE FROM _layout_tensors WHERE id" ID_OWNER
    "IN (SELECT id FROM gone);DELETE FROM _layout_nodes WHERE id" ID_OWNER
    "IN (SELECT id FROM gone);DELETE FROM _layout_modules WHERE id" ID_OWNER
    "IN (SELECT id FROM gone);DELETE FROM _layout_folds WHERE id" ID_OWNER
    "IN (SELECT id FROM gone);DELETE FROM _layout_blocks WHERE id IN (SELECT id FROM gone);"
    "DELETE FROM _layout_checks WHERE id IN (SELECT id FROM gone);"
    "DELETE FROM _layout_module_sums WHERE id IN (SELECT id FROM gone);"
    "DELETE FROM _layout_columns WHERE id IN (SELECT id FROM gone);"
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

void writer_drop_orphans(sqlite3 *db, struct error *err)
{
    db_exec(db, orphans, err);
}

static void write_release(struct writer *w)
{
    write_rows_end(w);
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
        writer_drop_orphans(w->db, err);
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

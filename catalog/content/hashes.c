/*
 * hashes.c - hashes of tensors and checkpoints: a sweep over a checkpoint's tensors, in which
 * large unencoded tensors are cut into parts (part.h).
 */
#include "catalog/content/hashes.h"

#include <stdlib.h>

#include "catalog/base/text.h"
#include "catalog/content/current.h"
#include "catalog/content/keep.h"
#include "catalog/content/part.h"
#include "catalog/content/twins.h"
#include "catalog/db/ids.h"
#include "catalog/db/statement.h"

enum algorithm {
    CONTENT_HASH,
    CONTENT_SHA256,
};

struct run {
    const struct content_work *work;
    enum algorithm algorithm;
    struct digest_fold *fold;
    sqlite3_stmt *put, *link;
    void (*each)(void *context, const char *hex, const char *name);
    uint64_t uncommitted;
    bool tensor_failed, complete;
    bool tensor_passes; /* for a reason that may pass: its known hash stays */
    bool damaged;       /* some tensor failed for another reason */
};

/* --- on the caller's thread ----------------------------------------------------------------- */

static void keep_hash(struct run *run, const struct stored_tensor *t, struct error *err)
{
    struct digest_block hash;
    char text[DIGEST_TEXT];
    digest_fold_end(run->fold, &hash);
    digest_print(&hash, text);
    db_bind(run->put, "s", text);
    db_bind(run->link, "is", t->id, text);
    if (db_step(run->work->db, run->put, "cannot keep a hash", err) == OK)
        db_step(run->work->db, run->link, "cannot keep a hash", err);
}

/* Remove the hash of a tensor that could not be read. */
static void drop_hash(struct run *run, const struct stored_tensor *t, struct error *err)
{
    struct digest_block unused;
    digest_fold_end(run->fold, &unused);
    if (run->algorithm == CONTENT_HASH)
        db_run(run->work->db, err, NULL, "DELETE FROM _tensor_hashes WHERE id = ?1", "i", t->id);
}

static enum status content_take_outcome(void *context, const struct sweep_part *t, void *thing,
                                        struct error *err)
{
    struct run *run = context;
    const struct part_outcome *o = thing;
    const struct content_work *w = run->work;
    if (o->err.status == ERR_MEMORY || o->err.status == ERR_INTERRUPTED)
        return *err = o->err, err->status;
    if (o->err.status != OK && !run->tensor_failed) {
        run->tensor_failed = true;
        run->tensor_passes = status_passes(o->err.status);
        run->damaged |= !run->tensor_passes && !o->absent;
        run->complete = run->complete && o->absent;
        if (w->trouble && !o->absent)
            w->trouble(w->context, t->tensor->name, &o->err);
    }
    if (!run->tensor_failed && run->algorithm == CONTENT_HASH)
        digest_fold_add(run->fold, o->blocks, digest_block_count(t->len));
    if (!t->last)
        return OK;
    if (run->tensor_failed) {
        if (!run->tensor_passes)
            drop_hash(run, t->tensor, err);
    } else if (run->algorithm == CONTENT_HASH) {
        keep_hash(run, t->tensor, err);
    } else {
        char hex[2 * DIGEST_TEXT];
        digest_print(&o->blocks[0], hex);
        digest_print(&o->blocks[1], hex + DIGEST_TEXT - 1);
        run->each(run->work->context, hex, t->tensor->name);
    }
    run->tensor_failed = false;
    if (err->status == OK && run->algorithm == CONTENT_HASH)
        keep_bytes(w, t->tensor->id >> TENSOR_ORD_BITS, t->len, &run->uncommitted, err);
    return err->status;
}

/* --- sweeps --------------------------------------------------------------------------------- */

static void *content_make_outcome(void *context, const struct sweep_part *t, uint64_t *bytes)
{
    const struct run *run = context;
    return part_read(t, run->algorithm == CONTENT_HASH ? PART_HASHED : PART_SHA256, bytes);
}

/* Sweep over the tensors that have bytes of their own; `all`: also those that have a hash. */
static void run_checkpoint(struct run *run, int64_t checkpoint, bool all, const char *order,
                           struct error *err)
{
    struct text which = {0};
    text_adds(&which, "t.nbytes IS NOT NULL AND t.dtype NOT IN ('string', 'variant', 'resource')");
    if (!all)
        text_adds(&which, " AND NOT EXISTS (SELECT 1 FROM _tensor_hashes h WHERE h.id = t.id)");
    if (run->work->twins)
        text_addf(&which, " AND %s", twins_condition);
    const struct sweep sweep = {
        .db = run->work->db,
        .checkpoint = checkpoint,
        .which = text_str(&which),
        .order = order,
        .threads = run->work->threads,
        .context = run,
        .as_stored = true,
        .part = run->algorithm == CONTENT_HASH ? part_bytes : NULL,
        .make = content_make_outcome,
        .take = content_take_outcome,
        .drop = free,
        .watcher = run->work->context,
        .stop = run->work->stop,
        .progress = run->work->progress,
        .measured = run->work->measured,
    };
    run->fold = digest_fold_new();
    run->complete = true;
    if (!run->fold || !sweep.which)
        error_memory(err);
    else
        sweep_run(&sweep, err);
    text_release(&which);
    digest_fold_free(run->fold);
}

/* --- hashes --------------------------------------------------------------------------------- */

/* The lines that a checkpoint's hash is made of, sorted bytewise. */
static const char lines_sql[] =
    "SELECT t.name || char(9) || coalesce(t.dtype, '') || char(9) || coalesce(t.shape, '')"
    " || char(9) || coalesce(t.hash, 'none') || char(10) FROM tensor t"
    " WHERE t.checkpoint_id = ?1 ORDER BY 1";

/* Whether a checkpoint has tensors that could have a hash, but have none. */
static const char unhashed_sql[] =
    "SELECT EXISTS (SELECT 1 FROM tensor t WHERE t.checkpoint_id = ?1 AND t.hash IS NULL"
    " AND t.storage <> 'none' AND t.dtype NOT IN ('string', 'variant', 'resource'))";

static void hash_checkpoint(sqlite3 *db, int64_t checkpoint, struct error *err)
{
    struct digest *d = digest_new();
    struct digest_block hash;
    char text[DIGEST_TEXT];
    if (!d) {
        error_memory(err);
        return;
    }
    sqlite3_stmt *s = db_query_to(db, err, DB_READING, lines_sql, "i", checkpoint);
    while (db_row(s, "cannot list the tensors", err)) {
        const void *line = sqlite3_column_text(s, 0);
        if (line)
            digest_update(d, line, (size_t)sqlite3_column_bytes(s, 0));
        else
            error_memory(err);
    }
    sqlite3_finalize(s);
    digest_end(d, &hash);
    digest_free(d);
    digest_print(&hash, text);
    db_run(db, err, "cannot keep a hash",
           "INSERT OR REPLACE INTO _checkpoint_hashes"
           " SELECT id, ?2 FROM _checkpoints WHERE id = ?1",
           "is", checkpoint, text);
}

/* If only twins were hashed, other tensors may lack a hash; then the checkpoint gets none. */
static void hash_if_whole(const struct content_work *w, int64_t checkpoint, struct error *err)
{
    sqlite3_stmt *s =
        w->twins ? db_query_to(w->db, err, DB_READING, unhashed_sql, "i", checkpoint) : NULL;
    const bool whole = !w->twins || (db_row(s, "hashes", err) && !sqlite3_column_int(s, 0));
    sqlite3_finalize(s);
    if (whole)
        hash_checkpoint(w->db, checkpoint, err);
}

/* A checkpoint has a hash once all of its tensors have one. */
static bool is_known(sqlite3 *db, int64_t checkpoint, struct error *err)
{
    sqlite3_stmt *s = db_query_to(
        db, err, DB_READING, "SELECT 1 FROM _checkpoint_hashes WHERE id = ?1", "i", checkpoint);
    const bool known = db_row(s, "hashes", err);
    sqlite3_finalize(s);
    return known;
}

/* A checkpoint `d` of the same files, under other names, that is `known`. */
#define SAME_FILES(known)                                                                                 \
    "SELECT d.id FROM linked_checkpoints k JOIN linked_checkpoints o ON o.file = k.file AND o.id <> k.id" \
    " JOIN _checkpoints c ON c.id = k.id JOIN _checkpoints d ON d.id = o.id"                              \
    " WHERE k.id = ?1 AND d.layout = c.layout AND d.placed = c.placed AND d.format = c.format"            \
    "  AND (EXISTS (SELECT 1 FROM _tensor_hashes h WHERE h.id BETWEEN d.id" ID_FIRST                      \
    "AND d.id" ID_LAST ")" known                                                                          \
    ") AND NOT EXISTS (SELECT 1 FROM _files f LEFT JOIN _files g ON g.id = (d.id" ID_FIRST                \
    ") + (f.id" ID_ORD ") AND g.device = f.device AND g.inode = f.inode AND g.size = f.size"              \
    "   AND g.mtime_ns = f.mtime_ns AND g.base = f.base"                                                  \
    "   WHERE f.id BETWEEN c.id" ID_FIRST "AND c.id" ID_LAST                                              \
    " AND f.role = 'data' AND g.id IS NULL) LIMIT 1"

/* Tensors in links to files that were hashed under another name have the hashes found there. */
static void share_links(const struct content_work *w, int64_t checkpoint, struct error *err)
{
    static const char sql[] =
        "INSERT OR IGNORE INTO _tensor_hashes SELECT (?1" ID_FIRST ") + (x.id" ID_ORD
        "), x.hash FROM _tensor_hashes x JOIN (" SAME_FILES("") ") d ON x.id BETWEEN d.id" ID_FIRST
                                                                "AND d.id" ID_LAST;
    db_run(w->db, err, "cannot keep a hash", sql, "i", checkpoint);
}

/* Whether share_links() will have nothing left to read. What is measured and is not will be read. */
static bool will_share_links(const struct content_work *w, int64_t checkpoint, struct error *err)
{
    static const char due[] = "UPDATE linked_checkpoints SET due = 1 WHERE id = ?1";
    sqlite3_stmt *s = db_query_to(w->db, err, DB_READING, SAME_FILES(" OR o.due"), "i", checkpoint);
    const bool shares = db_row(s, "hashes", err);
    sqlite3_finalize(s);
    if (!shares)
        db_run(w->db, err, NULL, due, "i", checkpoint);
    return shares;
}

void content_find_links(sqlite3 *db, struct error *err)
{
    static const char sql[] =
        "CREATE TEMP TABLE IF NOT EXISTS linked_checkpoints (id INTEGER PRIMARY KEY, file TEXT NOT NULL, due INTEGER);"
        "CREATE INDEX IF NOT EXISTS temp.linked_checkpoints_by_file ON linked_checkpoints(file);"
        "DELETE FROM linked_checkpoints;"
        "INSERT OR IGNORE INTO linked_checkpoints(id, file) SELECT id" ID_OWNER
        ", device || ' ' || inode FROM"
        " (SELECT id, device, inode, count(*) OVER (PARTITION BY device, inode) AS names FROM _files"
        "  WHERE role = 'data' AND inode IS NOT NULL) WHERE names > 1 ORDER BY id";
    db_exec(db, sql, err);
}

static void compute(const struct content_work *w, int64_t checkpoint, bool *complete,
                    struct error *err)
{
    static const char put[] = "INSERT OR IGNORE INTO _content_hashes(hash) VALUES (?1)";
    /* No SELECT of rows: with a trigger, SQLite would copy them into a table first. */
    static const char link[] = "INSERT OR REPLACE INTO _tensor_hashes"
                               " VALUES (?1, (SELECT id FROM _content_hashes WHERE hash = ?2))";
    struct run run = {.work = w,
                      .algorithm = CONTENT_HASH,
                      .put = db_query_to(w->db, err, DB_READING, put, ""),
                      .link = db_query_to(w->db, err, DB_READING, link, "")};
    if (err->status == OK && !w->again && !w->measured)
        share_links(w, checkpoint, err);
    const bool shared = w->measured && !w->again && will_share_links(w, checkpoint, err);
    if (err->status == OK && !shared)
        run_checkpoint(&run, checkpoint, w->again, NULL, err);
    sqlite3_finalize(run.put);
    sqlite3_finalize(run.link);
    *complete = run.complete && err->status == OK;
    if (*complete && !w->measured)
        hash_if_whole(w, checkpoint, err);
    else if (err->status == OK && run.damaged) /* the known hash is wrong */
        db_run(w->db, err, NULL, "DELETE FROM _checkpoint_hashes WHERE id = ?1", "i", checkpoint);
}

enum status content_hash(const struct content_work *w, int64_t checkpoint, bool *complete,
                         struct error *err)
{
    *complete = w->measured || content_is_current(w, checkpoint, err);
    if (*complete && (w->again || !is_known(w->db, checkpoint, err)) && err->status == OK &&
        (w->measured || keep_begin(w, err) == OK))
        compute(w, checkpoint, complete, err);
    *complete = *complete && err->status == OK;
    return w->measured ? err->status : keep_pause(w, err);
}

void content_sha256(const struct content_work *w, int64_t checkpoint,
                    void (*each)(void *context, const char *hex, const char *name), bool *complete,
                    struct error *err)
{
    struct run run = {.work = w, .algorithm = CONTENT_SHA256, .each = each};
    run_checkpoint(&run, checkpoint, true, "t.ord", err);
    *complete = run.complete;
}

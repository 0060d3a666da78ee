#include "importer/verify.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "catalog/base/names.h"
#include "catalog/base/text.h"
#include "catalog/base/work.h"
#include "catalog/codec/codec.h"
#include "catalog/content/current.h"
#include "catalog/content/verify.h"
#include "catalog/db/schema.h"
#include "catalog/db/write.h"
#include "catalog/sql/open.h"
#include "catalog/store/directory.h"
#include "importer/job/job_run.h"
#include "importer/verify_private.h"

#define KEEP_SECONDS 2 /* so much work is lost to a kill, and to one checkpoint */

const char *verify_sql(const char *name)
{
    static const char folder[] = "schema/verify/";
    for (const struct schema_file *f = schema_files; f->path; f++)
        if (strncmp(f->path, folder, strlen(folder)) == 0 &&
            strcmp(f->path + strlen(folder), name) == 0)
            return f->text;
    return "";
}

static enum status prepare(sqlite3 *db, const char *sql, sqlite3_stmt **out,
                           struct error *err)
{
    return sqlite3_prepare_v2(db, sql, -1, out, NULL) == SQLITE_OK
               ? OK
               : db_error(db, "cannot read the catalog", err);
}

/* --- findings ------------------------------------------------------------------------------- */

static const char findings_sql[] =
    "CREATE TEMP TABLE found (checkpoint INTEGER, name TEXT, file TEXT, offset INTEGER,"
    " code TEXT, message TEXT);"
    "CREATE INDEX temp.found_by_checkpoint ON found(checkpoint)";

static void bind_text(sqlite3_stmt *s, int at, const char *text)
{
    if (text && *text)
        sqlite3_bind_text(s, at, text, -1, SQLITE_TRANSIENT);
    else
        sqlite3_bind_null(s, at);
}

static enum status put_row(struct verifier *v, int64_t checkpoint,
                           const char *const row[4], uint64_t offset, struct error *err)
{
    sqlite3_stmt *s = v->put_finding;
    sqlite3_bind_int64(s, 1, checkpoint);
    bind_text(s, 2, row[0]);
    bind_text(s, 3, row[1]);
    if (offset == NO_OFFSET)
        sqlite3_bind_null(s, 4);
    else
        sqlite3_bind_int64(s, 4, (sqlite3_int64)offset);
    bind_text(s, 5, row[2]);
    bind_text(s, 6, row[3]);
    return db_step(v->fresh, s, "cannot verify", err);
}

enum status verify_found(struct verifier *v, int64_t checkpoint, const char *name,
                         const struct error *what, struct error *err)
{
    const char *const row[4] = {name, what->source, error_word(what), what->message};
    return put_row(v, checkpoint, row, what->offset, err);
}

/* --- 1: headers and indexes, read anew ------------------------------------------------------ */

struct names {
    struct arena *arena;
    const char **at;
    uint64_t count;
    size_t space;
};

static bool add_name(void *context, const struct directory_entry *e)
{
    struct names *n = context;
    if (e->kind != ENTRY_FILE)
        return true;
    void *larger = arena_grow(n->arena, n->at, n->count, &n->space, sizeof(*n->at));
    const char *name = larger ? arena_copy(n->arena, e->name, strlen(e->name)) : NULL;
    if (!name)
        return false;
    n->at = larger;
    n->at[n->count++] = name;
    return true;
}

/* The files in a directory that is a checkpoint, or beside a primary file; those of the checkpoint
 * before where it lies in the same directory. */
static enum status list_siblings(struct verifier *v, struct verified *c,
                                 const struct verified *before, struct error *err)
{
    struct names n = {.arena = &v->arena};
    struct error ignored = {.offset = NO_OFFSET};
    const char *slash = strrchr(c->primary, '/');
    const size_t len = slash && slash != c->primary ? (size_t)(slash - c->primary) : 1;
    const char *directory = arena_copy(&v->arena, c->primary, len);
    if (!directory)
        return error_memory(err);
    c->directory = c->primary;
    if (directory_list(c->primary, 0, NULL, add_name, &n, &ignored) != OK) {
        c->directory = directory;
        if (before && strcmp(before->directory, directory) == 0) {
            c->siblings = before->siblings;
            c->sibling_count = before->sibling_count;
            return OK;
        }
        n.count = 0;
        error_clear(&ignored);
        directory_list(directory, 0, NULL, add_name, &n, &ignored);
    }
    names_sort(n.at, n.count);
    c->siblings = n.at;
    c->sibling_count = n.count;
    return OK;
}

static void *index_anew(void *context, uint64_t number, uint64_t *bytes)
{
    const struct verifier *v = context;
    const struct verified *c = &v->list[number];
    struct error err = {.offset = NO_OFFSET};
    struct batch *batch = NULL;
    const struct job_request request = {
        .format = c->format,
        .path = c->primary,
        .checkpoint_path = c->path,
        .siblings = c->siblings,
        .sibling_count = c->sibling_count,
        .reuse = v->reuse,
    };
    job_run_index(&request, &batch, &err);
    *bytes = batch ? batch->arena.used : 0;
    return batch;
}

static void drop_batch(void *batch)
{
    batch_free(batch);
}

/* What an import would warn of is no damage, but for a checksum that is wrong. */
static enum status keep_issues(struct verifier *v, struct verified *c,
                               const struct batch *b, struct error *err)
{
    for (uint64_t i = 0; i < b->issue_count && err->status == OK; i++) {
        const struct batch_issue *x = &b->issues[i];
        const char *const row[4] = {NULL, x->path, x->code, x->message};
        c->unread |= strcmp(x->code, status_name(ERR_IO)) == 0 ||
                     strcmp(x->code, status_name(ERR_MEMORY)) == 0;
        if (!x->warning || strcmp(x->code, "checksum") == 0)
            put_row(v, c->id, row, x->offset, err);
    }
    return err->status;
}

static enum status take_batch(void *context, uint64_t number, void *batch,
                              struct error *err)
{
    struct verifier *v = context;
    const struct batch *b = batch;
    if (keep_issues(v, &v->list[number], b, err) == OK && !b->failed)
        writer_put(v->writer, b, err);
    if (v->options->progress)
        v->options->progress(v->options->context, "checkpoints", number + 1, v->readable);
    return err->status;
}

static bool stopped(void *context)
{
    const struct verify_options *o = ((const struct verifier *)context)->options;
    return o->stop && o->stop(o->context);
}

static enum status find_fresh(struct verifier *v, struct error *err)
{
    sqlite3_stmt *s = NULL;
    if (prepare(v->fresh, "SELECT id FROM main.checkpoints WHERE path = ?1", &s, err) !=
        OK)
        return err->status;
    for (size_t i = 0; i < v->count && err->status == OK; i++) {
        sqlite3_bind_text(s, 1, v->list[i].path, -1, SQLITE_STATIC);
        const int rc = sqlite3_step(s);
        v->list[i].fresh = rc == SQLITE_ROW ? sqlite3_column_int64(s, 0) : 0;
        if (rc != SQLITE_ROW && rc != SQLITE_DONE)
            db_error(v->fresh, NULL, err);
        sqlite3_reset(s);
    }
    sqlite3_finalize(s);
    return err->status;
}

static enum status index_all(struct verifier *v, struct error *err)
{
    const struct work work = {.count = v->readable,
                              .threads = v->options->threads,
                              .context = v,
                              .make = index_anew,
                              .take = take_batch,
                              .drop = drop_batch,
                              .stop = stopped};
    v->reuse = reuse_new();
    if (!v->reuse)
        return error_memory(err);
    if (writer_open(v->fresh, NULL, NULL, NULL, &v->writer, err) == OK) {
        if (work_run(&work, err) == OK)
            writer_close(v->writer, err);
        else
            writer_abort(v->writer);
    }
    reuse_free(v->reuse);
    return err->status == OK ? find_fresh(v, err) : err->status;
}

/* --- 2: compared with the catalog ----------------------------------------------------------- */

static enum status attach(struct verifier *v, struct error *err)
{
    sqlite3_stmt *s = NULL;
    struct text uri = {0};
    const char *path = sqlite3_db_filename(v->catalog, "main");
    text_adds(&uri, "file:");
    for (const char *c = path; c && *c; c++) {
        if (strchr("%?#", *c))
            text_addf(&uri, "%%%02X", (unsigned char)*c);
        else
            text_addc(&uri, *c);
    }
    text_adds(&uri, "?mode=ro");
    if (!text_str(&uri))
        error_memory(err);
    else if (prepare(v->fresh, "ATTACH ?1 AS known", &s, err) == OK) {
        sqlite3_bind_text(s, 1, text_str(&uri), -1, SQLITE_STATIC);
        db_step(v->fresh, s, "cannot verify", err);
    }
    sqlite3_finalize(s);
    text_release(&uri);
    return err->status == OK ? db_exec(v->fresh, verify_sql("views.sql"), err)
                             : err->status;
}

/* In what a file is another one than that which was indexed. */
static enum status compare_file(struct verifier *v, struct verified *c, sqlite3_stmt *s,
                                struct error *err)
{
    const char *path = (const char *)sqlite3_column_text(s, 0);
    struct error what = {.offset = NO_OFFSET};
    struct file_identity now;
    const struct file_identity then = {
        .size = (uint64_t)sqlite3_column_int64(s, 1),
        .mtime_ns = sqlite3_column_int64(s, 2),
        .inode = (uint64_t)sqlite3_column_int64(s, 3),
        .device = (uint64_t)sqlite3_column_int64(s, 4),
    };
    if (file_identify(path, &now, &what) == OK && !file_same(&now, &then)) {
        if (now.size < then.size)
            error_set(&what, ERR_CHANGED, path, now.size,
                      "it ends here, and had %llu bytes when it was indexed",
                      (unsigned long long)then.size);
        else if (now.size > then.size)
            error_set(&what, ERR_CHANGED, path, then.size,
                      "it has %llu bytes, and ended here when it was indexed",
                      (unsigned long long)now.size);
        else
            error_set(&what, ERR_CHANGED, path, NO_OFFSET,
                      now.mtime_ns != then.mtime_ns
                          ? "it was written to since it was indexed"
                          : "it is another file than the one that was indexed");
    }
    c->changed = c->changed || what.status != OK;
    return what.status == OK ? OK : verify_found(v, c->id, NULL, &what, err);
}

static enum status compare_files(struct verifier *v, struct verified *c,
                                 struct error *err)
{
    static const char sql[] =
        "SELECT path, size, mtime_ns, inode, device FROM known.files"
        " WHERE id BETWEEN ?1 << 24 AND (?1 << 24) + 16777215 AND size IS NOT NULL";
    sqlite3_stmt *s = NULL;
    int rc = SQLITE_DONE;
    if (prepare(v->fresh, sql, &s, err) != OK)
        return err->status;
    sqlite3_bind_int64(s, 1, c->id);
    while (err->status == OK && (rc = sqlite3_step(s)) == SQLITE_ROW)
        compare_file(v, c, s, err);
    if (err->status == OK && rc != SQLITE_DONE)
        db_error(v->fresh, "cannot list the files", err);
    sqlite3_finalize(s);
    return err->status;
}

static void bind_both(sqlite3_stmt *s, const struct verified *c)
{
    const int known = sqlite3_bind_parameter_index(s, ":known");
    const int fresh = sqlite3_bind_parameter_index(s, ":fresh");
    if (known)
        sqlite3_bind_int64(s, known, c->id);
    if (fresh)
        sqlite3_bind_int64(s, fresh, c->fresh);
}

/* The rows of a query become findings. */
static enum status compare_by(struct verifier *v, const struct verified *c,
                              const char *query, struct error *err)
{
    struct text sql = {0};
    sqlite3_stmt *s = NULL;
    text_addf(&sql, "INSERT INTO temp.found SELECT :known, * FROM (\n%s)",
              verify_sql(query));
    if (!text_str(&sql))
        error_memory(err);
    else if (prepare(v->fresh, text_str(&sql), &s, err) == OK) {
        bind_both(s, c);
        db_step(v->fresh, s, "cannot verify", err);
    }
    sqlite3_finalize(s);
    text_release(&sql);
    return err->status;
}

static enum status layouts_agree(struct verifier *v, const struct verified *c,
                                 bool *agree, struct error *err)
{
    sqlite3_stmt *s = NULL;
    if (prepare(v->fresh, verify_sql("same.sql"), &s, err) != OK)
        return err->status;
    bind_both(s, c);
    *agree = sqlite3_step(s) == SQLITE_ROW;
    sqlite3_finalize(s);
    return OK;
}

/* Where a file is another one, that says it all, but for chunks: they are no files of the
 * catalog, and one that went away changes its directory. */
static enum status compare(struct verifier *v, struct verified *c, struct error *err)
{
    bool agree = false;
    if (compare_files(v, c, err) != OK || !c->fresh || c->unread ||
        layouts_agree(v, c, &agree, err) != OK ||
        (!agree && verify_grids(v, c, err) != OK) || c->changed)
        return err->status;
    /* Where tensors are others, the checksums of others stand in their places. */
    if (compare_by(v, c, agree ? "sum.sql" : "header.sql", err) == OK)
        compare_by(v, c, "fact.sql", err);
    return err->status;
}

/* --- 3: all data ---------------------------------------------------------------------------- */

struct reading {
    struct verifier *verifier;
    struct verified *checkpoint;
    struct arena arena;
    struct strmap covered; /* runs whose checksum was found right */
};

static enum status found_in_data(void *context, const char *name,
                                 const struct error *what, struct error *err)
{
    struct reading *r = context;
    return verify_found(r->verifier, r->checkpoint->id, name, what, err);
}

size_t verify_run_key(char *key, const char *path, uint64_t offset)
{
    const size_t len = strlen(path);
    if (len > RUN_KEY_BYTES - sizeof(offset))
        return 0;
    memcpy(key, &offset, sizeof(offset));
    memcpy(key + sizeof(offset), path, len);
    return len + sizeof(offset);
}

/* A member of an archive, that a tensor is all of, needs no second look. */
static enum status cover(void *context, const struct stored_tensor *t, struct error *err)
{
    struct reading *r = context;
    char key[RUN_KEY_BYTES];
    for (uint64_t i = 0;
         t->sums && strcmp(t->sum_kind, "crc32") == 0 && i < t->extent_count; i++) {
        const struct extent *e = &t->extents[i];
        const char *chain = e->codec ? e->codec : t->codec;
        uint64_t before = 0;
        bool added;
        if (e->file == NO_FILE || !t->sums[i])
            continue;
        codec_chain_argument(chain, "member", &before);
        const struct stored_file *f = &t->files[e->file];
        const size_t len = verify_run_key(key, f->path, e->offset + f->base - before);
        if (len &&
            !strmap_keep(&r->covered, &r->arena, key, len, &(const char *){NULL}, &added))
            return error_memory(err);
    }
    return OK;
}

static bool reading_stopped(void *context)
{
    return stopped(((struct reading *)context)->verifier);
}

static void reading_progress(void *context, uint64_t done, uint64_t total)
{
    const struct verify_options *o = ((struct reading *)context)->verifier->options;
    if (o->progress)
        o->progress(o->context, "B", done, total);
}

/* The hashes that a checkpoint's tensors are to have; *out stays NULL where there are none. */
static enum status open_hashes(struct verifier *v, const struct verified *c,
                               sqlite3_stmt **out, struct error *err)
{
    static const char any[] =
        "SELECT 1 FROM known.tensor_hashes"
        " WHERE id BETWEEN ?1 << 24 AND (?1 << 24) + 16777215 LIMIT 1";
    static const char one[] =
        "SELECT t.hash FROM known.tensor t WHERE t.checkpoint_id = ?2 AND t.name = ?1"
        " AND t.hash IS NOT NULL";
    sqlite3_stmt *s = NULL;
    if (c->changed || prepare(v->fresh, any, &s, err) != OK)
        return err->status;
    sqlite3_bind_int64(s, 1, c->id);
    const bool some = sqlite3_step(s) == SQLITE_ROW;
    sqlite3_finalize(s);
    if (some && prepare(v->fresh, one, out, err) == OK)
        sqlite3_bind_int64(*out, 2, c->id);
    return err->status;
}

static enum status read_data(struct verifier *v, struct verified *c, struct error *err)
{
    struct reading r = {.verifier = v, .checkpoint = c};
    struct verify_data data = {
        .db = v->fresh,
        .checkpoint = c->fresh,
        .threads = v->options->threads,
        .context = &r,
        .found = found_in_data,
        .fine = cover,
        .stop = reading_stopped,
        .progress = reading_progress,
    };
    if (open_hashes(v, c, &data.hash, err) == OK && verify_data(&data, err) == OK)
        verify_archives(v, c, &r.covered, err);
    sqlite3_finalize(data.hash);
    strmap_release(&r.covered);
    arena_release(&r.arena);
    return err->status;
}

/* --- the results ---------------------------------------------------------------------------- */

static enum status copy_rows(struct verifier *v, const struct verified *c,
                             struct error *err)
{
    sqlite3_stmt *from = NULL, *to = NULL;
    int rc = SQLITE_DONE;
    if (prepare(v->fresh,
                "SELECT DISTINCT * FROM temp.found WHERE checkpoint = ?1"
                " ORDER BY file, offset, name, code LIMIT 10000",
                &from, err) == OK &&
        prepare(v->catalog, "INSERT INTO damages VALUES (?1, ?2, ?3, ?4, ?5, ?6)", &to,
                err) == OK) {
        sqlite3_bind_int64(from, 1, c->id);
        while (err->status == OK && (rc = sqlite3_step(from)) == SQLITE_ROW) {
            for (int i = 0; i < 6; i++)
                sqlite3_bind_value(to, i + 1, sqlite3_column_value(from, i));
            db_step(v->catalog, to, "cannot verify", err);
        }
        if (err->status == OK && rc != SQLITE_DONE)
            db_error(v->fresh, NULL, err);
    }
    sqlite3_finalize(from);
    sqlite3_finalize(to);
    return err->status;
}

/* What was compared is not of a checkpoint that was imported anew or forgotten meanwhile. */
static bool is_as_it_was(struct verifier *v, const struct verified *c, struct error *err)
{
    char *now = content_stamp(v->catalog, c->id, err);
    const bool same = now && strcmp(now, c->stamp) == 0;
    if (now && !same && v->options->renewed)
        v->options->renewed(v->options->context, c->path);
    sqlite3_free(now);
    return same;
}

static enum status keep_result(struct verifier *v, const struct verified *c,
                               struct error *err)
{
    char sql[400];
    if (!is_as_it_was(v, c, err))
        return err->status;
    snprintf(sql, sizeof(sql),
             "DELETE FROM damages WHERE checkpoint = %lld;"
             "INSERT OR REPLACE INTO verifications"
             " VALUES (%lld, %lld, %d, 1)",
             (long long)c->id, (long long)c->id, (long long)time(NULL),
             v->options->quick);
    return db_exec(v->catalog, sql, err) == OK ? copy_rows(v, c, err) : err->status;
}

/* All are verified: the next run begins anew. */
static enum status end_run(struct verifier *v, struct error *err)
{
    return db_exec(v->catalog, "UPDATE verifications SET open = 0 WHERE open", err);
}

/* What is verified and not kept yet, in one transaction: now and then, and at the end. */
static enum status keep_results(struct verifier *v, struct error *err)
{
    if (v->kept == v->at || db_exec(v->catalog, "BEGIN IMMEDIATE", err) != OK)
        return err->status;
    for (size_t i = v->kept; i < v->at && err->status == OK; i++)
        keep_result(v, &v->list[i], err);
    if (err->status == OK && v->at == v->count)
        end_run(v, err);
    if (err->status == OK && db_exec(v->catalog, "COMMIT", err) == OK)
        v->kept = v->at;
    else
        sqlite3_exec(v->catalog, "ROLLBACK", NULL, NULL, NULL);
    v->kept_at = time(NULL);
    return err->status;
}

/* --- all of it ------------------------------------------------------------------------------ */

static enum status add_checkpoint(struct verifier *v, sqlite3_stmt *s, struct error *err)
{
    struct verified *c = &v->list[v->count];
    const char *path = (const char *)sqlite3_column_text(s, 1);
    const char *primary = (const char *)sqlite3_column_text(s, 3);
    *c = (struct verified){.id = sqlite3_column_int64(s, 0),
                           .format =
                               format_named((const char *)sqlite3_column_text(s, 2))};
    const char *stamp = (const char *)sqlite3_column_text(s, 5);
    c->path = arena_copy(&v->arena, path, strlen(path));
    c->stamp = stamp ? arena_copy(&v->arena, stamp, strlen(stamp)) : NULL;
    c->primary = primary ? arena_copy(&v->arena, primary, strlen(primary)) : c->path;
    if (!c->path || !c->primary || !c->stamp)
        return error_memory(err);
    if (c->format && list_siblings(v, c, v->count ? c - 1 : NULL, err) == OK)
        v->readable++;
    v->count++;
    return err->status;
}

static enum status load(struct verifier *v, size_t *skipped, struct error *err)
{
    static const char sql[] =
        "SELECT c.id, c.path, c.format, (SELECT f.path FROM files f WHERE f.id = c.id << 24),"
        " NOT ?2 AND EXISTS (SELECT 1 FROM verifications v WHERE v.id = c.id AND v.open"
        "                    AND v.quick <= ?3),"
        " " CONTENT_STAMP " FROM json_each(?1) j JOIN checkpoints c ON c.id = j.value"
        " ORDER BY c.format NOT IN (SELECT value FROM json_each(?4)), 4, 2";
    struct text ids = {0}, known = {0};
    sqlite3_stmt *s = NULL;
    int rc = SQLITE_DONE;
    text_addc(&ids, '[');
    for (size_t i = 0; i < v->options->count; i++)
        text_addf(&ids, "%s%lld", i ? "," : "", (long long)v->options->ids[i]);
    text_addc(&ids, ']');
    for (size_t i = 0; formats[i]; i++)
        text_addf(&known, "%s\"%s\"", i ? "," : "[", formats[i]->name);
    text_addc(&known, ']');
    v->list = calloc(v->options->count + 1, sizeof(*v->list));
    if (!v->list || !text_str(&ids) || !text_str(&known))
        error_memory(err);
    else if (prepare(v->catalog, sql, &s, err) == OK) {
        sqlite3_bind_text(s, 4, text_str(&known), -1, SQLITE_STATIC);
        sqlite3_bind_text(s, 1, text_str(&ids), -1, SQLITE_STATIC);
        sqlite3_bind_int(s, 2, v->options->again);
        sqlite3_bind_int(s, 3, v->options->quick);
        while (err->status == OK && (rc = sqlite3_step(s)) == SQLITE_ROW) {
            if (sqlite3_column_int(s, 4))
                ++*skipped;
            else
                add_checkpoint(v, s, err);
        }
        if (err->status == OK && rc != SQLITE_DONE)
            db_error(v->catalog, "cannot list the checkpoints", err);
    }
    sqlite3_finalize(s);
    text_release(&ids);
    text_release(&known);
    return err->status;
}

static enum status not_readable(struct verifier *v, const struct verified *c,
                                struct error *err)
{
    struct error what = {.offset = NO_OFFSET};
    error_set(&what, ERR_UNSUPPORTED, c->path, NO_OFFSET,
              "its format is none of this program's: it cannot be verified");
    return verify_found(v, c->id, NULL, &what, err);
}

static enum status verify_one(struct verifier *v, struct verified *c, struct error *err)
{
    if (stopped(v))
        return error_set(err, ERR_INTERRUPTED, NULL, NO_OFFSET, "interrupted");
    if (!c->format)
        return not_readable(v, c, err);
    if (compare(v, c, err) == OK && c->fresh && !c->unread && !v->options->quick)
        read_data(v, c, err);
    return err->status;
}

static enum status verify_each(struct verifier *v, struct error *err)
{
    struct error keeping = {.offset = NO_OFFSET};
    while (v->at < v->count && verify_one(v, &v->list[v->at], err) == OK) {
        v->at++;
        if (time(NULL) > v->kept_at + KEEP_SECONDS && keep_results(v, err) != OK)
            return err->status;
    }
    if (keep_results(v, &keeping) != OK && err->status == OK)
        *err = keeping;
    return err->status;
}

static enum status open_fresh(struct verifier *v, struct error *err)
{
    return db_open("", DB_SCRATCH, &v->fresh, err) == OK &&
                   db_exec(v->fresh, findings_sql, err) == OK &&
                   prepare(v->fresh,
                           "INSERT INTO temp.found VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
                           &v->put_finding, err) == OK
               ? OK
               : err->status;
}

enum status verify_run(sqlite3 *catalog, const struct verify_options *options,
                       size_t *skipped, struct error *err)
{
    struct verifier v = {.options = options, .catalog = catalog};
    *skipped = 0;
    if (load(&v, skipped, err) == OK && v.count && open_fresh(&v, err) == OK &&
        index_all(&v, err) == OK && attach(&v, err) == OK)
        verify_each(&v, err);
    if (err->status == OK && !v.count)
        end_run(&v, err);
    sqlite3_finalize(v.put_finding);
    db_close(v.fresh);
    arena_release(&v.arena);
    free(v.list);
    return err->status;
}

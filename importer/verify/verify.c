#include "importer/verify/verify.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "catalog/base/text.h"
#include "catalog/content/current.h"
#include "catalog/content/verify_data.h"
#include "catalog/data/codec/codec.h"
#include "catalog/db/ids.h"
#include "catalog/sql/open.h"
#include "importer/import.h"
#include "importer/job/job_run.h"
#include "importer/verify/verify_private.h"

#define FINDINGS_MAX 10000 /* that are kept of a checkpoint */
#define KEEP_SECONDS 2     /* a kill loses this much work, and one checkpoint */

enum status verify_prepare(sqlite3 *db, const char *sql, sqlite3_stmt **out, struct error *err)
{
    return sqlite3_prepare_v2(db, sql, -1, out, NULL) == SQLITE_OK
               ? OK
               : db_error(db, "cannot read the catalog", err);
}

bool verify_stopped(void *context)
{
    const struct verify_options *o = ((const struct verifier *)context)->options;
    return o->stop && o->stop(o->context);
}

/* --- findings ------------------------------------------------------------------------------- */

static const char findings_sql[] =
    "CREATE TEMP TABLE found (checkpoint INTEGER, name TEXT, file TEXT, offset INTEGER,"
    " code TEXT, message TEXT);CREATE INDEX temp.found_by_checkpoint ON found(checkpoint)";

static void bind_text(sqlite3_stmt *s, int at, const char *text)
{
    if (text && *text)
        sqlite3_bind_text(s, at, text, -1, SQLITE_STATIC);
    else
        sqlite3_bind_null(s, at);
}

enum status verify_put(struct verifier *v, int64_t checkpoint, const char *const row[4],
                       uint64_t offset, struct error *err)
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
    return verify_put(v, checkpoint, row, what->offset, err);
}

/* --- all data ------------------------------------------------------------------------------- */

struct reading {
    struct verifier *verifier;
    struct verified *checkpoint;
    struct arena arena;
    /* Byte ranges whose checksum was right, or whose damage was told */
    struct strmap covered;
};

static enum status found_in_data(void *context, const char *name, const struct error *what,
                                 struct error *err)
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

/* Whether reading a tensor has said of this extent what there is to say. */
static bool is_covered(const struct stored_tensor *t, const struct extent *e,
                       const struct error *damage)
{
    const struct stored_file *f = &t->files[e->file];
    return damage->status == OK || t->extent_count == 1 ||
           (damage->offset == e->offset + f->base && strcmp(damage->source, f->path) == 0);
}

/* Remember the ranges that a tensor's checksums have covered. If a tensor is a whole member
 * of an archive, verify_archives() need not check that member. */
static enum status cover(void *context, const struct stored_tensor *t, const struct error *damage,
                         struct error *err)
{
    struct reading *r = context;
    char key[RUN_KEY_BYTES];
    for (uint64_t i = 0; t->sums && strcmp(t->sum_kind, "crc32") == 0 && i < t->extent_count; i++) {
        const struct extent *e = &t->extents[i];
        const char *chain = e->codec ? e->codec : t->codec;
        uint64_t before = 0;
        bool added;
        if (e->file == NO_FILE || !t->sums[i] || !is_covered(t, e, damage))
            continue;
        codec_chain_argument(chain, "member", &before);
        const struct stored_file *f = &t->files[e->file];
        const size_t len = verify_run_key(key, f->path, e->offset + f->base - before);
        if (len && !strmap_keep(&r->covered, &r->arena, key, len, &(const char *){NULL}, &added))
            return error_memory(err);
    }
    return OK;
}

static bool reading_stopped(void *context)
{
    return verify_stopped(((struct reading *)context)->verifier);
}

static void reading_progress(void *context, uint64_t done, uint64_t total)
{
    const struct verify_options *o = ((struct reading *)context)->verifier->options;
    if (o->progress)
        o->progress(o->context, "B", done, total);
}

/* A query for the hashes that the checkpoint's tensors should have;
 * *out stays NULL if there are none. */
static enum status open_hashes(struct verifier *v, const struct verified *c, sqlite3_stmt **out,
                               struct error *err)
{
    static const char any[] = "SELECT 1 FROM known._tensor_hashes WHERE id BETWEEN ?1" ID_FIRST
                              "AND ?1" ID_LAST "LIMIT 1";
    static const char one[] =
        "SELECT t.hash FROM known.tensor t WHERE t.checkpoint_id = ?2 AND t.name = ?1"
        " AND t.hash IS NOT NULL";
    sqlite3_stmt *s = NULL;
    if (c->changed || verify_prepare(v->fresh, any, &s, err) != OK)
        return err->status;
    sqlite3_bind_int64(s, 1, c->id);
    const bool some = db_row(s, "hashes", err);
    sqlite3_finalize(s);
    if (some && verify_prepare(v->fresh, one, out, err) == OK)
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
        .read = cover,
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

static enum status copy_rows(struct verifier *v, const struct verified *c, struct error *err)
{
    sqlite3_stmt *from = NULL, *to = NULL;
    int rc = SQLITE_DONE;
    if (verify_prepare(v->fresh,
                       "WITH all_found AS MATERIALIZED ("
                       " SELECT DISTINCT * FROM temp.found WHERE checkpoint = ?1)SELECT * FROM ("
                       " SELECT * FROM all_found ORDER BY file, offset, name, code LIMIT ?2)"
                       "UNION ALL SELECT ?1, NULL, NULL, NULL, 'limit',"
                       " printf('%d more findings are not listed', count(*) - ?2)"
                       " FROM all_found HAVING count(*) > ?2",
                       &from, err) == OK &&
        verify_prepare(v->catalog, "INSERT INTO _damages VALUES (?1, ?2, ?3, ?4, ?5, ?6)", &to,
                       err) == OK) {
        sqlite3_bind_int64(from, 1, c->id);
        sqlite3_bind_int(from, 2, FINDINGS_MAX);
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

/* Whether the catalog's checkpoint is still the one that was compared: it may have been
 * imported again or forgotten meanwhile. */
static bool is_as_it_was(struct verifier *v, const struct verified *c, struct error *err)
{
    char *now = content_stamp(v->catalog, c->id, err);
    const bool same = now && strcmp(now, c->stamp) == 0;
    if (now && !same && v->options->renewed)
        v->options->renewed(v->options->context, c->path);
    sqlite3_free(now);
    return same;
}

static enum status keep_result(struct verifier *v, const struct verified *c, struct error *err)
{
    char sql[400];
    if (!is_as_it_was(v, c, err))
        return err->status;
    snprintf(sql, sizeof(sql),
             "DELETE FROM _damages WHERE checkpoint = %lld;INSERT OR REPLACE INTO _verifications"
             " VALUES (%lld, %lld, %d, 1)",
             (long long)c->id, (long long)c->id, (long long)time(NULL), v->options->quick);
    return db_exec(v->catalog, sql, err) == OK ? copy_rows(v, c, err) : err->status;
}

/* All are verified: the next run starts from the beginning. */
static enum status end_run(struct verifier *v, struct error *err)
{
    return db_exec(v->catalog, "UPDATE _verifications SET open = 0 WHERE open", err);
}

/* Keep all results that are not in the catalog yet, in one transaction.
 * Called now and then, and at the end. */
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

/* --- the whole verification ----------------------------------------------------------------- */

static enum status add_checkpoint(struct verifier *v, sqlite3_stmt *s, struct error *err)
{
    struct verified *c = &v->list[v->count];
    const char *path = (const char *)sqlite3_column_text(s, 1);
    const char *format = (const char *)sqlite3_column_text(s, 2);
    const char *primary =
        sqlite3_column_type(s, 3) == SQLITE_NULL ? path : (const char *)sqlite3_column_text(s, 3);
    const char *stamp = (const char *)sqlite3_column_text(s, 5);
    if (!path || !format || !primary || !stamp)
        return error_memory(err);
    *c = (struct verified){.id = sqlite3_column_int64(s, 0),
                           .format = format_named(format),
                           .by_this_program = sqlite3_column_int(s, 6) != 0};
    c->path = arena_copy(&v->arena, path, strlen(path));
    c->stamp = arena_copy(&v->arena, stamp, strlen(stamp));
    c->primary = arena_copy(&v->arena, primary, strlen(primary));
    if (!c->path || !c->primary || !c->stamp)
        return error_memory(err);
    if (c->format && verify_siblings(v, c, err) == OK)
        v->readable++;
    v->count++;
    return err->status;
}

static enum status verify_load(struct verifier *v, size_t *skipped, struct error *err)
{
    static const char sql[] =
        "SELECT c.id, c.path, c.format, (SELECT f.path FROM _files f WHERE f.id = c.id" ID_FIRST
        "), NOT ?2 AND EXISTS (SELECT 1 FROM _verifications v WHERE v.id = c.id AND v.open"
        "                    AND v.quick <= ?3), " CONTENT_STAMP
        ", (SELECT looker FROM _looked) IS ?5 AND c.id NOT IN (SELECT id FROM _outdated)"
        " FROM json_each(?1) j JOIN _checkpoints c ON c.id = j.value"
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
    else if (verify_prepare(v->catalog, sql, &s, err) == OK) {
        sqlite3_bind_text(s, 4, text_str(&known), -1, SQLITE_STATIC);
        sqlite3_bind_text(s, 1, text_str(&ids), -1, SQLITE_STATIC);
        sqlite3_bind_int(s, 2, v->options->again);
        sqlite3_bind_int(s, 3, v->options->quick);
        sqlite3_bind_text(s, 5, import_program, -1, SQLITE_STATIC);
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

static enum status not_readable(struct verifier *v, const struct verified *c, struct error *err)
{
    struct error what = {.offset = NO_OFFSET};
    error_set(&what, ERR_UNSUPPORTED, c->path, NO_OFFSET,
              "its format is none of this program's: it cannot be verified");
    return verify_found(v, c->id, NULL, &what, err);
}

static enum status verify_one(struct verifier *v, struct verified *c, struct error *err)
{
    if (verify_stopped(v))
        return error_set(err, ERR_INTERRUPTED, NULL, NO_OFFSET, "interrupted");
    if (!c->format)
        return not_readable(v, c, err);
    /* Without its neighbours, facts and shards would only seem to be gone. */
    if (status_passes(c->unlisted.status)) {
        c->unread = true;
        if (verify_found(v, c->id, NULL, &c->unlisted, err) != OK)
            return err->status;
    }
    if (verify_compare(v, c, err) == OK && c->fresh && !c->unread && !v->options->quick)
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
                   verify_prepare(v->fresh,
                                  "INSERT INTO temp.found VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
                                  &v->put_finding, err) == OK
               ? OK
               : err->status;
}

enum status verify_run(sqlite3 *catalog, const struct verify_options *options, size_t *skipped,
                       struct error *err)
{
    struct verifier v = {.options = options, .catalog = catalog};
    *skipped = 0;
    if (verify_load(&v, skipped, err) == OK && v.count && open_fresh(&v, err) == OK &&
        verify_index(&v, err) == OK && verify_attach(&v, err) == OK)
        verify_each(&v, err);
    if (err->status == OK && !v.count)
        end_run(&v, err);
    sqlite3_finalize(v.put_finding);
    db_close(v.fresh);
    strmap_release(&v.listers);
    arena_release(&v.arena);
    free(v.list);
    return err->status;
}

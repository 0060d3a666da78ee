#include "importer/verify/verify.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "catalog/base/text.h"
#include "catalog/content/current.h"
#include "catalog/content/verify_data.h"
#include "catalog/data/codec/codec.h"
#include "catalog/db/classes.h"
#include "catalog/db/ids.h"
#include "importer/import.h"
#include "importer/job/job_run.h"
#include "importer/verify/verifier.h"

#define FINDINGS_MAX 10000 /* that are kept of a checkpoint */
#define KEEP_SECONDS 2     /* a kill loses this much work, and one checkpoint */

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
    verify_found(r->verifier, r->checkpoint->id, name, what);
    return err->status;
}

/* Whether reading a tensor has already reported this extent. */
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
        if (len)
            strmap_keep(&r->covered, &r->arena, key, len, &(const char *){NULL}, &added);
    }
    return err->status;
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

/* A query for the hashes that the checkpoint's tensors should have; NULL if absent or after a
 * failure. */
static sqlite3_stmt *open_hashes(struct verifier *v, const struct verified *c)
{
    static const char any[] = "SELECT 1 FROM known._tensor_hashes WHERE id BETWEEN ?1" ID_FIRST
                              "AND ?1" ID_LAST "LIMIT 1";
    static const char one[] =
        "SELECT t.hash FROM known.tensor t WHERE t.checkpoint_id = ?2 AND t.name = ?1"
        " AND t.hash IS NOT NULL";
    struct error *err = v->err;
    if (c->changed)
        return NULL;
    sqlite3_stmt *s = db_query(v->fresh, err, any, "i", c->id);
    const bool some = db_row(s, "hashes", err);
    sqlite3_finalize(s);
    return some ? db_query(v->fresh, err, one, "si", (const char *)NULL, c->id) : NULL;
}

static void read_data(struct verifier *v, struct verified *c)
{
    struct error *err = v->err;
    struct reading r = {.verifier = v, .checkpoint = c, .arena.err = err, .covered.err = err};
    struct verify_data data = {
        .db = v->fresh,
        .checkpoint = c->fresh,
        .threads = v->options->threads,
        .hash = open_hashes(v, c),
        .context = &r,
        .found = found_in_data,
        .read = cover,
        .stop = reading_stopped,
        .progress = reading_progress,
    };
    if (err->status == OK && verify_data(&data, err) == OK)
        verify_archives(v, c, &r.covered);
    sqlite3_finalize(data.hash);
    strmap_release(&r.covered);
    arena_release(&r.arena);
}

/* --- the results ---------------------------------------------------------------------------- */

static void copy_rows(struct verifier *v, const struct verified *c)
{
    struct error *err = v->err;
    sqlite3_stmt *from =
        db_query(v->fresh, err,
                 "WITH all_found AS MATERIALIZED ("
                 " SELECT DISTINCT * FROM temp.found WHERE checkpoint = ?1)SELECT * FROM ("
                 " SELECT * FROM all_found ORDER BY file, offset, name, code LIMIT ?2)"
                 "UNION ALL SELECT ?1, NULL, NULL, NULL, 'limit',"
                 " printf('%d more findings are not listed', count(*) - ?2)"
                 " FROM all_found HAVING count(*) > ?2",
                 "ii", c->id, (int64_t)FINDINGS_MAX);
    sqlite3_stmt *to =
        db_query(v->catalog, err, "INSERT INTO _damages VALUES (?1, ?2, ?3, ?4, ?5, ?6)", "");
    while (db_row(from, NULL, err)) {
        for (int i = 0; i < 6; i++)
            sqlite3_bind_value(to, i + 1, sqlite3_column_value(from, i));
        db_step(v->catalog, to, "cannot verify", err);
    }
    sqlite3_finalize(from);
    sqlite3_finalize(to);
}

/* Not if the catalog's checkpoint is no longer the one that was compared: it may have been imported
 * again or forgotten meanwhile. */
static void keep_result(struct verifier *v, const struct verified *c)
{
    char sql[400], *now = content_stamp(v->catalog, c->id, v->err);
    const bool same = now && strcmp(now, c->stamp) == 0;
    if (now && !same && v->options->renewed)
        v->options->renewed(v->options->context, c->path);
    sqlite3_free(now);
    if (!same)
        return;
    snprintf(sql, sizeof(sql),
             "DELETE FROM _damages WHERE checkpoint = %lld;INSERT OR REPLACE INTO _verifications"
             " VALUES (%lld, %lld, %d, 1)",
             (long long)c->id, (long long)c->id, (long long)time(NULL), v->options->quick);
    if (db_exec(v->catalog, sql, v->err) == OK)
        copy_rows(v, c);
}

/* The next run starts from the beginning. */
static const char all_verified[] = "UPDATE _verifications SET open = 0 WHERE open";

/* Keep all results that are not in the catalog yet, in one transaction. Called now and then, and at
 * the end, also after a failure: what was verified before it is kept. */
static void keep_results(struct verifier *v)
{
    struct error *failure = v->err, err = {.offset = NO_OFFSET};
    if (v->kept == v->at)
        return;
    v->err = &err;
    if (db_exec(v->catalog, "BEGIN IMMEDIATE", &err) == OK) {
        for (size_t i = v->kept; i < v->at && err.status == OK; i++)
            keep_result(v, &v->list[i]);
        if (err.status == OK && v->at == v->count)
            db_exec(v->catalog, all_verified, &err);
        if (err.status == OK && db_exec(v->catalog, "COMMIT", &err) == OK)
            v->kept = v->at;
        else
            sqlite3_exec(v->catalog, "ROLLBACK", NULL, NULL, NULL);
        v->kept_at = time(NULL);
    }
    v->err = failure;
    if (failure->status == OK)
        *failure = err;
}

/* --- the whole verification ----------------------------------------------------------------- */

static void add_checkpoint(struct verifier *v, sqlite3_stmt *s)
{
    struct verified *c = &v->list[v->count];
    const char *path = db_text(s, 1);
    const char *format = db_text(s, 2);
    const char *primary = sqlite3_column_type(s, 3) == SQLITE_NULL ? path : db_text(s, 3);
    const char *stamp = db_text(s, 5);
    if (!path || !format || !primary || !stamp) {
        error_memory(v->err);
        return;
    }
    *c = (struct verified){.id = sqlite3_column_int64(s, 0),
                           .format = format_named(format),
                           .by_this_program = sqlite3_column_int(s, 6) != 0};
    c->path = arena_copy(&v->arena, path, strlen(path));
    c->stamp = arena_copy(&v->arena, stamp, strlen(stamp));
    c->primary = arena_copy(&v->arena, primary, strlen(primary));
    if (v->err->status == OK && c->format) {
        verify_siblings(v, c);
        v->readable++;
    }
    v->count++;
}

static void verify_load(struct verifier *v, size_t *skipped)
{
    static const char sql[] =
        "SELECT c.id, c.path, c.format, (SELECT f.path FROM _files f WHERE f.id = c.id" ID_FIRST
        "), NOT ?2 AND EXISTS (SELECT 1 FROM _verifications v WHERE v.id = c.id AND v.open"
        "                    AND v.quick <= ?3), " CONTENT_STAMP
        ", (SELECT looker FROM _looked) IS ?5 AND c.id NOT IN (SELECT id FROM _outdated)"
        " FROM json_each(?1) j JOIN _checkpoints c ON c.id = j.value"
        " ORDER BY c.format NOT IN (SELECT value FROM json_each(?4)), 4, 2";
    struct text ids = {0}, known = {0};
    struct error *err = v->err;
    sqlite3_stmt *s = NULL;
    char looker[IMPORT_LOOKER_MAX] = "";
    v->classes = classes_load(v->catalog, err);
    if (v->classes)
        import_looker(v->classes, looker);
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
    else
        s = db_query(v->catalog, err, sql, "siiss", text_str(&ids), (int64_t)v->options->again,
                     (int64_t)v->options->quick, text_str(&known), looker);
    while (v->list && db_row(s, "cannot list the checkpoints", err)) {
        if (sqlite3_column_int(s, 4))
            ++*skipped;
        else
            add_checkpoint(v, s);
    }
    sqlite3_finalize(s);
    text_release(&ids);
    text_release(&known);
}

static void verify_one(struct verifier *v, struct verified *c)
{
    if (verify_stopped(v)) {
        error_set(v->err, ERR_INTERRUPTED, NULL, NO_OFFSET, "interrupted");
        return;
    }
    if (!c->format) {
        struct error what = {.offset = NO_OFFSET};
        error_set(&what, ERR_UNSUPPORTED, c->path, NO_OFFSET,
                  "this program does not have its format: it cannot be verified");
        verify_found(v, c->id, NULL, &what);
        return;
    }
    /* Without its neighbours, facts and shards would only seem to be gone. */
    if (status_passes(c->unlisted.status)) {
        c->unread = true;
        verify_found(v, c->id, NULL, &c->unlisted);
    }
    verify_compare(v, c);
    if (v->err->status == OK && c->fresh && !c->unread && !v->options->quick)
        read_data(v, c);
}

void verify_run(sqlite3 *catalog, const struct verify_options *options, size_t *skipped,
                struct error *err)
{
    struct verifier v = {.options = options,
                         .catalog = catalog,
                         .fresh = options->scratch,
                         .err = err,
                         .arena.err = err,
                         .listers.err = err};
    *skipped = 0;
    verify_load(&v, skipped);
    if (err->status == OK && v.count)
        verify_index(&v);
    while (err->status == OK && v.at < v.count) {
        verify_one(&v, &v.list[v.at]);
        v.at += err->status == OK;
        if (err->status != OK || v.at == v.count || time(NULL) > v.kept_at + KEEP_SECONDS)
            keep_results(&v);
    }
    if (err->status == OK && !v.count)
        db_exec(catalog, all_verified, err);
    strmap_release(&v.listers);
    arena_release(&v.arena);
    free(v.list);
    classes_free(v.classes);
}

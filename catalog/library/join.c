/*
 * join.c - adds another catalog to this one, in one transaction. What is the same, and what becomes of it, is SQL
 * (schema/merge/); the rest is here: names of checkpoints, which layouts are alike, which files are there.
 */
#include "catalog/library/join.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "catalog/base/work.h"
#include "catalog/db/ahead.h"
#include "catalog/db/alike.h"
#include "catalog/db/ids.h"
#include "catalog/db/labels.h"
#include "catalog/db/schema.h"
#include "catalog/db/write/writer.h"

#define CACHE_KIB 65536   /* of pages, as an import has it */
#define WAL_PAGES "10000" /* that wait for the disk together */

/* Counts rows that refer to missing rows, and layouts that are not what they claim. */
static void check_rows(const ckptdb *c, const char *path, struct error *err)
{
    static const char wrong[] =
        "SELECT (SELECT count(*) FROM source._checkpoints c"
        "    LEFT JOIN source._layouts l ON l.id = c.layout LEFT JOIN source._metas m ON m.id = c.meta"
        "    WHERE l.id IS NULL OR (c.meta IS NOT NULL AND m.id IS NULL))"
        " + (SELECT count(*) FROM merge_layout m JOIN source._layouts l ON l.id = m.id"
        "    JOIN main._layouts t ON t.id = m.target WHERE t.tensors <> l.tensors)"
        " + (SELECT count(*) FROM merge_layout m JOIN source._layouts l ON l.id = m.id WHERE l.tensors <>"
        "    (SELECT count(*) FROM source._layout_tensors t"
        "     WHERE t.id BETWEEN l.id" ID_FIRST "AND l.id" ID_LAST "))";
    sqlite3_int64 count = 0;
    if (db_number(c->db, wrong, NO_NAME, DB_READING, &count, err) == OK && count)
        error_set(err, ERR_CORRUPT, path, NO_OFFSET,
                  "the catalog contradicts itself: " DB_IMPORT_ANEW);
}

/* Find which layouts with equal names are alike. */
static void settle_layouts(const ckptdb *c, struct error *err)
{
    sqlite3_stmt *sums =
        db_query(c->db, err,
                 "SELECT sum FROM _layout_alike WHERE sum IN (SELECT a.sum FROM merge_layout m"
                 " JOIN _layout_alike a ON a.id = m.target WHERE NOT m.known)"
                 " GROUP BY sum HAVING count(*) > 1 AND count(*) > count(digest)",
                 "");
    while (err->status == OK && db_row(sums, NULL, err))
        alike_settle(c->db, sqlite3_column_int64(sums, 0), err);
    sqlite3_finalize(sums);
    db_run(c->db, err, NULL,
           "UPDATE _layout_alike SET first = (SELECT min(a.id) FROM _layout_alike a"
           "  WHERE a.sum = _layout_alike.sum AND a.digest = _layout_alike.digest)"
           " WHERE digest IS NOT NULL AND id IN (SELECT target FROM merge_layout WHERE NOT known)",
           "");
}

static uint64_t join_count(const ckptdb *c, const char *sql, struct error *err)
{
    sqlite3_int64 count = 0;
    db_number(c->db, sql, NO_NAME, NULL, &count, err);
    return (uint64_t)count;
}

/* Finish, once the rows are there. */
static void join_end(ckptdb *c, bool moved, struct ckptdb_joined *r, struct error *err)
{
    settle_layouts(c, err);
    if (moved && err->status == OK)
        library_recognise(c,
                          db_query(c->db, err,
                                   "SELECT f.id, f.path, f.size, f.mtime_ns FROM merge_checkpoint m"
                                   " CROSS JOIN source._files s ON s.id BETWEEN m.id" ID_FIRST
                                   "AND m.id" ID_LAST " CROSS JOIN main._files f"
                                   "   ON f.id = (m.target" ID_FIRST ") + (s.id" ID_ORD ")"
                                   " WHERE m.taken AND f.size IS NOT NULL AND merge_moved(s.path)",
                                   ""),
                          err);
    r->added = join_count(c, "SELECT count(*) FROM merge_checkpoint WHERE NOT known", err);
    r->changed = join_count(c, "SELECT count(*) FROM merge_checkpoint WHERE known AND taken", err);
    r->known = join_count(c, "SELECT count(*) FROM merge_checkpoint WHERE NOT taken", err);
    if (r->changed && err->status == OK)
        writer_drop_orphans(c->db, err);
}

/* Name the added checkpoints that could not keep their names (9_names.sql). The last of several catalogs
 * names all. */
static void join_names(const ckptdb *c, struct error *err)
{
    sqlite3_stmt *added = db_query(
        c->db, err,
        "SELECT c.id, c.path, c.path, c.run, c.step, c.item, NULL, l.state FROM merge_checkpoint m"
        " LEFT JOIN main._labels n ON n.id = m.target"
        " CROSS JOIN main._checkpoints c ON c.id = m.target"
        " LEFT JOIN source._labels l ON l.id = m.id WHERE NOT m.known AND n.id IS NULL",
        "");
    labels_add(c->db, added, err);
    sqlite3_finalize(added);
}

/* A work of several transactions. */
struct joining {
    ckptdb *catalog;
    const struct ckptdb_joining *options;
    struct ckptdb_joined sum;
    struct join_places *places;
    struct error first; /* of those that were left out */
    bool changed, named, wal;
    struct ahead *ahead; /* writes the WAL while rows are joined */
};

struct join_step {
    const char *file, *when; /* SQL, and the query that says whether it is needed; NULL: always */
};

static const struct join_step plan[] = {
    {"schema/merge/1_checkpoints.sql", NULL},
    {"schema/merge/2_known.sql",
     "SELECT EXISTS (SELECT 1 FROM merge_checkpoint WHERE known)"
     " OR EXISTS (SELECT 1 FROM merge_first s JOIN merge_inode i ON i.inode = s.inode)"},
    {"schema/merge/3_shared.sql", NULL},
};

#define HAS_ISSUES                                                                                 \
    "SELECT EXISTS (SELECT 1 FROM source._issues) OR EXISTS (SELECT 1 FROM main._issues)"

static const struct join_step rows[] = {
    {"schema/merge/4_layouts.sql", "SELECT EXISTS (SELECT 1 FROM merge_layout WHERE NOT known)"
                                   " OR EXISTS (SELECT 1 FROM merge_meta WHERE NOT known)"},
    {"schema/merge/5_replaced.sql",
     "SELECT EXISTS (SELECT 1 FROM merge_checkpoint WHERE taken AND known)"},
    {"schema/merge/6_rows.sql", "SELECT EXISTS (SELECT 1 FROM merge_checkpoint WHERE taken)"},
    {"schema/01_indexes.sql", HAS_ISSUES}, /* of files, by their paths */
    {"schema/merge/7_issues.sql", HAS_ISSUES},
    {"schema/merge/8_content.sql", "SELECT EXISTS (SELECT 1 FROM source._tensor_hashes)"
                                   " OR EXISTS (SELECT 1 FROM source._checkpoint_hashes)"
                                   " OR EXISTS (SELECT 1 FROM source._tensor_statistics)"
                                   " OR EXISTS (SELECT 1 FROM source._damages)"
                                   " OR EXISTS (SELECT 1 FROM source._verifications)"},
    /* They keep their names if no run here is called like one there. */
    {"schema/merge/9_names.sql",
     "SELECT NOT merge_places()"
     " AND NOT EXISTS (SELECT 1 FROM (SELECT DISTINCT run FROM source._labels WHERE run IS NOT NULL) s"
     "                 JOIN main._labels n ON n.run = s.run)"},
};

static void join_steps(const ckptdb *c, const struct join_step *steps, size_t count,
                       struct error *err)
{
    for (size_t i = 0; i < count && err->status == OK; i++)
        if (!steps[i].when || join_count(c, steps[i].when, err))
            db_exec(c->db, schema_text(steps[i].file), err);
}

static void join_rows(const struct joining *j, const char *path, struct ckptdb_joined *r,
                      struct error *err)
{
    ckptdb *c = j->catalog;
    j->places->fresh = 0;
    join_steps(c, plan, sizeof(plan) / sizeof(*plan), err);
    if (err->status == OK)
        check_rows(c, path, err);
    if (err->status == OK)
        join_sets(c, path, j->options->keep_both, &r->kept, err);
    join_steps(c, rows, sizeof(rows) / sizeof(*rows), err);
    join_names(c, err);
    if (err->status == OK)
        join_end(c, j->options->relocation_count > 0, r, err);
}

static void join_close(const ckptdb *c, struct error *err)
{
    if (err->status == OK)
        db_exec(c->db, "COMMIT", err);
    if (err->status != OK)
        sqlite3_exec(c->db, "ROLLBACK", NULL, NULL, NULL);
}

static void join_one(struct joining *j, const char *path, const struct join_look *look, bool last,
                     struct error *err)
{
    ckptdb *c = j->catalog;
    struct ckptdb_joined r = {.size = sizeof(r)};
    struct join_source *source = join_source_begin(c, path, err);
    if (err->status == OK && db_exec(c->db, "BEGIN IMMEDIATE", err) == OK) {
        join_source_pages(c, source, look, err);
        if (err->status == OK)
            join_rows(j, path, &r, err);
        if (last && err->status == OK)
            labels_renew(c->db, err);
        if (j->options->path_count == 1 && err->status == OK)
            db_build_indexes(c->db, err);
        if (err->status == OK)
            join_source_check(source, err);
        join_close(c, err);
    }
    join_source_end(c, source, err);
    if ((err->status == ERR_BUSY || err->status == ERR_INTERRUPTED) && library_stopped(c)) {
        error_clear(err);
        error_set(err, ERR_INTERRUPTED, path, NO_OFFSET, "interrupted");
    }
    if (err->status == OK) {
        j->changed = true;
        j->named = last;
        j->sum.added += r.added;
        j->sum.changed += r.changed;
        j->sum.known += r.known;
        j->sum.kept += r.kept;
    } else if (!*err->source) {
        snprintf(err->source, sizeof(err->source), "%s", path);
    }
}

/* So that a commit waits for no disk, and others can read: as an import does it. The first rows of a new catalog come
 * before that. */
static void join_wal(const ckptdb *c, bool enter)
{
    sqlite3_exec(c->db,
                 enter
                     ? "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;"
                       "PRAGMA wal_autocheckpoint=" WAL_PAGES
                     : "PRAGMA wal_checkpoint; PRAGMA synchronous=FULL; PRAGMA journal_mode=DELETE;"
                       "PRAGMA wal_autocheckpoint=1000",
                 NULL, NULL, NULL);
}

static void *join_make(void *context, uint64_t number, uint64_t *bytes)
{
    const struct joining *j = context;
    (void)bytes;
    return join_source_look(j->options->paths[number]);
}

static enum status join_take(void *context, uint64_t number, void *look, struct error *err)
{
    struct joining *j = context;
    const struct ckptdb_joining *o = j->options;
    struct error one = {.offset = NO_OFFSET};
    if (j->wal && !j->ahead) /* it is opened by the first that reads */
        j->ahead = ahead_start(j->catalog->db, true);
    if (!j->wal && j->changed)
        join_wal(j->catalog, j->wal = true);
    join_one(j, o->paths[number], look, number + 1 == o->path_count, &one);
    if (one.status == OK)
        return OK;
    j->sum.failed++;
    if (one.status == ERR_INTERRUPTED) {
        *err = one;
        return err->status;
    }
    if (o->failed) {
        struct ckptdb_error given;
        library_end(&one, &given);
        o->failed(o->context, &given);
    }
    if (j->first.status == OK)
        j->first = one;
    return OK;
}

static void join_all(struct joining *j, struct error *err)
{
    ckptdb *c = j->catalog;
    const struct work work = {.count = j->options->path_count,
                              .threads = 1,
                              .context = j,
                              .make = join_make,
                              .take = join_take,
                              .drop = free};
    struct error naming = {.offset = NO_OFFSET};
    db_size_cache(c->db, -CACHE_KIB, err);
    /* check_rows() has looked for what each row refers to. */
    sqlite3_exec(c->db, "PRAGMA foreign_keys = OFF", NULL, NULL, NULL);
    work_run(&work, err);
    if (j->changed && !j->named && db_exec(c->db, "BEGIN IMMEDIATE", &naming) == OK) {
        labels_renew(c->db, &naming);
        join_close(c, &naming);
    }
    ahead_end(j->ahead, &naming);
    if (j->wal)
        join_wal(c, false);
    /* Of a new catalog: their pages are written once. After a kill the next one that writes builds them. */
    if (j->changed && naming.status == OK)
        db_build_indexes(c->db, &naming);
    sqlite3_exec(c->db, "PRAGMA foreign_keys = ON", NULL, NULL, NULL);
    if (err->status == OK)
        *err = j->first.status != OK ? j->first : naming;
}

enum ckptdb_status ckptdb_join(ckptdb *c, const struct ckptdb_joining *options,
                               struct ckptdb_joined *report, struct ckptdb_error *error)
{
    static const char forget_tables[] =
        "DROP VIEW IF EXISTS temp.merge_row; DROP TABLE IF EXISTS temp.merge_checkpoint;"
        "DROP TABLE IF EXISTS temp.merge_first; DROP TABLE IF EXISTS temp.merge_read;"
        "DROP TABLE IF EXISTS temp.merge_inode; DROP TABLE IF EXISTS temp.merge_layout;"
        "DROP TABLE IF EXISTS temp.merge_meta; DROP TABLE IF EXISTS temp.merge_statistic";
    struct error err = {.offset = NO_OFFSET};
    struct ckptdb_joining o;
    struct join_places places = {0};
    struct joining j = {
        .catalog = c, .options = &o, .places = &places, .first = {.offset = NO_OFFSET}};
    library_take(&o, sizeof(o), options, &err);
    if (err.status == OK)
        library_alone(c, &err);
    c->writing++;
    if (err.status == OK)
        join_places_begin(c, &places, &o, &err);
    sqlite3_exec(c->db, forget_tables, NULL, NULL, NULL); /* of one that was interrupted */
    if (err.status == OK && db_exec(c->db, schema_text("schema/merge/0_tables.sql"), &err) == OK)
        join_all(&j, &err);
    sqlite3_exec(c->db, forget_tables, NULL, NULL, NULL);
    join_places_end(c, &places);
    c->writing--;
    if (report) {
        j.sum.size = report->size;
        memcpy(report, &j.sum, report->size < sizeof(j.sum) ? report->size : sizeof(j.sum));
    }
    return library_end(&err, error);
}

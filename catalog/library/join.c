/*
 * join.c - another catalog comes into this one, in one transaction. What is the same, and what becomes of it, is SQL
 * (schema/merge/); the rest is here: names of checkpoints, which layouts are alike, which files are there.
 */
#include "catalog/library/join.h"

#include <stdio.h>
#include <string.h>

#include "catalog/db/alike.h"
#include "catalog/db/ids.h"
#include "catalog/db/labels.h"
#include "catalog/db/schema.h"
#include "catalog/db/write/writer.h"

#define CACHE_KIB 65536 /* of pages, as an import has it */

/* Rows that refer to what is not there, or a layout that says it is another. */
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

/* SQLite's own check: a page that was damaged before it was summed, a value that its column cannot have. */
static void check_pages(const ckptdb *c, const char *path, struct error *err)
{
    sqlite3_stmt *row = db_query(c->db, err, "PRAGMA source.quick_check(1)", "");
    const char *said = db_row(row, DB_READING, err) ? library_text(row, 0) : NULL;
    if (err->status == OK && (!said || strcmp(said, "ok") != 0))
        error_set(err, ERR_CORRUPT, path, NO_OFFSET,
                  "the catalog is damaged (%.200s): " DB_IMPORT_ANEW, said ? said : "");
    sqlite3_finalize(row);
}

/* Layouts that have the names of others: which of them are alike. */
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

/* What is done once the rows are there. */
static void join_end(ckptdb *c, struct ckptdb_joined *r, struct error *err)
{
    settle_layouts(c, err);
    if (err->status == OK)
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

/* Name the checkpoints, if any were added; or an earlier call was killed before it did. */
static void join_names(const ckptdb *c, bool changed, struct error *err)
{
    static const char unnamed[] = "SELECT EXISTS (SELECT 1 FROM _labels l JOIN _checkpoints c"
                                  " ON c.id = l.id WHERE l.name = c.path)";
    if (err->status == OK && (changed || join_count(c, unnamed, err)))
        labels_renew(c->db, err);
}

/* A work of several transactions. */
struct joining {
    ckptdb *catalog;
    const struct ckptdb_joining *options;
    struct ckptdb_joined sum;
    bool changed, unnamed;
};

static void join_rows(const struct joining *j, const char *path, struct ckptdb_joined *r,
                      struct error *err)
{
    static const char contents[] = "SELECT EXISTS (SELECT 1 FROM source._tensor_hashes)"
                                   " OR EXISTS (SELECT 1 FROM source._checkpoint_hashes)"
                                   " OR EXISTS (SELECT 1 FROM source._tensor_statistics)"
                                   " OR EXISTS (SELECT 1 FROM source._damages)"
                                   " OR EXISTS (SELECT 1 FROM source._verifications)";
    ckptdb *c = j->catalog;
    check_pages(c, path, err);
    if (err->status == OK && db_exec(c->db, schema_text("schema/merge/1_plan.sql"), err) == OK)
        check_rows(c, path, err);
    if (err->status == OK)
        join_sets(c, path, j->options->keep_both, &r->kept, err);
    if (err->status == OK)
        db_exec(c->db, schema_text("schema/merge/2_rows.sql"), err);
    if (join_count(c, contents, err))
        db_exec(c->db, schema_text("schema/merge/3_content.sql"), err);
    if (err->status == OK)
        join_end(c, r, err);
    /* Those of a new catalog are built once its first rows are there. */
    if (err->status == OK && !j->changed)
        db_build_indexes(c->db, err);
}

static void join_close(const ckptdb *c, struct error *err)
{
    if (err->status == OK)
        db_exec(c->db, "COMMIT", err);
    if (err->status != OK)
        sqlite3_exec(c->db, "ROLLBACK", NULL, NULL, NULL);
}

static void join_one(struct joining *j, const char *path, bool last, struct error *err)
{
    ckptdb *c = j->catalog;
    struct ckptdb_joined r = {.size = sizeof(r)};
    struct join_source *source = join_source_begin(c, path, err);
    if (err->status == OK && db_exec(c->db, "BEGIN IMMEDIATE", err) == OK) {
        join_rows(j, path, &r, err);
        if (last)
            join_names(c, j->unnamed || r.added || r.changed, err);
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
        j->unnamed = !last && (j->unnamed || r.added || r.changed);
        j->changed = true;
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
                     ? "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL"
                     : "PRAGMA wal_checkpoint; PRAGMA synchronous=FULL; PRAGMA journal_mode=DELETE",
                 NULL, NULL, NULL);
}

static void join_all(struct joining *j, struct error *err)
{
    ckptdb *c = j->catalog;
    const struct ckptdb_joining *o = j->options;
    struct error naming = {.offset = NO_OFFSET};
    bool wal = false;
    db_size_cache(c->db, -CACHE_KIB, err);
    for (size_t i = 0; i < o->path_count && err->status != ERR_INTERRUPTED; i++) {
        struct error one = {.offset = NO_OFFSET};
        if (!wal && o->path_count > 1 && j->changed)
            join_wal(c, wal = true);
        join_one(j, o->paths[i], i + 1 == o->path_count, &one);
        if (one.status == OK)
            continue;
        j->sum.failed++;
        if (o->failed && one.status != ERR_INTERRUPTED) {
            struct ckptdb_error given;
            library_end(&one, &given);
            o->failed(o->context, &given);
        }
        if (err->status == OK || one.status == ERR_INTERRUPTED)
            *err = one;
    }
    if (j->unnamed && db_exec(c->db, "BEGIN IMMEDIATE", &naming) == OK) {
        join_names(c, true, &naming);
        join_close(c, &naming);
    }
    if (wal)
        join_wal(c, false);
    if (err->status == OK && naming.status != OK)
        *err = naming;
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
    struct joining j = {.catalog = c, .options = &o};
    struct join_places places = {0};
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

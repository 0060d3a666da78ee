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

static int64_t join_count(const ckptdb *c, const char *which, struct error *err)
{
    sqlite3_int64 count = 0;
    char sql[128];
    snprintf(sql, sizeof(sql), "SELECT count(*) FROM merge_checkpoint WHERE %s", which);
    db_number(c->db, sql, NO_NAME, NULL, &count, err);
    return count;
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
    r->added = (uint64_t)join_count(c, "NOT known", err);
    r->changed = (uint64_t)join_count(c, "known AND taken", err);
    r->known = (uint64_t)join_count(c, "NOT taken", err);
    if (r->changed && err->status == OK)
        writer_drop_orphans(c->db, err);
    if ((r->added || r->changed) && err->status == OK)
        labels_renew(c->db, err);
}

static void join_rows(ckptdb *c, const char *path, bool keep_both, struct ckptdb_joined *r,
                      struct error *err)
{
    sqlite3_int64 layouts = 0;
    check_pages(c, path, err);
    if (err->status == OK && db_exec(c->db, schema_text("schema/merge/1_plan.sql"), err) == OK)
        check_rows(c, path, err);
    if (err->status == OK)
        join_sets(c, path, keep_both, &r->kept, err);
    db_number(c->db, "SELECT count(*) FROM (SELECT 1 FROM main._layouts LIMIT 1)", NO_NAME, NULL,
              &layouts, err);
    if (layouts &&
        err->status == OK) /* those of a new catalog are built once its first rows are there */
        db_build_indexes(c->db, err);
    if (err->status == OK && db_exec(c->db, schema_text("schema/merge/2_rows.sql"), err) == OK &&
        db_exec(c->db, schema_text("schema/merge/3_content.sql"), err) == OK)
        join_end(c, r, err);
    if (!layouts && err->status == OK)
        db_build_indexes(c->db, err);
}

static const char forget_plan[] =
    "DROP TABLE IF EXISTS temp.merge_checkpoint; DROP TABLE IF EXISTS temp.merge_first;"
    "DROP TABLE IF EXISTS temp.merge_layout; DROP TABLE IF EXISTS temp.merge_meta;"
    "DROP TABLE IF EXISTS temp.merge_row; DROP TABLE IF EXISTS temp.merge_statistic";

static void join_transaction(ckptdb *c, const char *path, const struct join_source *source,
                             bool keep_both, struct ckptdb_joined *r, struct error *err)
{
    db_size_cache(c->db, -CACHE_KIB, err);
    if (db_exec(c->db, "BEGIN IMMEDIATE", err) != OK)
        return;
    join_rows(c, path, keep_both, r, err);
    if (err->status == OK)
        join_source_check(source, err);
    if (err->status == OK)
        db_exec(c->db, "COMMIT", err);
    if (err->status != OK)
        sqlite3_exec(c->db, "ROLLBACK", NULL, NULL, NULL);
    sqlite3_exec(c->db, forget_plan, NULL, NULL, NULL);
}

enum ckptdb_status ckptdb_join(ckptdb *c, const char *path, const struct ckptdb_joining *options,
                               struct ckptdb_joined *report, struct ckptdb_error *error)
{
    struct error err = {.offset = NO_OFFSET};
    struct ckptdb_joining o;
    struct ckptdb_joined r = {.size = sizeof(r)};
    struct join_places places = {0};
    struct join_source *source = NULL;
    library_take(&o, sizeof(o), options, &err);
    if (err.status == OK)
        library_alone(c, &err);
    c->writing++;
    if (err.status == OK)
        join_places_begin(c, &places, &o, &err);
    if (err.status == OK)
        source = join_source_begin(c, path, &err);
    if (err.status == OK)
        join_transaction(c, path, source, o.keep_both, &r, &err);
    join_source_end(c, source, &err);
    join_places_end(c, &places);
    c->writing--;
    if (err.status != OK && !*err.source)
        snprintf(err.source, sizeof(err.source), "%s", path);
    if (report) {
        r.size = report->size;
        memcpy(report, &r, r.size < sizeof(r) ? r.size : sizeof(r));
    }
    return library_end(&err, error);
}

/*
 * import_place.h - a folder of small files, a catalog beside it, and queries on the catalog; for
 * the tests of the import.
 */
#pragma once

#include "catalog/base/bits.h"
#include "catalog/base/text.h"
#include "catalog/db/db.h"
#include "catalog/sql/open.h"
#include "importer/import.h"
#include "importer/walk/walk.h"
#include "tests/unit/unit.h"

struct place {
    char root[FOLDER_BYTES]; /* what is imported */
    char catalog[96];
};

/* SQLite's: these catalogs need not outlast the machine. */
__attribute__((visibility("default"))) int fsync(int fd)
{
    (void)fd;
    return 0;
}

__attribute__((visibility("default"))) int fdatasync(int fildes)
{
    return fsync(fildes);
}

/* --- making files ----------------------------------------------------------------------- */

static inline void put_file(const struct place *p, const char *name, const void *bytes, size_t len)
{
    char path[512];
    snprintf(path, sizeof(path), "%s/%s", p->root, name);
    write_file(path, bytes, len);
}

/* A safetensors file of the given header, with `data` bytes of zeros. */
static inline void put_safetensors(const struct place *p, const char *name, const char *header,
                                   size_t data)
{
    struct text t = {0};
    put_u64(&t, strlen(header));
    text_adds(&t, header);
    for (size_t i = 0; i < data; i++)
        text_addc(&t, 0);
    put_file(p, name, t.at, t.len);
    text_release(&t);
}

#define TWO                                                                                        \
    "{\"a.w\":{\"dtype\":\"F32\",\"shape\":[2,2],\"data_offsets\":[0,16]},"                        \
    "\"a.b\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[16,24]}}"
#define OTHER "{\"c\":{\"dtype\":\"I64\",\"shape\":[3],\"data_offsets\":[0,24]}}"

static inline int place_setup(void **state)
{
    struct place *p = calloc(1, sizeof(*p));
    folder_make(p->root);
    snprintf(p->catalog, sizeof(p->catalog), "%s.db", p->root);
    *state = p;
    return 0;
}

static inline int place_teardown(void **state)
{
    struct place *p = *state;
    shell_out("rm -rf '%s' '%s'*", p->root, p->catalog);
    free(p);
    return 0;
}

/* --- importing and asking --------------------------------------------------------------- */

static inline struct import_report import(const struct place *p, const char *below,
                                          struct import_options options)
{
    sqlite3 *db = NULL;
    struct error err = {.offset = NO_OFFSET};
    struct import_report report = {0};
    char path[512];
    snprintf(path, sizeof(path), "%s%s", p->root, below);
    const char *paths[] = {path};
    options.paths = paths;
    options.path_count = 1;
    if (db_open(p->catalog, DB_CREATE, &db, &err) != OK ||
        import_run(db, &options, &report, &err) != OK)
        fail_msg("%s", err.message);
    walk_free(report.walk);
    report.walk = NULL;
    db_close(db);
    return report;
}

/* The rows of a query as one text: columns joined by '|', rows by ' '. */
static inline void expect(const struct place *p, const char *sql, const char *wanted)
{
    sqlite3 *db = NULL;
    sqlite3_stmt *s = NULL;
    struct error err = {.offset = NO_OFFSET};
    struct text got = {0};
    assert_int_equal(db_open(p->catalog, DB_READ, &db, &err), OK);
    if (sqlite3_prepare_v2(db, sql, -1, &s, NULL) != SQLITE_OK)
        fail_msg("%s: %s", sql, sqlite3_errmsg(db));
    while (sqlite3_step(s) == SQLITE_ROW) {
        for (int i = 0; i < sqlite3_column_count(s); i++) {
            const char *value = (const char *)sqlite3_column_text(s, i);
            text_adds(&got, i ? "|" : got.len ? " " : "");
            text_adds(&got, value ? value : "NULL");
        }
    }
    sqlite3_finalize(s);
    db_close(db);
    if (strcmp(text_str(&got), wanted) != 0)
        print_message("%s\n", sql);
    assert_string_equal(text_str(&got), wanted);
    text_release(&got);
}

static inline void query(const struct place *p, const char *sql)
{
    sqlite3 *db = NULL;
    struct error err = {.offset = NO_OFFSET};
    assert_int_equal(db_open(p->catalog, DB_WRITE, &db, &err), OK);
    if (db_exec(db, sql, &err) != OK)
        fail_msg("%s: %s", sql, err.message);
    db_close(db);
}

/* Everything that is catalogued. */
static inline char *catalogued(const struct place *p)
{
    static const char sql[] =
        "SELECT json_group_array(row) FROM (SELECT json_array(t.checkpoint, t.name, t.dtype, t.shape,"
        " t.stored, t.storage, t.file, t.offset, e.codec, e.origin, e.strides) AS row"
        " FROM tensor t LEFT JOIN extent e ON e.tensor_id = t.id"
        " UNION ALL SELECT json_array((SELECT path FROM checkpoint c WHERE c.id = checkpoint_id), key, value) FROM metadata"
        " UNION ALL SELECT json_array((SELECT path FROM checkpoint c WHERE c.id = checkpoint_id), name, kind) FROM node"
        " UNION ALL SELECT json_array(path, format, run, step, item, state) FROM checkpoint"
        " UNION ALL SELECT json_array(path, role) FROM file"
        " UNION ALL SELECT json_array(path, code, message) FROM issue ORDER BY 1)";
    sqlite3 *db = NULL;
    sqlite3_stmt *s = NULL;
    struct error err = {.offset = NO_OFFSET};
    assert_int_equal(db_open(p->catalog, DB_WRITE, &db, &err), OK);
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &s, NULL), SQLITE_OK);
    if (sqlite3_step(s) != SQLITE_ROW)
        fail_msg("%s", sqlite3_errmsg(db));
    char *all = strdup((const char *)sqlite3_column_text(s, 0));
    sqlite3_finalize(s);
    db_close(db);
    return all;
}

static inline void expect_report(struct import_report r, const char *wanted)
{
    char got[128];
    snprintf(got, sizeof(got), "%llu new %llu changed %llu same %llu failed %llu gone",
             (unsigned long long)r.added, (unsigned long long)r.changed,
             (unsigned long long)r.unchanged, (unsigned long long)r.failed,
             (unsigned long long)r.vanished);
    assert_string_equal(got, wanted);
}

static const struct import_options plain = {.jobs = 4};

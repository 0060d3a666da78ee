/*
 * verify_compare.c - the second part of a verification: compare what was just read with the
 * catalog.
 */
#include <stdlib.h>
#include <string.h>

#include "catalog/base/text.h"
#include "catalog/db/ids.h"
#include "catalog/db/schema.h"
#include "importer/verify/verifier.h"

enum status verify_attach(struct verifier *v, struct error *err)
{
    char *uri = db_uri(sqlite3_db_filename(v->catalog, "main"), true);
    if (!uri)
        error_memory(err);
    db_run(v->fresh, err, "cannot verify", "ATTACH ?1 AS known", "s", uri);
    free(uri);
    return err->status == OK ? db_exec(v->fresh, schema_text("schema/verify/views.sql"), err)
                             : err->status;
}

/* Report how a file differs from the one that was indexed. */
static enum status compare_file(struct verifier *v, struct verified *c, sqlite3_stmt *s,
                                struct error *err)
{
    const char *path = (const char *)sqlite3_column_text(s, 0);
    struct error what = {.offset = NO_OFFSET};
    struct file_identity now;
    const struct file_identity then = db_identity(s, 1);
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

static enum status compare_files(struct verifier *v, struct verified *c, struct error *err)
{
    static const char sql[] =
        "SELECT path, size, mtime_ns, inode, device FROM known._files WHERE id BETWEEN ?1" ID_FIRST
        "AND ?1" ID_LAST "AND size IS NOT NULL";
    sqlite3_stmt *s = db_query(v->fresh, err, sql, "i", c->id);
    while (db_row(s, "cannot list the files", err))
        compare_file(v, c, s, err);
    sqlite3_finalize(s);
    return err->status;
}

/* A query about the checkpoint in both catalogs. NULL after a failure. */
static sqlite3_stmt *query_both(struct verifier *v, const char *sql, const struct verified *c,
                                struct error *err)
{
    sqlite3_stmt *s = db_query(v->fresh, err, sql, "");
    if (!s)
        return NULL;
    const int known = sqlite3_bind_parameter_index(s, ":known");
    const int fresh = sqlite3_bind_parameter_index(s, ":fresh");
    const int own = sqlite3_bind_parameter_index(s, ":by_this_program");
    if (own)
        sqlite3_bind_int(s, own, c->by_this_program);
    if (known)
        sqlite3_bind_int64(s, known, c->id);
    if (fresh)
        sqlite3_bind_int64(s, fresh, c->fresh);
    return s;
}

/* Make the rows of a query findings. */
static enum status compare_by(struct verifier *v, const struct verified *c, const char *query,
                              struct error *err)
{
    struct text sql = {0};
    sqlite3_stmt *s = NULL;
    text_addf(&sql, "INSERT INTO temp.found SELECT :known, * FROM (\n%s)", schema_text(query));
    if (!text_str(&sql))
        error_memory(err);
    else
        s = query_both(v, text_str(&sql), c, err);
    db_row(s, "cannot verify", err);
    sqlite3_finalize(s);
    text_release(&sql);
    return err->status;
}

static enum status layouts_agree(struct verifier *v, const struct verified *c, bool *agree,
                                 struct error *err)
{
    sqlite3_stmt *s = query_both(v, schema_text("schema/verify/same.sql"), c, err);
    *agree = db_row(s, "cannot verify", err);
    sqlite3_finalize(s);
    return err->status;
}

/* If a file has changed, that is reported and nothing else is compared, except chunks:
 * chunk files are not files of the catalog, and deleting one changes its directory. */
enum status verify_compare(struct verifier *v, struct verified *c, struct error *err)
{
    bool agree = false;
    if (compare_files(v, c, err) != OK || !c->fresh || c->unread ||
        layouts_agree(v, c, &agree, err) != OK || (!agree && verify_grids(v, c, err) != OK) ||
        c->changed)
        return err->status;
    /* If tensors are in other places, their checksums are, too:
     * then only headers are compared. */
    if (compare_by(v, c, agree ? "schema/verify/sum.sql" : "schema/verify/header.sql", err) == OK)
        compare_by(v, c, "schema/verify/fact.sql", err);
    if (err->status == OK)
        compare_by(v, c, "schema/verify/warning.sql", err);
    return err->status;
}

/*
 * verify_compare.c - the second part of a verification: compare what was just read with the
 * catalog.
 */
#include "catalog/base/text.h"
#include "catalog/db/ids.h"
#include "catalog/db/schema.h"
#include "importer/verify/verifier.h"

/* Report how a file differs from the one that was indexed. */
static void compare_file(struct verifier *v, struct verified *c, sqlite3_stmt *s)
{
    const char *path = db_text(s, 0);
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
                      now.mtime_ns != then.mtime_ns ? "it was written to since it was indexed"
                                                    : "it is not the file that was indexed");
    }
    if (what.status == OK)
        return;
    c->changed = true;
    verify_found(v, c->id, NULL, &what);
}

/* Make the rows of a query findings. */
static void compare_by(struct verifier *v, const struct verified *c, const char *query)
{
    struct text sql = {0};
    sqlite3_stmt *s = NULL;
    text_addf(&sql, "INSERT INTO temp.found SELECT :known, * FROM (\n%s)", schema_text(query));
    if (!text_str(&sql))
        error_memory(v->err);
    else
        s = verify_query(v, text_str(&sql), c);
    db_row(s, "cannot verify", v->err);
    sqlite3_finalize(s);
    text_release(&sql);
}

/* If a file has changed, that is reported and nothing else is compared, except chunks:
 * chunk files are not files of the catalog, and deleting one changes its directory. */
void verify_compare(struct verifier *v, struct verified *c)
{
    static const char files[] =
        "SELECT path, size, mtime_ns, inode, device FROM known._files WHERE id BETWEEN ?1" ID_FIRST
        "AND ?1" ID_LAST "AND size IS NOT NULL";
    sqlite3_stmt *file = db_query(v->fresh, v->err, files, "i", c->id);
    while (db_row(file, "cannot list the files", v->err))
        compare_file(v, c, file);
    sqlite3_finalize(file);
    if (!c->fresh || c->unread)
        return;
    sqlite3_stmt *same = verify_query(v, schema_text("schema/verify/same.sql"), c);
    const bool agree = db_row(same, "cannot verify", v->err); /* of layouts; not after a failure */
    sqlite3_finalize(same);
    if (!agree)
        verify_grids(v, c);
    if (c->changed)
        return;
    /* If tensors are in other places, their checksums are, too:
     * then only headers are compared. */
    compare_by(v, c, agree ? "schema/verify/sum.sql" : "schema/verify/header.sql");
    compare_by(v, c, "schema/verify/fact.sql");
    compare_by(v, c, "schema/verify/warning.sql");
}

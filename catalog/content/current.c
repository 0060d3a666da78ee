#include "catalog/content/current.h"

#include <stdio.h>

#include "catalog/data/read/files.h"
#include "catalog/db/ids.h"

/* Remove the known hashes and statistics of a checkpoint. */
static enum status drop_known(sqlite3 *db, int64_t checkpoint, struct error *err)
{
    const long long low = (long long)checkpoint << TENSOR_ORD_BITS;
    const long long high = low + (long long)TENSOR_ORD_MASK;
    char sql[400];
    snprintf(sql, sizeof(sql),
             "DELETE FROM _tensor_hashes WHERE id BETWEEN %lld AND %lld;"
             "DELETE FROM _checkpoint_hashes WHERE id = %lld;"
             "DELETE FROM _tensor_statistics WHERE id BETWEEN %lld AND %lld",
             low, high, (long long)checkpoint, low, high);
    return db_exec(db, sql, err);
}

/* Whether the file of a row of `files` has not changed since the import. *gone: it is not there,
 * as on a disk that is not mounted. */
static bool as_indexed(sqlite3_stmt *s, bool *gone, struct error *why)
{
    struct file_identity now;
    struct error missing = {.offset = NO_OFFSET};
    const struct stored_file file = {
        .path = (const char *)sqlite3_column_text(s, 0),
        .present = true,
        .checked = true,
        .identity = db_identity(s, 1),
    };
    if (file_as_indexed(&file, why) == OK)
        return true;
    file_identify(file.path, &now, &missing);
    *gone = missing.status == ERR_MISSING;
    return false;
}

bool content_is_current(const struct content_work *w, int64_t checkpoint, struct error *err)
{
    static const char sql[] =
        "SELECT path, size, mtime_ns, inode, device FROM _files WHERE id BETWEEN ?1" ID_FIRST
        "AND ?1" ID_LAST "AND size IS NOT NULL";
    sqlite3_stmt *s = NULL;
    struct error why = {.offset = NO_OFFSET};
    bool good = true, gone = false;
    int rc = SQLITE_DONE;
    if (sqlite3_prepare_v2(w->db, sql, -1, &s, NULL) != SQLITE_OK) {
        db_error(w->db, "cannot list the files", err);
        return false;
    }
    sqlite3_bind_int64(s, 1, checkpoint);
    while (good && (rc = sqlite3_step(s)) == SQLITE_ROW)
        good = as_indexed(s, &gone, &why);
    if (good && rc != SQLITE_DONE)
        db_error(w->db, "cannot list the files", err);
    sqlite3_finalize(s);
    if (!good && w->trouble)
        w->trouble(w->context, NULL, &why);
    if (!good && !gone && !status_passes(why.status)) /* else it may be unchanged */
        drop_known(w->db, checkpoint, err);
    return good && err->status == OK;
}

char *content_stamp(sqlite3 *db, int64_t checkpoint, struct error *err)
{
    static const char sql[] = "SELECT " CONTENT_STAMP " FROM _checkpoints c WHERE c.id = ?1";
    sqlite3_stmt *s = NULL;
    char *stamp = NULL;
    int rc = sqlite3_prepare_v2(db, sql, -1, &s, NULL);
    if (rc == SQLITE_OK) {
        sqlite3_bind_int64(s, 1, checkpoint);
        rc = sqlite3_step(s);
    }
    if (rc == SQLITE_ROW)
        stamp = sqlite3_mprintf("%s", sqlite3_column_text(s, 0));
    if (rc == SQLITE_ROW ? !stamp : rc != SQLITE_DONE)
        db_error(db, "cannot read the catalog", err);
    sqlite3_finalize(s);
    return stamp;
}

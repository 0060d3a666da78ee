#include "catalog/content/current.h"

#include "catalog/data/read/files.h"
#include "catalog/db/ids.h"

/* Remove the known hashes and statistics of a checkpoint. */
static void drop_known(sqlite3 *db, int64_t checkpoint, struct error *err)
{
    static const char *const sql[] = {
        "DELETE FROM _tensor_hashes WHERE id BETWEEN ?1" ID_FIRST "AND ?1" ID_LAST,
        "DELETE FROM _checkpoint_hashes WHERE id = ?1",
        "DELETE FROM _tensor_statistics WHERE id BETWEEN ?1" ID_FIRST "AND ?1" ID_LAST,
    };
    for (size_t i = 0; i < sizeof(sql) / sizeof(sql[0]); i++)
        db_run(db, err, NULL, sql[i], "i", checkpoint);
}

/* Whether the file of a row of `files` has not changed since the import. *gone: it is not there,
 * as on a disk that is not mounted. */
static bool as_indexed(sqlite3_stmt *s, bool *gone, struct error *why)
{
    struct file_identity now;
    struct error missing = {.offset = NO_OFFSET};
    const struct stored_file file = {
        .path = db_text(s, 0),
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
    sqlite3_stmt *s = db_query_to(w->db, err, "cannot list the files", sql, "i", checkpoint);
    struct error why = {.offset = NO_OFFSET};
    bool good = true, gone = false;
    while (good && db_row(s, "cannot list the files", err))
        good = as_indexed(s, &gone, &why);
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
    sqlite3_stmt *s = db_query_to(db, err, DB_READING, sql, "i", checkpoint);
    char *stamp = NULL;
    if (db_row(s, DB_READING, err) && !(stamp = sqlite3_mprintf("%s", sqlite3_column_text(s, 0))))
        error_memory(err);
    sqlite3_finalize(s);
    return stamp;
}

/*
 * api_find.c - the checkpoint and the tensor that a user means.
 */
#include "catalog/db/find.h"
#include "catalog/library/library.h"

enum ckptdb_status ckptdb_find(ckptdb *c, const char *name, int64_t *ids, size_t room,
                               size_t *count, struct ckptdb_error *error)
{
    struct error err = {.offset = NO_OFFSET};
    size_t found = 0;
    find_checkpoint(c->db, name, ids, room, &found, &err);
    if (count)
        *count = found;
    return library_end(&err, error);
}

enum ckptdb_status ckptdb_find_tensor(ckptdb *c, int64_t checkpoint, const char *name, int64_t *id,
                                      struct ckptdb_error *error)
{
    static const char sql[] = "SELECT id FROM tensor WHERE checkpoint_id = ?1"
                              " AND name = ?2 ORDER BY id LIMIT 1";
    struct error err = {.offset = NO_OFFSET};
    library_known(c, &checkpoint, 1, &err);
    sqlite3_stmt *row = db_query(c->db, &err, sql, "is", checkpoint, name);
    if (db_row(row, NULL, &err))
        *id = sqlite3_column_int64(row, 0);
    else
        error_set(&err, ERR_MISSING, NULL, NO_OFFSET, "there is no tensor called %s",
                  *name ? name : "\"\" (the empty name)");
    sqlite3_finalize(row);
    return library_end(&err, error);
}

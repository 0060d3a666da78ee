#include "catalog/sql/open.h"

#include "catalog/sql/extension.h"

static int all_functions(sqlite3 *db)
{
    return sql_register_all(db, true);
}

enum status db_open_waiting(const char *path, enum db_mode mode, const struct db_wait *wait,
                            sqlite3 **out, struct error *err)
{
    if (db_open_with(path, mode, all_functions, wait, out, err) == OK && mode != DB_SCRATCH &&
        sql_cover_views(*out, err) != OK) {
        db_close(*out);
        *out = NULL;
    }
    return err->status;
}

enum status db_open(const char *path, enum db_mode mode, sqlite3 **out, struct error *err)
{
    return db_open_waiting(path, mode, NULL, out, err);
}

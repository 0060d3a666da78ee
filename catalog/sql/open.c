#include "catalog/sql/open.h"

#include "catalog/sql/extension.h"

static int all_functions(sqlite3 *db)
{
    return sql_register_all(db, true);
}

enum status db_open(const char *path, enum db_mode mode, sqlite3 **out, struct error *err)
{
    return db_open_with(path, mode, all_functions, out, err);
}

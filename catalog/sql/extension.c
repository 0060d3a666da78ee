/*
 * extension.c - the two entry points of the loadable extension, and the list of its modules.
 */
#include "catalog/sql/extension.h"

#include <stddef.h>

#include "catalog/db/schema.h"
#include "catalog/sql/keeper.h"

#ifndef SQLITE_CORE
const sqlite3_api_routines *sqlite3_api;
#endif

#define SQL_PURE(x)  {sql_register_##x, NULL, false},
#define SQL_LOOKS(x) {NULL, sql_register_##x, false},
#define SQL_READS(x) {NULL, sql_register_##x, true},

static const struct {
    int (*run)(sqlite3 *);
    int (*look)(sqlite3 *, struct keeper *);
    bool reads;
} modules[] = {
#include "catalog/sql/modules.def"
};

int sql_register_all(sqlite3 *db, bool reads)
{
    struct keeper *k = NULL;
    int rc = keeper_new(db, &k);
    for (size_t i = 0; rc == SQLITE_OK && i < sizeof(modules) / sizeof(modules[0]); i++)
        if (modules[i].run)
            rc = modules[i].run(db);
        else if (reads || !modules[i].reads)
            rc = modules[i].look(db, k);
    sql_drop(k);
    return rc;
}

/* Only SQL that may write a schema can run covers.sql. */
enum status sql_cover_views(sqlite3 *db, struct error *err)
{
    static const int allowing[][2] = {{SQLITE_DBCONFIG_DEFENSIVE, 0},
                                      {SQLITE_DBCONFIG_WRITABLE_SCHEMA, 1}};
    int before[2];
    for (int i = 0; i < 2; i++) {
        sqlite3_db_config(db, allowing[i][0], -1, &before[i]);
        sqlite3_db_config(db, allowing[i][0], allowing[i][1], NULL);
    }
    db_exec(db, schema_text("schema/covers.sql"), err);
    for (int i = 0; i < 2; i++)
        sqlite3_db_config(db, allowing[i][0], before[i], NULL);
    return err->status;
}

#ifndef SQLITE_CORE

#    define EXPORT      __attribute__((visibility("default")))
#    define OLDEST_HOST 3040000 /* STRICT tables, ->>, and what the views use */

static int enter(sqlite3 *db, char **message, bool reads)
{
    if (sqlite3_libversion_number() < OLDEST_HOST) {
        *message = sqlite3_mprintf("ckptdb needs SQLite 3.40 or newer, the host has %s",
                                   sqlite3_libversion());
        return SQLITE_ERROR;
    }
    struct error err = {.offset = NO_OFFSET};
    sqlite3_int64 application = 0, version = 0;
    db_marks(db, "main", &application, &version, &err);
    const bool catalog = application == CATALOG_APPLICATION_ID;
    if (catalog && err.status == OK)
        db_check_version(db, "main", version, true, &err);
    int rc = err.status == OK ? sql_register_all(db, reads) : SQLITE_ERROR;
    if (catalog && rc == SQLITE_OK)
        sql_cover_views(db, &err);
    if (err.status == OK && rc == SQLITE_OK)
        return rc;
    *message = sqlite3_mprintf("%s", err.status == OK ? sqlite3_errmsg(db) : err.message);
    return SQLITE_ERROR;
}

EXPORT int sqlite3_ckptdb_init(sqlite3 *db, char **message, const sqlite3_api_routines *api);
EXPORT int sqlite3_ckptdb_init(sqlite3 *db, char **message, const sqlite3_api_routines *api)
{
    SQLITE_EXTENSION_INIT2(api);
    return enter(db, message, true);
}

/* For hosts that run untrusted SQL at top level, where DIRECTONLY gives no protection. */
EXPORT int sqlite3_ckptdb_noread_init(sqlite3 *db, char **message, const sqlite3_api_routines *api);
EXPORT int sqlite3_ckptdb_noread_init(sqlite3 *db, char **message, const sqlite3_api_routines *api)
{
    SQLITE_EXTENSION_INIT2(api);
    return enter(db, message, false);
}

#endif

/*
 * extension.c - the two entry points of the loadable extension, and the list of its modules.
 */
#include "catalog/sql/extension.h"

#include "catalog/db/db.h"
#include "catalog/sql/vtab.h"

#include <stddef.h>
#include <string.h>

#ifndef SQLITE_CORE
const sqlite3_api_routines *sqlite3_api;
#endif

#define SQL_PURE(x)  {sql_register_##x, false},
#define SQL_READS(x) {sql_register_##x, true},

static const struct {
    int (*run)(sqlite3 *);
    bool reads;
} modules[] = {
#include "catalog/sql/modules.def"
    {NULL, false},
};

int sql_register_all(sqlite3 *db, bool reads)
{
    for (size_t i = 0; modules[i].run; i++) {
        int rc = modules[i].reads && !reads ? SQLITE_OK : modules[i].run(db);
        if (rc != SQLITE_OK)
            return rc;
    }
    return SQLITE_OK;
}

int sql_register_table(sqlite3 *db, const char *name, const sqlite3_module *module, void *aux)
{
    int rc = sqlite3_create_module_v2(db, name, module, aux, NULL);
    char *in_views = sqlite3_mprintf("%s" OF_EXTENSION, name);
    if (rc == SQLITE_OK)
        rc = in_views ? sqlite3_create_module_v2(db, in_views, module, aux, NULL) : SQLITE_NOMEM;
    sqlite3_free(in_views);
    return rc;
}

void sql_result_copy(sqlite3_context *context, sqlite3_value *v)
{
    const char *text =
        sqlite3_value_type(v) == SQLITE_TEXT ? (const char *)sqlite3_value_text(v) : NULL;
    if (text && strlen(text) == (size_t)sqlite3_value_bytes(v))
        sqlite3_result_text(context, text, -1, SQLITE_TRANSIENT);
    else
        sqlite3_result_value(context, v);
}

int sql_register_pure(sqlite3 *db, const struct sql_function *f)
{
    int rc = SQLITE_OK;
    for (; rc == SQLITE_OK && f->name; f++)
        rc = sqlite3_create_function_v2(db, f->name, f->arguments, SQL_FLAGS_PURE, NULL, f->run,
                                        NULL, NULL, NULL);
    return rc;
}

static bool waits_for_none(sqlite3_index_info *info, int i)
{
    sqlite3_value *value = NULL;
    return sqlite3_vtab_in(info, i, -1) ||
           (sqlite3_vtab_rhs_value(info, i, &value) == SQLITE_OK && value);
}

int sql_prefer(sqlite3_index_info *info, int before, int after)
{
    return before >= 0 && waits_for_none(info, before) ? before : after;
}

int sql_given(sqlite3_index_info *info, int column, bool *unusable)
{
    int found = -1;
    bool elsewhere = false;
    for (int i = 0; i < info->nConstraint; i++) {
        const struct sqlite3_index_constraint *c = &info->aConstraint[i];
        if (c->iColumn != column || c->op != SQLITE_INDEX_CONSTRAINT_EQ)
            continue;
        if (c->usable)
            found = sql_prefer(info, found, i);
        else
            elsewhere = true;
    }
    *unusable = *unusable || (elsewhere && found < 0);
    return found;
}

enum status sql_cover_views(sqlite3 *db, struct error *err)
{
    sqlite3_int64 application = 0;
    if (db_number(db, "PRAGMA main.application_id", NO_NAME, NULL, &application, err) != OK ||
        application != CATALOG_APPLICATION_ID)
        return err->status;
    return db_exec(db,
                   "CREATE VIRTUAL TABLE IF NOT EXISTS temp.tensor USING ckptdb_tensor;"
                   "CREATE VIRTUAL TABLE IF NOT EXISTS temp.checkpoint USING ckptdb_view;"
                   "CREATE VIRTUAL TABLE IF NOT EXISTS temp.file USING ckptdb_view;"
                   "CREATE VIRTUAL TABLE IF NOT EXISTS temp.issue USING ckptdb_view;"
                   "CREATE VIRTUAL TABLE IF NOT EXISTS temp.metadata USING ckptdb_view;"
                   "CREATE VIRTUAL TABLE IF NOT EXISTS temp.node USING ckptdb_view;"
                   "CREATE VIRTUAL TABLE IF NOT EXISTS temp.by_dtype USING ckptdb_view;"
                   "CREATE VIRTUAL TABLE IF NOT EXISTS temp.by_module USING ckptdb_view;"
                   "CREATE TEMP VIEW IF NOT EXISTS largest AS SELECT checkpoint_id, checkpoint,"
                   " name, dtype, shape, nbytes FROM tensor ORDER BY nbytes DESC;",
                   err);
}

int sql_refuse_change(sqlite3_vtab *table, int argc, sqlite3_value **argv, sqlite3_int64 *id)
{
    (void)argv, (void)id;
    vtab_refuse(table, "%s",
                argc == 1 ? "checkpoints are dropped by the command `ckptdb forget CHECKPOINT...`"
                          : "what lies in the catalog is written by `ckptdb import PATH` alone");
    return SQLITE_READONLY;
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
    int rc = db_check_version(db, true, &err) == OK ? sql_register_all(db, reads) : SQLITE_ERROR;
    if (rc == SQLITE_OK)
        sql_cover_views(db, &err);
    if (err.status == OK)
        return rc;
    *message = sqlite3_mprintf("%s", err.message);
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

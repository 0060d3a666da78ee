#include "catalog/sql/vtab.h"

#include <stdarg.h>
#include <string.h>

int vtab_new(sqlite3 *db, const char *declaration, int trust, size_t size, sqlite3_vtab **out)
{
    sqlite3_vtab *t = declaration ? calloc(1, size) : NULL;
    int rc = t ? sqlite3_declare_vtab(db, declaration) : SQLITE_NOMEM;
    if (rc == SQLITE_OK)
        rc = sqlite3_vtab_config(db, trust);
    if (rc != SQLITE_OK) {
        free(t);
        t = NULL;
    }
    *out = t;
    return rc;
}

int vtab_free(sqlite3_vtab *t)
{
    free(t);
    return SQLITE_OK;
}

int vtab_new_cursor(size_t size, sqlite3_vtab_cursor **out)
{
    *out = calloc(1, size);
    return *out ? SQLITE_OK : SQLITE_NOMEM;
}

void vtab_clear(sqlite3_vtab *t)
{
    sqlite3_free(t->zErrMsg);
    t->zErrMsg = NULL;
}

int vtab_refuse(sqlite3_vtab *t, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vtab_clear(t);
    t->zErrMsg = sqlite3_vmprintf(format, args);
    va_end(args);
    return SQLITE_ERROR;
}

int vtab_failed(sqlite3_vtab *t, sqlite3 *db, int rc)
{
    if (rc != SQLITE_OK && rc != SQLITE_NOMEM && rc != SQLITE_INTERRUPT)
        vtab_refuse(t, "%s", sqlite3_errmsg(db));
    return rc;
}

int vtab_error(sqlite3_vtab *t, const struct error *err)
{
    char text[sizeof(err->source) + sizeof(err->message) + 64];
    if (err->status == ERR_MEMORY)
        return SQLITE_NOMEM;
    vtab_refuse(t, "%s", error_text(err, text, sizeof(text)));
    return err->status == ERR_INTERRUPTED ? SQLITE_INTERRUPT : SQLITE_ERROR;
}

int vtab_once(sqlite3 *db, sqlite3_stmt **stmt, const char *sql)
{
    return *stmt ? SQLITE_OK
                 : sqlite3_prepare_v3(db, sql, -1, SQLITE_PREPARE_PERSISTENT, stmt, NULL);
}

int vtab_take(sqlite3 *db, sqlite3_stmt **idle, const char *sql, sqlite3_stmt **out)
{
    *out = NULL;
    if (*idle && strcmp(sqlite3_sql(*idle), sql) == 0) {
        *out = *idle;
        *idle = NULL;
    }
    return vtab_once(db, out, sql);
}

void vtab_give_back(sqlite3_stmt **idle, sqlite3_stmt **taken)
{
    if (!*taken)
        return;
    sqlite3_reset(*taken);
    sqlite3_clear_bindings(*taken);
    sqlite3_finalize(*idle);
    *idle = *taken;
    *taken = NULL;
}

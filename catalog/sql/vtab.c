#include "catalog/sql/vtab.h"

#include <stdarg.h>
#include <string.h>

#include "catalog/db/statement.h"
#include "catalog/sql/rowid.h"

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

int vtab_make(const struct vtab *t, const char *declaration, int trust, sqlite3_vtab **out)
{
    int rc = vtab_new(t->db, declaration, trust, sizeof(*t), out);
    if (rc == SQLITE_OK)
        *(struct vtab *)*out = *t;
    return rc;
}

int vtab_open(sqlite3_vtab *t, sqlite3_vtab_cursor **out)
{
    *out = calloc(1, ((const struct vtab *)t)->cursor);
    return *out ? SQLITE_OK : SQLITE_NOMEM;
}

int vtab_close(sqlite3_vtab_cursor *c)
{
    ((const struct vtab *)c->pVtab)->empty(c);
    free(c);
    return SQLITE_OK;
}

int vtab_next(sqlite3_vtab_cursor *c)
{
    ((struct vtab_cursor *)c)->at++;
    return SQLITE_OK;
}

int vtab_eof(sqlite3_vtab_cursor *c)
{
    return ((const struct vtab_cursor *)c)->at >= ((const struct vtab_cursor *)c)->end;
}

int vtab_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *id)
{
    const struct vtab_cursor *c = (const struct vtab_cursor *)base;
    *id = (sqlite3_int64)rowid_add(c->key, c->at);
    return SQLITE_OK;
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

int vtab_once(sqlite3 *db, sqlite3_stmt **stmt, const char *sql, const char *types, ...)
{
    va_list args;
    va_start(args, types);
    int rc =
        *stmt ? SQLITE_OK : sqlite3_prepare_v3(db, sql, -1, SQLITE_PREPARE_PERSISTENT, stmt, NULL);
    if (rc == SQLITE_OK)
        rc = db_vbind(*stmt, types, args);
    va_end(args);
    return rc;
}

int vtab_take(sqlite3 *db, sqlite3_stmt **idle, const char *sql, sqlite3_stmt **out)
{
    *out = NULL;
    if (*idle && strcmp(sqlite3_sql(*idle), sql) == 0) {
        *out = *idle;
        *idle = NULL;
    }
    return vtab_once(db, out, sql, "");
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

int sql_register_table(sqlite3 *db, const char *name, const sqlite3_module *module, void *aux)
{
    int rc = sqlite3_create_module_v2(db, name, module, aux, NULL);
    char *in_views = sqlite3_mprintf("%s" OF_EXTENSION, name);
    if (rc == SQLITE_OK)
        rc = in_views ? sqlite3_create_module_v2(db, in_views, module, aux, NULL) : SQLITE_NOMEM;
    sqlite3_free(in_views);
    return rc;
}

int sql_prefer(sqlite3_index_info *info, int before, int after)
{
    sqlite3_value *value = NULL;
    return before >= 0 && (sqlite3_vtab_in(info, before, -1) ||
                           (sqlite3_vtab_rhs_value(info, before, &value) == SQLITE_OK && value))
               ? before
               : after;
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

void sql_pass(sqlite3_index_info *info, int first, int count, bool *unusable)
{
    int given = 0;
    for (int i = 0; i < count; i++) {
        const int at = sql_given(info, first + i, unusable);
        if (at < 0)
            continue;
        info->aConstraintUsage[at].argvIndex = ++given;
        info->aConstraintUsage[at].omit = 1;
        info->idxNum |= 1 << i;
    }
}

int sql_refuse_change(sqlite3_vtab *table, int argc, sqlite3_value **argv, sqlite3_int64 *id)
{
    (void)argv, (void)id;
    vtab_refuse(table, "%s",
                argc == 1 ? "checkpoints are dropped by the command `ckptdb forget CHECKPOINT...`"
                          : "only `ckptdb import PATH` writes the catalog's contents");
    return SQLITE_READONLY;
}

#include "catalog/sql/keeper.h"

#include <stdlib.h>
#include <string.h>

struct keeper {
    sqlite3 *db;
    char *touch; /* a statement: preparing it connects the virtual table */
    struct lookup *lookup;
    bool connected;
    unsigned holders;
};

struct keeper_table {
    sqlite3_vtab base; /* must be first */
    struct keeper *keeper;
};

static int keeper_connect(sqlite3 *db, void *aux, int argc, const char *const *argv,
                          sqlite3_vtab **out, char **message)
{
    (void)argc, (void)argv, (void)message;
    struct keeper_table *t = sqlite3_malloc(sizeof(*t));
    if (!t)
        return SQLITE_NOMEM;
    *t = (struct keeper_table){.keeper = aux};
    int rc = sqlite3_declare_vtab(db, "CREATE TABLE x(a)");
    if (rc != SQLITE_OK) {
        sqlite3_free(t);
        return rc;
    }
    t->keeper->connected = true;
    *out = &t->base;
    return SQLITE_OK;
}

static int keeper_disconnect(sqlite3_vtab *base)
{
    struct keeper *k = ((struct keeper_table *)base)->keeper;
    lookup_close(k->lookup);
    k->lookup = NULL;
    k->connected = false;
    sqlite3_free(base);
    return SQLITE_OK;
}

/* The rest of the module: an empty table. */

static int keeper_plan(sqlite3_vtab *t, sqlite3_index_info *info)
{
    (void)t;
    info->estimatedCost = 1;
    return SQLITE_OK;
}

static int keeper_open(sqlite3_vtab *t, sqlite3_vtab_cursor **out)
{
    (void)t;
    *out = sqlite3_malloc(sizeof(**out));
    return *out ? SQLITE_OK : SQLITE_NOMEM;
}

static int keeper_close(sqlite3_vtab_cursor *c)
{
    sqlite3_free(c);
    return SQLITE_OK;
}

static int keeper_filter(sqlite3_vtab_cursor *c, int plan, const char *text, int argc,
                         sqlite3_value **argv)
{
    (void)c, (void)plan, (void)text, (void)argc, (void)argv;
    return SQLITE_OK;
}

static int keeper_next(sqlite3_vtab_cursor *c)
{
    (void)c;
    return SQLITE_OK;
}

static int keeper_eof(sqlite3_vtab_cursor *c)
{
    (void)c;
    return 1;
}

static int keeper_column(sqlite3_vtab_cursor *c, sqlite3_context *ctx, int column)
{
    (void)c, (void)ctx, (void)column;
    return SQLITE_OK;
}

static int keeper_rowid(sqlite3_vtab_cursor *c, sqlite3_int64 *id)
{
    (void)c;
    *id = 0;
    return SQLITE_OK;
}

static const sqlite3_module keeper_module = {
    .iVersion = 0,
    .xConnect = keeper_connect,
    .xBestIndex = keeper_plan,
    .xDisconnect = keeper_disconnect,
    .xOpen = keeper_open,
    .xClose = keeper_close,
    .xFilter = keeper_filter,
    .xNext = keeper_next,
    .xEof = keeper_eof,
    .xColumn = keeper_column,
    .xRowid = keeper_rowid,
};

struct keeper *keeper_hold(struct keeper *k)
{
    k->holders++;
    return k;
}

void keeper_drop(void *keeper)
{
    struct keeper *k = keeper;
    if (!k || --k->holders)
        return;
    sqlite3_free(k->touch);
    free(k);
}

struct keeper *keeper_new(sqlite3 *db, const char *name)
{
    struct keeper *k = calloc(1, sizeof(*k));
    if (!k)
        return NULL;
    k->db = db;
    k->holders = 1; /* the module, which SQLite drops even if registering fails */
    k->touch = sqlite3_mprintf("SELECT 1 FROM %s", name);
    if (!k->touch) {
        keeper_drop(k);
        return NULL;
    }
    int rc = sqlite3_create_module_v2(db, name, &keeper_module, k, keeper_drop);
    return rc == SQLITE_OK ? k : NULL;
}

sqlite3 *keeper_db(const struct keeper *k)
{
    return k->db;
}

struct lookup *keeper_lookup(struct keeper *k, struct error *err)
{
    if (!k->connected) {
        sqlite3_stmt *s = NULL;
        int rc = sqlite3_prepare_v2(k->db, k->touch, -1, &s, NULL);
        sqlite3_finalize(s);
        if (rc != SQLITE_OK) {
            db_error(k->db, "cannot prepare", err);
            return NULL;
        }
    }
    if (!k->lookup)
        lookup_open(k->db, &k->lookup, err);
    return k->lookup;
}

#define ASK_BYTES (UINT64_C(1) << 24)

/* Runs a statement that is long enough for SQLite to call its progress handler, and that fails
 * at once after sqlite3_interrupt(). */
bool keeper_interrupted(sqlite3 *db)
{
    static const char steps[] =
        "WITH RECURSIVE n(i) AS (VALUES (0) UNION ALL SELECT i + 1 FROM n WHERE i < 1000)"
        " SELECT count(*) FROM n";
    return sqlite3_exec(db, steps, NULL, NULL, NULL) == SQLITE_INTERRUPT;
}

enum status keeper_ask(sqlite3 *db, uint64_t bytes, uint64_t *since, struct error *err)
{
    *since += bytes;
    if (*since < ASK_BYTES)
        return OK;
    *since = 0;
    return keeper_interrupted(db) ? error_set(err, ERR_INTERRUPTED, NULL, NO_OFFSET, "interrupted")
                                  : OK;
}

void keeper_result_error(sqlite3_context *ctx, const char *what, const struct error *err)
{
    char text[sizeof(err->source) + sizeof(err->message) + 64];
    if (err->status == ERR_MEMORY) {
        sqlite3_result_error_nomem(ctx);
        return;
    }
    if (err->status == ERR_INTERRUPTED) {
        sqlite3_result_error_code(ctx, SQLITE_INTERRUPT);
        return;
    }
    error_text(err, text, sizeof(text));
    char *message = what ? sqlite3_mprintf("%s: %s", what, text) : sqlite3_mprintf("%s", text);
    if (message)
        sqlite3_result_error(ctx, message, -1);
    else
        sqlite3_result_error_nomem(ctx);
    sqlite3_free(message);
}

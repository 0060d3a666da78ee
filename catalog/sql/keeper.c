#include "catalog/sql/keeper.h"

#include <stdlib.h>

#include "catalog/sql/vtab.h"

#define KEEPER "ckptdb_keeper"

static int keeper_connect(sqlite3 *db, void *aux, int argc, const char *const *argv,
                          sqlite3_vtab **out, char **message)
{
    (void)argc, (void)argv, (void)message;
    struct keeper *k = aux;
    int rc = vtab_make(&(struct vtab){.db = db, .of = k}, "CREATE TABLE x(a)",
                       SQLITE_VTAB_INNOCUOUS, out);
    k->connected = rc == SQLITE_OK;
    return rc;
}

static int keeper_disconnect(sqlite3_vtab *t)
{
    struct keeper *k = ((struct vtab *)t)->of;
    lookup_close(k->lookup);
    k->lookup = NULL;
    k->connected = false;
    return vtab_free(t);
}

static int keeper_plan(sqlite3_vtab *t, sqlite3_index_info *info)
{
    (void)t, (void)info;
    return SQLITE_OK;
}

/* Without cursors nothing else of a module is called. */
static int keeper_open(sqlite3_vtab *t, sqlite3_vtab_cursor **out)
{
    (void)out;
    return vtab_refuse(t, KEEPER " is no table to query");
}

static const sqlite3_module keeper_module = {
    .xConnect = keeper_connect,
    .xBestIndex = keeper_plan,
    .xDisconnect = keeper_disconnect,
    .xOpen = keeper_open,
};

int keeper_new(sqlite3 *db, struct keeper **out)
{
    struct keeper *k = calloc(1, sizeof(*k));
    if (!k)
        return SQLITE_NOMEM;
    *k = (struct keeper){.shared.release = free, .db = db};
    *out = sql_hold(&k->shared);
    return sqlite3_create_module_v2(db, KEEPER, &keeper_module, sql_hold(&k->shared), sql_drop);
}

struct lookup *keeper_lookup(struct keeper *k, struct error *err)
{
    sqlite3_stmt *s = NULL;
    if (!k->connected) { /* preparing it connects the table */
        int rc = sqlite3_prepare_v2(k->db, "SELECT 1 FROM " KEEPER, -1, &s, NULL);
        sqlite3_finalize(s);
        if (rc != SQLITE_OK || !k->connected) {
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

/*
 * guard.c - what SQL may write on a catalog's connection: maps, optimizers, and what its user made.
 * Storage is changed by this library's functions alone.
 *
 * SQLite asks while it prepares a statement, also about what its triggers would do. It says no more than
 * "not authorized": why is kept for ckptdb_refused().
 */
#include <stdio.h>
#include <string.h>

#include "catalog/db/page_sums.h"
#include "catalog/db/schema.h"
#include "catalog/library/library.h"

/* Numbers in the file's header that say what it is, and what lets statements write the schema. */
static const char *const closed_pragmas[] = {"writable_schema", "user_version", "application_id",
                                             "schema_version"};
#define CLOSED        (sizeof(closed_pragmas) / sizeof(*closed_pragmas))
#define SCHEMA_PRAGMA 0 /* the one that is about all databases of the connection */

#define MADE   "choose another name for what you make"
#define NEEDED "the catalog needs it"
#define YOURS  "indexes and triggers go to tables of your own"

/* Refused changes to what the catalog owns: its rows, or whole tables, views and so on. */
static const struct change {
    int action;
    bool rows;
    const char *instead;
} changes[] = {
    {SQLITE_INSERT, true, "`import PATH` adds checkpoints"},
    {SQLITE_UPDATE, true, "`import` reads a path again, `relocate OLD NEW` moves one"},
    {SQLITE_DELETE, true, "`forget CHECKPOINT` drops checkpoints"},
    {SQLITE_CREATE_TABLE, false, MADE},
    {SQLITE_CREATE_VIEW, false, MADE},
    {SQLITE_CREATE_VTABLE, false, MADE},
    {SQLITE_CREATE_INDEX, false, MADE},
    {SQLITE_CREATE_TRIGGER, false, MADE},
    {SQLITE_DROP_TABLE, false, NEEDED},
    {SQLITE_DROP_VIEW, false, NEEDED},
    {SQLITE_DROP_INDEX, false, NEEDED},
    {SQLITE_DROP_TRIGGER, false, NEEDED},
    {SQLITE_ALTER_TABLE, false, NEEDED},
};

/* Whether this is the catalog's own: rows, or the whole table, view, index or trigger. (Rows of ruleset,
 * rule, optimizer and known_class are not, and SQLite itself refuses to change rows of views.) */
static bool is_own(const char *name, bool rows)
{
    return name[0] == '_' || sqlite3_stricmp(name, "sqlite_dbpage") == 0 ||
           (rows ? sqlite3_stricmp(name, "checkpoint") == 0 : schema_makes(name));
}

static int refuse_change(ckptdb *c, const char *name, const char *instead)
{
    snprintf(
        c->refused, sizeof(c->refused),
        "%.100s is not for SQL to change: %s; SQL writes ruleset, rule, optimizer, known_class, "
        "and tables of your own",
        name, instead);
    return SQLITE_DENY;
}

/* A change in the main database, of `name`; or of `on`, the table of an index or trigger. */
static int guard_change(ckptdb *c, int action, const char *name, const char *on)
{
    const bool attached = action == SQLITE_CREATE_INDEX || action == SQLITE_CREATE_TRIGGER;
    for (size_t i = 0; i < sizeof(changes) / sizeof(*changes); i++)
        if (changes[i].action == action && is_own(name, changes[i].rows))
            return refuse_change(c, name, changes[i].instead);
    return attached && is_own(on, false) ? refuse_change(c, on, YOURS) : SQLITE_OK;
}

static int guard_pragma(ckptdb *c, const char *name, const char *value, const char *database)
{
    const bool elsewhere = database && strcmp(database, "main") != 0;
    size_t i = 0;
    while (i < CLOSED && sqlite3_stricmp(name, closed_pragmas[i]) != 0)
        i++;
    if (!value || i == CLOSED || (elsewhere && i != SCHEMA_PRAGMA))
        return SQLITE_OK;
    snprintf(c->refused, sizeof(c->refused),
             "PRAGMA %s is the catalog's own, and SQL does not set it", name);
    return SQLITE_DENY;
}

static int guard_ask(void *context, int action, const char *a, const char *b, const char *database,
                     const char *by)
{
    ckptdb *c = context;
    (void)by;
    if (c->writing)
        return SQLITE_OK;
    switch (action) {
    case SQLITE_READ:
    case SQLITE_SELECT:
    case SQLITE_FUNCTION: return SQLITE_OK;
    case SQLITE_PRAGMA: return guard_pragma(c, a, b, database);
    /* Temporary tables hide those in the file, also from our own statements. */
    case SQLITE_CREATE_TEMP_TABLE:
    case SQLITE_CREATE_TEMP_VIEW: return a[0] == '_' ? refuse_change(c, a, MADE) : SQLITE_OK;
    case SQLITE_CREATE_TEMP_TRIGGER:
        return is_own(b, false) ? refuse_change(c, b, YOURS) : SQLITE_OK;
    case SQLITE_DROP_VTABLE: return schema_makes(a) ? refuse_change(c, a, NEEDED) : SQLITE_OK;
    case SQLITE_ALTER_TABLE:
        return strcmp(a, "main") == 0 ? guard_change(c, action, b, NULL) : SQLITE_OK;
    default:
        return database && strcmp(database, "main") == 0 ? guard_change(c, action, a, b)
                                                         : SQLITE_OK;
    }
}

void library_guard(ckptdb *c)
{
    sqlite3_set_authorizer(c->db, guard_ask, c);
}

const char *ckptdb_refused(const ckptdb *c)
{
    return c->refused;
}

const char *ckptdb_why(ckptdb *c)
{
    const int rc = sqlite3_errcode(c->db);
    const char *file = NULL;
    const uint32_t page = page_sums_damaged(c->db, &file);
    if (page && rc != SQLITE_AUTH && rc != SQLITE_INTERRUPT)
        snprintf(c->refused, sizeof(c->refused), "%.200s: " PAGE_DAMAGED, file, page);
    return rc == SQLITE_AUTH || (page && rc != SQLITE_INTERRUPT) ? c->refused
                                                                 : sqlite3_errmsg(c->db);
}

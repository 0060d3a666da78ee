/*
 * resolve.c - find the tensor and the rule set that the user means (session.h).
 */
#include <string.h>

#include "catalog/base/nearest.h"
#include "catalog/base/text.h"
#include "shell/session/resolve.h"
#include "shell/session/session.h"

void say_near(sqlite3_stmt *names, const char *wanted, bool paths)
{
    struct nearest nearest = {.wanted = wanted};
    bool last = paths && !strchr(wanted, '/');
    while (names && sqlite3_step(names) == SQLITE_ROW) {
        const char *name = (const char *)sqlite3_column_text(names, 0);
        const char *shown =
            sqlite3_column_count(names) > 1 ? (const char *)sqlite3_column_text(names, 1) : name;
        const char *slash = name && last ? strrchr(name, '/') : NULL;
        if (name)
            nearest_offer(&nearest, slash ? slash + 1 : name, shown ? shown : name);
    }
    sqlite3_finalize(names);
    for (int i = 0; i < nearest.count; i++)
        complain("  %s %s", i == 0 ? "near it:" : "        ", nearest.name[i]);
    nearest_release(&nearest);
}

void say_unknown_dtype(const char *option, const char *name)
{
    const char *near;
    ckptdb_dtype(name, &near);
    complain("%s %s: there is no such dtype%s%s", option, name, near ? "; the nearest is " : "",
             near ? near : "");
}

char *session_dialect(struct session *s, const char *ruleset)
{
    char *dialect = NULL;
    sqlite3_stmt *stmt =
        session_prepare(s, "SELECT dialect FROM ruleset WHERE name = ?1", "s", ruleset);
    if (!stmt)
        return NULL;
    if (session_row(s, stmt)) {
        const unsigned char *text = sqlite3_column_text(stmt, 0);
        dialect = text ? sqlite3_mprintf("%s", text) : NULL;
        if (!dialect)
            complain("no memory");
    } else if (!s->unread) {
        complain("no rule set is called '%s'; `map list` lists them", ruleset);
        say_near(session_prepare(s, "SELECT name FROM ruleset", ""), ruleset, false);
    }
    sqlite3_finalize(stmt);
    return dialect;
}

enum ckptdb_dialect_kind session_map(struct session *s, const char *ruleset)
{
    char *dialect = session_dialect(s, ruleset);
    const enum ckptdb_dialect_kind kind =
        dialect ? ckptdb_dialect(dialect) : CKPTDB_DIALECT_UNKNOWN;
    if (dialect && kind == CKPTDB_DIALECT_UNKNOWN)
        complain("'%s' is of dialect '%s', which this program does not run", ruleset, dialect);
    sqlite3_free(dialect);
    return kind;
}

/* If the map fails for some names, the missing tensor can be one of those. */
static void say_failing(struct session *s, const char *map, sqlite3_int64 checkpoint)
{
    static const char sql[] =
        "SELECT count(*), old_name, error FROM"
        " (SELECT ord, old_name, error FROM conversion WHERE ruleset = " SET_OF(
            "conversion") "  AND checkpoint_id = ?2 AND status = 'error' UNION ALL"
                          "  SELECT ord, old_name, error FROM translation WHERE ruleset = " SET_OF(
                              "translation") "  AND checkpoint_id = ?2 AND status = 'error' ORDER BY ord) HAVING count(*)";
    sqlite3_stmt *stmt = session_prepare(s, sql, "si", map, (int64_t)checkpoint);
    if (stmt && sqlite3_step(stmt) == SQLITE_ROW)
        complain("the map fails for %lld names, the first is %s: %s",
                 (long long)sqlite3_column_int64(stmt, 0), sqlite3_column_text(stmt, 1),
                 sqlite3_column_text(stmt, 2));
    sqlite3_finalize(stmt);
}

ckptdb_tensor *session_mapped(struct session *s, const char *map, const char *renames,
                              sqlite3_int64 checkpoint, const char *name)
{
    static const char names[] =
        "SELECT new_name FROM mapped(?1, ?2, ?3) WHERE new_name IS NOT NULL";
    struct ckptdb_error err;
    ckptdb_tensor *t = NULL;
    char *dialect = map ? session_dialect(s, map) : NULL; /* complains if there is no such map */
    const bool assigns = dialect && ckptdb_dialect(dialect) == CKPTDB_ASSIGNS;
    const bool good = !map || (dialect && !assigns);
    const struct ckptdb_naming naming = {sizeof(naming), checkpoint, map, renames};
    sqlite3_free(dialect);
    if (assigns)
        complain("'%s' fills the names of a model: `export --map` with --target does it", map);
    if (good && renames)
        ckptdb_tensor_open_renamed(s->open, &naming, name, &t, &err);
    else if (good)
        ckptdb_tensor_open_mapped(s->open, map, checkpoint, name, &t, &err);
    s->failed = !t;
    if (good && !t && err.status == CKPTDB_MISSING) {
        if (map)
            say_failing(s, map, checkpoint);
        complain("%s", err.message);
        say_near(session_prepare(s, names, "iss", (int64_t)checkpoint, map, renames), name, false);
    } else if (good && !t) {
        complain_status(&err);
    }
    return t;
}

/* The only tensor of a checkpoint; -1 after complaining that there are several or none. */
static sqlite3_int64 only_tensor(struct session *s, sqlite3_int64 checkpoint)
{
    static const char sql[] = "SELECT c.name, c.tensors, t.id, t.name FROM checkpoint c"
                              " LEFT JOIN tensor t ON t.checkpoint_id = c.id"
                              " WHERE c.id = ?1 LIMIT 3";
    sqlite3_int64 id = -1;
    sqlite3_stmt *stmt = session_prepare(s, sql, "i", (int64_t)checkpoint);
    bool row = session_row(s, stmt);
    const sqlite3_int64 count = row ? sqlite3_column_int64(stmt, 1) : 0;
    if (count == 1)
        id = sqlite3_column_int64(stmt, 2);
    else if (count > 1)
        complain("%s has %lld tensors: give a NAME; `tensors` lists them, such as",
                 sqlite3_column_text(stmt, 0), (long long)count);
    else if (row)
        complain("%s has no tensors", sqlite3_column_text(stmt, 0));
    for (; row && count > 1; row = session_row(s, stmt))
        complain("  %s", sqlite3_column_text(stmt, 3));
    sqlite3_finalize(stmt);
    s->failed = s->failed || id < 0;
    return id;
}

sqlite3_int64 session_tensor(struct session *s, sqlite3_int64 checkpoint, const char *name)
{
    if (!name)
        return only_tensor(s, checkpoint);
    static const char sql[] =
        "SELECT id FROM tensor WHERE checkpoint_id = ?1 AND name = ?2 ORDER BY id LIMIT 1";
    const int64_t found = session_number(s, sql, "is", (int64_t)checkpoint, name);
    const sqlite3_int64 id = found ? found : -1;
    if (id < 0 && !s->unread) {
        complain("there is no tensor called %s", *name ? name : "\"\" (the empty name)");
        say_near(session_prepare(s, "SELECT name FROM tensor WHERE checkpoint_id = ?1", "i",
                                 (int64_t)checkpoint),
                 name, false);
    }
    s->failed = s->failed || id < 0;
    return id;
}

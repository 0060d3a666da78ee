#include "catalog/sql/rules_store.h"

#include <string.h>

#include "catalog/db/db.h"
#include "catalog/db/schema.h"

static const char *rules_store_column(sqlite3_stmt *s, int i)
{
    return (const char *)sqlite3_column_text(s, i);
}

/* Copy a text to the set's arena; *nul is set if it contains a NUL, *room cleared if memory ran
 * out. */
static const char *rules_store_copied(struct ruleset *set, sqlite3_stmt *s, int i, bool *nul,
                                      bool *room)
{
    const char *text = rules_store_column(s, i);
    size_t len = (size_t)sqlite3_column_bytes(s, i);
    const char *copy = text ? arena_copy(set->arena, text, len) : NULL;
    *nul = *nul || (text && strlen(text) != len);
    *room = *room && (copy || !text);
    return copy;
}

static enum status rules_store_prepare(sqlite3 *db, const char *sql, const char *argument,
                                       sqlite3_stmt **out, struct error *err)
{
    if (sqlite3_prepare_v2(db, sql, -1, out, NULL) != SQLITE_OK ||
        sqlite3_bind_text(*out, 1, argument, -1, SQLITE_STATIC) != SQLITE_OK)
        return db_error(db, "rule sets", err);
    return OK;
}

/* --- reading ------------------------------------------------------------------------------------- */

static enum status fetch_set(sqlite3 *db, const char *name, struct ruleset *set, struct error *err)
{
    sqlite3_stmt *s = NULL;
    bool nul = false, room = true;
    if (rules_store_prepare(db, "SELECT dialect, options FROM main.ruleset WHERE name = ?1", name,
                            &s, err) == OK) {
        int rc = sqlite3_step(s);
        if (rc == SQLITE_ROW) {
            set->name = arena_copy(set->arena, name, strlen(name));
            set->dialect = rules_store_copied(set, s, 0, &nul, &room);
            set->options = rules_store_copied(set, s, 1, &nul, &room);
            if (!room || !set->name || !set->dialect || !set->options)
                error_memory(err);
        } else if (rc == SQLITE_DONE) {
            error_set(err, ERR_MISSING, NULL, NO_OFFSET, "no rule set is called '%.200s'", name);
        } else {
            db_error(db, "rule sets", err);
        }
    }
    sqlite3_finalize(s);
    return err->status;
}

static enum status fetch_rules(sqlite3 *db, const char *name, struct ruleset *set,
                               struct error *err)
{
    sqlite3_stmt *s = NULL;
    int rc = SQLITE_DONE;
    bool room = true;
    if (rules_store_prepare(db,
                            "SELECT ord, pattern, replacement, compute, ops FROM main.rule"
                            " WHERE ruleset = ?1 ORDER BY ord",
                            name, &s, err) == OK)
        while (room && (rc = sqlite3_step(s)) == SQLITE_ROW) {
            struct ruleset_rule r = {.ord = sqlite3_column_int64(s, 0)};
            r.pattern = rules_store_copied(set, s, 1, &r.nul, &room);
            r.replacement = rules_store_copied(set, s, 2, &r.nul, &room);
            r.compute = rules_store_copied(set, s, 3, &r.nul, &room);
            r.ops = rules_store_copied(set, s, 4, &r.nul, &room);
            room = room && ruleset_add(set, r);
        }
    if (!room)
        error_memory(err);
    else if (err->status == OK && rc != SQLITE_DONE)
        db_error(db, "rules", err);
    sqlite3_finalize(s);
    return err->status;
}

enum status rules_fetch(sqlite3 *db, const char *name, struct ruleset *set, struct error *err)
{
    if (fetch_set(db, name, set, err) == OK)
        fetch_rules(db, name, set, err);
    return err->status;
}

/* --- writing ------------------------------------------------------------------------------------- */

static bool rules_store_run(sqlite3_stmt *s)
{
    bool done = sqlite3_step(s) == SQLITE_DONE;
    sqlite3_reset(s);
    return done;
}

static bool insert_rules(sqlite3_stmt *s, const struct ruleset *set)
{
    for (size_t i = 0; i < set->rules; i++) {
        const struct ruleset_rule *r = &set->rule[i];
        const char *const text[] = {r->pattern, r->replacement, r->compute, r->ops};
        sqlite3_bind_int64(s, 2, r->ord);
        for (int k = 0; k < 4; k++)
            sqlite3_bind_text(s, 3 + k, text[k], -1, SQLITE_STATIC);
        if (!rules_store_run(s))
            return false;
    }
    return true;
}

static bool insert_all(sqlite3 *db, const char *name, const struct ruleset *set)
{
    static const char *const sql[] = {
        "DELETE FROM main.ruleset WHERE name = ?1",
        "INSERT INTO main.ruleset(name, dialect, options) VALUES (?1, ?2, ?3)",
        ("INSERT INTO main.rule(ruleset, ord, pattern, replacement, compute, ops)"
         " VALUES (?1, ?2, ?3, ?4, ?5, ?6)"),
    };
    bool good = true;
    for (int i = 0; good && i < 3; i++) {
        sqlite3_stmt *s = NULL;
        good = sqlite3_prepare_v2(db, sql[i], -1, &s, NULL) == SQLITE_OK;
        sqlite3_bind_text(s, 1, name, -1, SQLITE_STATIC);
        if (i == 1) {
            sqlite3_bind_text(s, 2, set->dialect, -1, SQLITE_STATIC);
            sqlite3_bind_text(s, 3, set->options, -1, SQLITE_STATIC);
        }
        good = good && (i < 2 ? rules_store_run(s) : insert_rules(s, set));
        sqlite3_finalize(s);
    }
    return good;
}

enum status rules_store(sqlite3 *db, const char *name, const struct ruleset *set, struct error *err)
{
    if (db_exec(db, "SAVEPOINT rules_store", err) != OK)
        return err->status;
    if (!insert_all(db, name, set)) {
        db_error(db, "cannot store the rule set", err);
        sqlite3_exec(db, "ROLLBACK TO rules_store", NULL, NULL, NULL);
        sqlite3_exec(db, "RELEASE rules_store", NULL, NULL, NULL);
        return err->status;
    }
    return db_exec(db, "RELEASE rules_store", err);
}

/* --- files of SQL ---------------------------------------------------------------------------------- */

static enum status scratch_open(sqlite3 **db, struct error *err)
{
    if (sqlite3_open(":memory:", db) != SQLITE_OK)
        return error_memory(err);
    for (const struct schema_file *f = schema_files; err->status == OK && f->path; f++)
        if (strstr(f->path, "/00_"))
            db_exec(*db, f->text, err);
    /* No ATTACH, and therefore no VACUUM INTO: the SQL cannot reach any file. */
    sqlite3_limit(*db, SQLITE_LIMIT_ATTACHED, 0);
    return err->status;
}

/* The name of the set to take, in the arena: `name`, or else the only set there is. */
static const char *rules_store_choose(sqlite3 *db, const char *path, const char *name,
                                      struct arena *arena, struct error *err)
{
    static const char sql[] =
        "SELECT name, NULL FROM ruleset WHERE name = ?1 UNION ALL"
        " SELECT iif(count(*) = 1, max(name), NULL), group_concat(name, ', ') FROM ruleset LIMIT 1";
    sqlite3_stmt *s = NULL;
    const char *chosen = NULL;
    if (rules_store_prepare(db, sql, name, &s, err) == OK && db_row(s, "rule sets", err)) {
        const char *found = rules_store_column(s, 0), *all = rules_store_column(s, 1);
        if (found && !(chosen = arena_copy(arena, found, strlen(found))))
            error_memory(err);
        else if (!found && all)
            error_set(err, ERR_ARGUMENT, path, NO_OFFSET,
                      "no rule set is called '%.100s'; there are %.300s", name, all);
        else if (!found)
            error_set(err, ERR_ARGUMENT, path, NO_OFFSET, "it makes no rule set");
    }
    sqlite3_finalize(s);
    return chosen;
}

enum status rules_from_sql(const char *sql, const char *path, const char *name, struct ruleset *set,
                           struct error *err)
{
    sqlite3 *db = NULL;
    char *message = NULL;
    const char *chosen = NULL;
    if (scratch_open(&db, err) == OK && sqlite3_exec(db, sql, NULL, NULL, &message) != SQLITE_OK)
        error_set(err, ERR_ARGUMENT, path, NO_OFFSET, "%s", message ? message : "no memory");
    if (err->status == OK)
        chosen = rules_store_choose(db, path, name, set->arena, err);
    if (chosen)
        rules_fetch(db, chosen, set, err);
    sqlite3_free(message);
    sqlite3_close(db);
    return err->status;
}

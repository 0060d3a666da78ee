#include "catalog/sql/rules_store.h"

#include <string.h>

#include "catalog/base/text.h"
#include "catalog/db/db.h"
#include "catalog/db/schema.h"

/* Copy a text to the set's arena; *nul is set if it contains a NUL. */
static const char *rules_store_copied(struct ruleset *set, sqlite3_stmt *s, int i, bool *nul,
                                      struct error *err)
{
    const char *text = db_text(s, i);
    size_t len = (size_t)sqlite3_column_bytes(s, i);
    const char *copy = text ? arena_copy(set->arena, text, len) : NULL;
    *nul = *nul || (text && strlen(text) != len);
    if (text && !copy)
        error_memory(err);
    return copy;
}

/* Copy a pattern or a template, with the escapes that mean a NUL in place of each: a text here
 * holds none. A NUL after a backslash is itself in a pattern, and leaves both in a template. */
static const char *rules_store_spelt(struct ruleset *set, sqlite3_stmt *s, int i, bool template,
                                     struct error *err)
{
    const char *from = db_text(s, i);
    size_t len = (size_t)sqlite3_column_bytes(s, i);
    struct text spelt = {0};
    bool escaped = false;
    if (!from)
        return NULL;
    for (size_t at = 0; at < len; at++) {
        if (from[at])
            text_addc(&spelt, from[at]);
        else if (template)
            text_adds(&spelt, escaped ? "\\\\000" : "\\000");
        else
            text_adds(&spelt, escaped ? "x00" : "\\x00");
        escaped = from[at] == '\\' && !escaped;
    }
    const char *copy =
        text_str(&spelt) ? arena_copy(set->arena, text_str(&spelt), spelt.len) : NULL;
    text_release(&spelt);
    if (!copy)
        error_memory(err);
    return copy;
}

/* --- reading ------------------------------------------------------------------------------------- */

static enum status fetch_set(sqlite3 *db, const char *name, struct ruleset *set, struct error *err)
{
    bool nul = false;
    sqlite3_stmt *s =
        db_query_to(db, err, "rule sets",
                    "SELECT dialect, options FROM main.ruleset WHERE name = ?1", "s", name);
    if (db_row(s, "rule sets", err)) {
        set->name = arena_copy(set->arena, name, strlen(name));
        set->dialect = rules_store_copied(set, s, 0, &nul, err);
        set->options = rules_store_copied(set, s, 1, &nul, err);
        if (!set->name || !set->dialect || !set->options)
            error_memory(err);
    } else if (err->status == OK) {
        error_set(err, ERR_MISSING, NULL, NO_OFFSET, "no rule set is called '%.200s'", name);
    }
    sqlite3_finalize(s);
    return err->status;
}

static void fetch_rules(sqlite3 *db, const char *name, struct ruleset *set, struct error *err)
{
    sqlite3_stmt *s = db_query_to(db, err, "rule sets",
                                  "SELECT ord, pattern, replacement, compute, ops FROM main.rule"
                                  " WHERE ruleset = ?1 ORDER BY ord",
                                  "s", name);
    while (db_row(s, "rules", err)) {
        struct ruleset_rule r = {.ord = sqlite3_column_int64(s, 0)};
        r.pattern = rules_store_spelt(set, s, 1, false, err);
        r.replacement = rules_store_spelt(set, s, 2, true, err);
        r.compute = rules_store_copied(set, s, 3, &r.nul, err);
        r.ops = rules_store_copied(set, s, 4, &r.nul, err);
        if (!ruleset_add(set, r))
            error_memory(err);
    }
    sqlite3_finalize(s);
}

enum status rules_fetch(sqlite3 *db, const char *name, struct ruleset *set, struct error *err)
{
    if (fetch_set(db, name, set, err) == OK)
        fetch_rules(db, name, set, err);
    return err->status;
}

/* --- writing ------------------------------------------------------------------------------------- */

enum status rules_store(sqlite3 *db, const char *name, const struct ruleset *set, struct error *err)
{
    static const char doing[] = "cannot store the rule set";
    if (db_exec(db, "SAVEPOINT rules_store", err) != OK)
        return err->status;
    db_run(db, err, doing, "DELETE FROM main.ruleset WHERE name = ?1", "s", name);
    db_run(db, err, doing, "INSERT INTO main.ruleset(name, dialect, options) VALUES (?1, ?2, ?3)",
           "sss", name, set->dialect, set->options);
    sqlite3_stmt *s =
        db_query_to(db, err, doing,
                    "INSERT INTO main.rule(ruleset, ord, pattern, replacement, compute, ops)"
                    " VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
                    "");
    for (size_t i = 0; i < set->rules && err->status == OK; i++) {
        const struct ruleset_rule *r = &set->rule[i];
        db_bind(s, "sissss", name, r->ord, r->pattern, r->replacement, r->compute, r->ops);
        db_step(db, s, doing, err);
    }
    sqlite3_finalize(s);
    if (err->status == OK)
        return db_exec(db, "RELEASE rules_store", err);
    sqlite3_exec(db, "ROLLBACK TO rules_store", NULL, NULL, NULL);
    sqlite3_exec(db, "RELEASE rules_store", NULL, NULL, NULL);
    return err->status;
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
    sqlite3_stmt *s = db_query_to(db, err, "rule sets", sql, "s", name);
    const char *chosen = NULL;
    if (db_row(s, "rule sets", err)) {
        const char *found = db_text(s, 0), *all = db_text(s, 1);
        if (found && !(chosen = arena_copy(arena, found, strlen(found))))
            error_memory(err);
        else if (!found && all)
            error_set(err, ERR_ARGUMENT, path, NO_OFFSET,
                      "no rule set is called '%.100s'; there are %.300s", name, all);
        else if (!found)
            error_set(err, ERR_ARGUMENT, path, NO_OFFSET, "it creates no rule set");
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

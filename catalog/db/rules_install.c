/*
 * rules_install.c - the shipped rule sets, schema/rules/NAME.sql, in a catalog.
 */
#include <string.h>

#include "catalog/base/strmap.h"
#include "catalog/db/schema.h"

#define FOLDER "schema/rules/"

#define SEED 8 /* any constant will do */

/* A digest of a file, positive. `ruleset.shipped` has it, to notice that a shipped file has
 * changed. */
static sqlite3_int64 edition(const char *text)
{
    return (sqlite3_int64)(hash_bytes(text, strlen(text), SEED) >> 2 | 1);
}

static void install(sqlite3 *db, const char *name, const char *sql, struct error *err)
{
    if (db_exec(db, "SAVEPOINT install", err) != OK)
        return;
    if (db_run(db, err, name, "DELETE FROM ruleset WHERE name = ?1", "s", name) == OK &&
        db_exec(db, sql, err) == OK)
        db_run(db, err, name, "UPDATE ruleset SET shipped = ?2 WHERE name = ?1", "si", name,
               edition(sql));
    if (err->status != OK)
        sqlite3_exec(db, "ROLLBACK TO install", NULL, NULL, NULL);
    sqlite3_exec(db, "RELEASE install", NULL, NULL, NULL);
}

static void renew_set(sqlite3 *db, sqlite3_stmt *s, const struct schema_file *f, struct error *err)
{
    const char *stem = f->path + strlen(FOLDER);
    char *name = sqlite3_mprintf("%.*s", (int)strcspn(stem, "."), stem);
    if (!name)
        error_memory(err);
    else
        db_bind(s, "s", name);
    /* What the catalog has; -1: nothing, 0: a set that a person changed. */
    const sqlite3_int64 held = name && db_row(s, name, err) ? sqlite3_column_int64(s, 0) : -1;
    sqlite3_reset(s);
    if (err->status == OK && held != 0 && held != edition(f->text))
        install(db, name, f->text, err);
    sqlite3_free(name);
}

/* One transaction for all sets: locking the file once for each would keep a command waiting. */
enum status rules_install(sqlite3 *db, struct error *err)
{
    if (db_exec(db, "SAVEPOINT shipped", err) != OK)
        return err->status;
    sqlite3_stmt *s = db_query(db, err, "SELECT shipped FROM ruleset WHERE name = ?1", "");
    for (const struct schema_file *f = schema_files; err->status == OK && f->path; f++)
        if (strncmp(f->path, FOLDER, strlen(FOLDER)) == 0)
            renew_set(db, s, f, err);
    sqlite3_finalize(s);
    if (err->status == OK)
        db_exec(db, "RELEASE shipped", err);
    if (err->status != OK)
        sqlite3_exec(db, "ROLLBACK TO shipped; RELEASE shipped", NULL, NULL, NULL);
    return err->status;
}

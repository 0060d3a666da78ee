#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "catalog/base/text.h"
#include "shell/command.h"

/* Every column that holds absolute paths. */
static const struct {
    const char *table, *column;
} places[] = {
    {"checkpoints", "path"},
    {"checkpoints", "run" },
    {"files",       "path"},
    {"passed",      "path"},
    {"issues",      "path"},
};

/* An absolute path without a final '/', through realpath where it exists; malloc'ed. */
static char *absolute(const char *path)
{
    char *real = realpath(path, NULL), folder[PATH_MAX];
    if (real)
        return real;
    struct text t = {0};
    if (path[0] != '/' && getcwd(folder, sizeof(folder)))
        text_addf(&t, "%s/", folder);
    text_adds(&t, path);
    while (t.len > 1 && t.at[t.len - 1] == '/')
        t.at[--t.len] = '\0';
    return text_steal(&t);
}

/* Move one column; the number of rows, -1 after an error. */
static int move_column(struct session *s, size_t place, const char *old, const char *new)
{
    char *sql =
        sqlite3_mprintf("UPDATE %s SET %s = ?2 || substr(%s, length(?1) + 1)"
                        " WHERE %s = ?1 OR substr(%s, 1, length(?1) + 1) = ?1 || '/'",
                        places[place].table, places[place].column, places[place].column,
                        places[place].column, places[place].column);
    sqlite3_stmt *stmt = sql ? session_prepare(s, sql, "ss", old, new) : NULL;
    int rc = stmt ? sqlite3_step(stmt) : SQLITE_NOMEM;
    if (stmt && rc != SQLITE_DONE)
        complain("cannot move %s to %s: %s", old, new, sqlite3_errmsg(s->db));
    sqlite3_finalize(stmt);
    sqlite3_free(sql);
    return rc == SQLITE_DONE ? sqlite3_changes(s->db) : -1;
}

static int move_all(struct session *s, const char *old, const char *new, bool dry)
{
    struct error err;
    error_clear(&err);
    if (db_exec(s->db, "SAVEPOINT relocate", &err) != OK) {
        complain_error(&err);
        return STATUS_TROUBLE;
    }
    int moved = 0, checkpoints = 0;
    for (size_t i = 0; i < sizeof(places) / sizeof(*places) && moved >= 0; i++) {
        moved = move_column(s, i, old, new);
        checkpoints = i == 0 ? moved : checkpoints;
    }
    bool keep = moved >= 0 && !dry;
    if (db_exec(s->db,
                keep ? "RELEASE relocate" : "ROLLBACK TO relocate; RELEASE relocate",
                &err) != OK) {
        complain_error(&err);
        return STATUS_TROUBLE;
    }
    if (moved < 0)
        return STATUS_NO;
    if (checkpoints == 0)
        complain("no checkpoint lies under %s", old);
    else
        fprintf(stderr, "%s %d checkpoint%s\n", dry ? "would move" : "moved", checkpoints,
                checkpoints == 1 ? "" : "s");
    return checkpoints ? STATUS_FINE : STATUS_NO;
}

static const struct option_spec options[] = {
    {"--dry-run", NULL, "only say how many checkpoints would move"},
    {NULL,        NULL, NULL                                      },
};

static int relocate_run(struct session *s, const struct args *args)
{
    char *old = absolute(args->operand[0]), *new = absolute(args->operand[1]);
    int status = STATUS_TROUBLE;
    if (!old || !new)
        complain("no memory");
    else
        status = move_all(s, old, new, args->value[0] != NULL);
    free(old);
    free(new);
    return status;
}

const struct command command_relocate = {
    .name = "relocate",
    .args = "OLD NEW [--dry-run]",
    .summary = "change a path prefix, after files were moved",
    .help = "Nothing on disk is touched or looked at. Files that were copied rather than "
            "moved\n"
            "count as changed: import the new place instead.\n\n"
            "  ckptdb relocate /mnt/old/models /mnt/new/models",
    .options = options,
    .min_args = 2,
    .max_args = 2,
    .catalog = CATALOG_WRITE,
    .no_rows = true,
    .run = relocate_run,
};

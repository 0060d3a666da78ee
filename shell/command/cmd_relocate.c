#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "catalog/base/text.h"
#include "catalog/db/labels.h"
#include "shell/command/command.h"

/* Every column that holds absolute paths. */
static const struct {
    const char *table, *column;
} places[] = {
    {"checkpoints", "path"}, {"checkpoints", "run"}, {"files", "path"},
    {"passed", "path"},      {"issues", "path"},
};

/* An absolute path without a final '/', as it is written: the old place may by now be a link
 * to the new one. malloc'ed. */
static char *absolute(const char *path)
{
    char folder[PATH_MAX];
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

/* A file that was copied with its times to another disk is the same file: take its new inode
 * and device over. One of another size or time is left to count as changed. */
static bool recognise_file(struct session *s, sqlite3_stmt *row, sqlite3_stmt *update)
{
    struct error ignored = {.offset = NO_OFFSET};
    struct file_identity now;
    if (file_identify((const char *)sqlite3_column_text(row, 1), &now, &ignored) != OK ||
        now.size != (uint64_t)sqlite3_column_int64(row, 2) ||
        now.mtime_ns != sqlite3_column_int64(row, 3))
        return true;
    sqlite3_bind_int64(update, 1, sqlite3_column_int64(row, 0));
    sqlite3_bind_int64(update, 2, (sqlite3_int64)now.inode);
    sqlite3_bind_int64(update, 3, (sqlite3_int64)now.device);
    bool ok = sqlite3_step(update) == SQLITE_DONE;
    sqlite3_reset(update);
    if (!ok)
        complain("cannot write the catalog: %s", sqlite3_errmsg(s->db));
    return ok;
}

static bool recognise_files(struct session *s, const char *new)
{
    sqlite3_stmt *rows = session_prepare(
        s,
        "SELECT id, path, size, mtime_ns FROM files WHERE size IS NOT NULL"
        " AND (path = ?1 OR substr(path, 1, length(?1) + 1) = ?1 || '/')",
        "s", new);
    sqlite3_stmt *update =
        session_prepare(s, "UPDATE files SET inode = ?2, device = ?3 WHERE id = ?1", "");
    bool ok = rows && update;
    while (ok && sqlite3_step(rows) == SQLITE_ROW)
        ok = recognise_file(s, rows, update);
    sqlite3_finalize(rows);
    sqlite3_finalize(update);
    return ok;
}

static int move_all(struct session *s, const char *old, const char *new, bool dry)
{
    struct error err;
    struct text json = {0};
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
    if (moved >= 0 && !dry && !recognise_files(s, new))
        moved = -1;
    if (moved >= 0 && !dry && labels_renew(s->db, &err) != OK) {
        complain_error(&err);
        moved = -1;
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
    text_addf(&json, "{\"dry_run\":%s,\"checkpoints\":%d}", dry ? "true" : "false",
              checkpoints);
    const int printed = render_report(s, &json);
    text_release(&json);
    return printed != STATUS_FINE ? printed : checkpoints ? STATUS_FINE : STATUS_NO;
}

static bool holds_any(struct session *s, const char *prefix)
{
    sqlite3_stmt *any = session_prepare(s,
                                        "SELECT 1 FROM checkpoints WHERE path = ?1 OR "
                                        "substr(path, 1, length(?1) + 1) = ?1"
                                        " || '/' LIMIT 1",
                                        "s", prefix);
    bool found = any && sqlite3_step(any) == SQLITE_ROW;
    sqlite3_finalize(any);
    return found;
}

/* The old place as it is written, or where that leads to: the catalog has real paths. */
static char *old_place(struct session *s, const char *path)
{
    char *written = absolute(path);
    char *real = written && !holds_any(s, written) ? realpath(path, NULL) : NULL;
    if (!real)
        return written;
    free(written);
    return real;
}

/* The new place, by its real path where it exists. */
static char *new_place(const char *path)
{
    char *real = realpath(path, NULL);
    return real ? real : absolute(path);
}

static const struct option_spec options[] = {
    {"--dry-run", NULL, "only say how many checkpoints would move"},
    {NULL, NULL, NULL},
};

static int relocate_run(struct session *s, const struct args *args)
{
    char *old = old_place(s, args->operand[0]), *new = new_place(args->operand[1]);
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
    .help = "Nothing on disk is touched. Files with the size and time that they had "
            "count as\n"
            "the same; others as changed: import the new place then.\n\n"
            "  ckptdb relocate /mnt/old/models /mnt/new/models",
    .options = options,
    .min_args = 2,
    .max_args = 2,
    .catalog = CATALOG_WRITE,
    .run = relocate_run,
};

/*
 * relocate.c - changes the catalog's paths after files were moved.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "catalog/base/text.h"
#include "catalog/db/ids.h"
#include "catalog/db/labels.h"
#include "catalog/library/library.h"

/* All columns with absolute paths. */
static const struct {
    const char *table, *column;
} places[] = {
    {"_checkpoints", "path"}, {"_checkpoints", "run"}, {"_files", "path"},   {"_passed", "path"},
    {"_unread", "path"},      {"_issues", "path"},     {"_damages", "file"},
};

/* What the paths below a place have before their next '/': nothing below the root. */
static const char *path_prefix(const char *place)
{
    return strcmp(place, "/") == 0 ? "" : place;
}

/* What the path of a column below ?1 becomes below ?2 (the root itself is the one path that ends in
 * '/'), and whether it is there. */
#define MOVED     "coalesce(nullif(?2 || iif(%s = '/', '', substr(%s, length(?1) + 1)), ''), '/')"
#define BELOW_OLD "(%s = ?1 OR substr(%s, 1, length(?1) + 1) = ?1 || '/')"

/* Run a statement about the old place, ?1, and the new one, ?2; releases its text. Returns the
 * number of rows that it changed. */
static int64_t relocate_change(const ckptdb *c, struct text *sql, const char *old, const char *new,
                               struct error *err)
{
    if (!text_str(sql))
        error_memory(err);
    db_run(c->db, err, NULL, text_str(sql), "ss", path_prefix(old), path_prefix(new));
    text_release(sql);
    return err->status == OK ? sqlite3_changes(c->db) : 0;
}

/* Change the paths of one column; returns the number of rows. First all get a mark that no path
 * begins with: where one place is inside the other, a row could otherwise come to the path of one
 * that is yet to be moved. */
static int64_t move_column(const ckptdb *c, size_t place, const char *old, const char *new,
                           struct error *err)
{
    const char *table = places[place].table, *column = places[place].column;
    char moved[64];
    struct text mark = {0}, move = {0};
    snprintf(moved, sizeof(moved), "substr(%s, 2)", column);
    text_addf(&mark, "UPDATE %s SET %s = '>' || %s WHERE " BELOW_OLD, table, column, column, column,
              column);
    int64_t rows = relocate_change(c, &mark, old, new, err);
    if (rows > 0) {
        text_addf(&move, "UPDATE %s SET %s = " MOVED " WHERE substr(%s, 1, 1) = '>'", table, column,
                  moved, moved, column);
        rows = relocate_change(c, &move, old, new, err);
    }
    if (err->status == ERR_IO) { /* a constraint: the new path is taken */
        error_clear(err);
        error_set(err, ERR_ARGUMENT, NULL, NO_OFFSET, "cannot move %s to %s: %s", old, new,
                  sqlite3_errmsg(c->db));
    }
    return rows;
}

/* Refuse to move a checkpoint to the path of another one, which an import has found there. */
static void check_taken(const ckptdb *c, const char *old, const char *new, struct error *err)
{
    struct text sql = {0};
    text_addf(&sql,
              "SELECT path FROM _checkpoints WHERE NOT " BELOW_OLD " AND path IN (SELECT " MOVED
              " FROM _checkpoints WHERE " BELOW_OLD ")",
              "path", "path", "path", "path", "path", "path");
    if (!text_str(&sql))
        error_memory(err);
    sqlite3_stmt *taken =
        db_query(c->db, err, text_str(&sql), "ss", path_prefix(old), path_prefix(new));
    if (db_row(taken, NULL, err))
        error_set(err, ERR_ARGUMENT, NULL, NO_OFFSET,
                  "cannot move %s to %s: %s is in the catalog already; forget one of the two first",
                  old, new, db_text(taken, 0));
    sqlite3_finalize(taken);
    text_release(&sql);
}

/* Of files that are no checkpoints and were seen in both places, keep the rows of the new. A
 * new path below the old place does not count: its row moves on itself. */
static void forget_twice_seen(const ckptdb *c, const char *table, const char *which,
                              const char *old, const char *new, struct error *err)
{
    struct text sql = {0};
    text_addf(&sql,
              "DELETE FROM %s WHERE %s AND " BELOW_OLD " AND " MOVED
              " IN (SELECT path FROM %s WHERE %s AND NOT " BELOW_OLD ")",
              table, which, "path", "path", "path", "path", table, which, "path", "path");
    relocate_change(c, &sql, old, new, err);
}

/* A file that was copied to another disk with its times is the same file, so store its new inode
 * and device. A file of another size or time counts as changed. */
static void recognise_file(const ckptdb *c, sqlite3_stmt *row, struct error *err)
{
    struct error ignored = {.offset = NO_OFFSET};
    struct file_identity now;
    if (file_identify(db_text(row, 1), &now, &ignored) != OK ||
        now.size != (uint64_t)sqlite3_column_int64(row, 2) ||
        now.mtime_ns != sqlite3_column_int64(row, 3))
        return;
    db_run(c->db, err, NULL, "UPDATE _files SET inode = ?2, device = ?3 WHERE id = ?1", "iii",
           (int64_t)sqlite3_column_int64(row, 0), (int64_t)now.inode, (int64_t)now.device);
    /* A checkpoint reported gone is back once its first file is. */
    db_run(c->db, err, NULL,
           "DELETE FROM _issues WHERE code = 'gone' AND checkpoint = (?1" ID_OWNER
           ") AND (?1" ID_ORD ") = 0",
           "i", (int64_t)sqlite3_column_int64(row, 0));
}

void library_recognise(const ckptdb *c, sqlite3_stmt *rows, struct error *err)
{
    while (err->status == OK && db_row(rows, NULL, err))
        recognise_file(c, rows, err);
    sqlite3_finalize(rows);
}

/* Change all columns; returns the number of checkpoints. */
static int64_t move_all(const ckptdb *c, const char *old, const char *new, bool dry,
                        struct error *err)
{
    int64_t checkpoints = 0;
    /* A row of `unread` refers to one of `passed` by its path: they agree again at the end. */
    if (db_exec(c->db, "SAVEPOINT relocate; PRAGMA defer_foreign_keys = ON", err) != OK)
        return 0;
    check_taken(c, old, new, err);
    forget_twice_seen(c, "_passed", "1", old, new, err);
    forget_twice_seen(c, "_issues", "checkpoint IS NULL", old, new, err);
    for (size_t i = 0; i < sizeof(places) / sizeof(*places) && err->status == OK; i++) {
        const int64_t moved = move_column(c, i, old, new, err);
        checkpoints = i == 0 ? moved : checkpoints;
    }
    if (!dry)
        library_recognise(
            c,
            db_query(c->db, err,
                     "SELECT id, path, size, mtime_ns FROM _files WHERE size IS NOT NULL"
                     " AND (path = ?1 OR substr(path, 1, length(?1) + 1) = ?1 || '/')",
                     "s", path_prefix(new)),
            err);
    if (!dry && err->status == OK)
        labels_renew(c->db, err);
    const bool keep = err->status == OK && !dry;
    struct error ending = {.offset = NO_OFFSET};
    if (db_exec(c->db, keep ? "RELEASE relocate" : "ROLLBACK TO relocate; RELEASE relocate",
                &ending) != OK &&
        err->status == OK)
        *err = ending;
    return checkpoints;
}

/* --- places -------------------------------------------------------------------------------- */

/* Add the components of a path to one that is absolute and clean: ".." takes the last one away. */
static void add_components(struct text *t, const char *path)
{
    for (size_t len; *path; path += len) {
        path += strspn(path, "/");
        len = strcspn(path, "/");
        if (len == 2 && memcmp(path, "..", 2) == 0) {
            while (t->len && t->at[--t->len] != '/')
                ;
            if (t->at)
                t->at[t->len] = '\0';
        } else if (len && !(len == 1 && *path == '.')) {
            text_addc(t, '/');
            text_add(t, path, len);
        }
    }
}

/* Whether a path names a place of another machine or store: "file://HOST/...", "s3://...". */
static bool is_remote(const char *path)
{
    return strncmp(path + strspn(path, "abcdefghijklmnopqrstuvwxyz0123456789+"), "://", 3) == 0;
}

char *library_place(const char *path)
{
    char folder[PATH_MAX];
    struct text t = {0};
    if (is_remote(path)) {
        size_t len = strlen(path);
        while (len && path[len - 1] == '/')
            len--;
        return strndup(path, len);
    }
    if (path[0] != '/' && getcwd(folder, sizeof(folder)))
        add_components(&t, folder);
    add_components(&t, path);
    if (!t.len)
        text_addc(&t, '/');
    return text_steal(&t);
}

static bool holds_any(const ckptdb *c, const char *prefix, struct error *err)
{
    static const char sql[] = "SELECT 1 FROM _checkpoints WHERE path = ?1 OR"
                              " substr(path, 1, length(?1) + 1) = ?1 || '/' LIMIT 1";
    sqlite3_stmt *any = db_query(c->db, err, sql, "s", path_prefix(prefix));
    const bool found = db_row(any, NULL, err);
    sqlite3_finalize(any);
    return found;
}

/* The old place as given, or, if the catalog has nothing there, its real path, as the catalog
 * stores them. */
static char *old_place(const ckptdb *c, const char *path, struct error *err)
{
    char *written = library_place(path);
    char *real = written && !holds_any(c, written, err) ? realpath(path, NULL) : NULL;
    if (!real)
        return written;
    free(written);
    return real;
}

char *library_new_place(const char *path)
{
    char *real = realpath(path, NULL), *written = real ? NULL : library_place(path);
    struct text t = {0};
    if (real || !written || is_remote(path))
        return real ? real : written;
    for (size_t end = strlen(written); end > 0 && !real;) {
        while (end > 0 && written[--end] != '/')
            ;
        char *folder = strndup(written, end ? end : 1);
        real = folder ? realpath(folder, NULL) : NULL;
        free(folder);
        if (real) {
            text_adds(&t, path_prefix(real));
            text_adds(&t, written + end);
        }
    }
    free(real);
    if (!t.len)
        return written;
    free(written);
    return text_steal(&t);
}

enum ckptdb_status ckptdb_relocate(ckptdb *c, const char *old, const char *new, bool dry_run,
                                   uint64_t *checkpoints, struct ckptdb_error *error)
{
    struct error err = {.offset = NO_OFFSET};
    const bool given = *old && *new;
    char *from = given ? old_place(c, old, &err) : NULL;
    char *to = given ? library_new_place(new) : NULL;
    int64_t moved = 0;
    c->writing++;
    if (!given)
        error_set(&err, ERR_ARGUMENT, NULL, NO_OFFSET, "an empty path");
    else if (!from || !to)
        error_memory(&err);
    else if (err.status == OK)
        moved = move_all(c, from, to, dry_run, &err);
    c->writing--;
    if (err.status == OK && !moved)
        error_set(&err, ERR_MISSING, NULL, NO_OFFSET, "no checkpoint lies under %s", from);
    if (checkpoints)
        *checkpoints = (uint64_t)moved;
    free(from);
    free(to);
    return library_end(&err, error);
}

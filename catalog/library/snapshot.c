/*
 * snapshot.c - a copy of the catalog, in a file of its own.
 *
 * VACUUM INTO makes it: one read transaction, so it is one state however long it takes, others go on
 * writing (SQLite's online backup begins anew whenever they do), and no dropped rows remain. A damaged page ends it.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "catalog/base/text.h"
#include "catalog/data/store/staging.h"
#include "catalog/library/library.h"
#include "catalog/sql/open.h"

/* The sums of pages came along. They belong to the other file, whose counter the copy may reach: our own VFS
 * must not see them. */
static void drop_sums(const char *path, struct error *err)
{
    sqlite3 *db = NULL;
    char *uri = db_uri(path, false);
    if (!uri) {
        error_memory(err);
    } else if (sqlite3_open_v2(uri, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_URI, NULL) !=
               SQLITE_OK) {
        error_set(err, ERR_IO, path, NO_OFFSET, "cannot open the copy: %s",
                  db ? sqlite3_errmsg(db) : "no memory");
    } else {
        sqlite3_int64 there = 0; /* an old catalog has none */
        db_number(db, "SELECT count(*) FROM sqlite_schema WHERE name = '_page_sums'", NO_NAME, NULL,
                  &there, err);
        if (there)
            db_exec(db, "PRAGMA synchronous=OFF; DELETE FROM _page_sums", err);
    }
    sqlite3_close(db);
    free(uri);
}

void library_copy(ckptdb *c, const char *schema, const char *path, struct error *err)
{
    struct text sql = {0};
    sqlite3 *copy = NULL;
    text_addf(&sql, "VACUUM %s INTO ?1", schema);
    if (!text_str(&sql))
        error_memory(err);
    c->writing++;
    db_run(c->db, err, "cannot copy the catalog", text_str(&sql), "s", path);
    c->writing--;
    text_release(&sql);
    if (err->status == OK)
        drop_sums(path, err);
    if (err->status == OK && db_open(path, DB_WRITE, &copy, err) == OK)
        db_close(copy);
}

/* A journal beside a new file would be taken for its own. */
static void check_journals(const char *path, struct error *err)
{
    static const char *const journals[] = {"-wal", "-journal"};
    for (int i = 0; i < 2 && err->status == OK; i++) {
        struct text name = {0};
        text_addf(&name, "%s%s", path, journals[i]);
        if (!text_str(&name))
            error_memory(err);
        else if (access(text_str(&name), F_OK) == 0)
            error_set(err, ERR_ARGUMENT, text_str(&name), NO_OFFSET,
                      "is there: a program is writing %s, or was killed as it did", path);
        text_release(&name);
    }
}

static void check_place(const ckptdb *c, const char *path, bool force, struct error *err)
{
    const char *own = sqlite3_db_filename(c->db, "main");
    struct stat there, here;
    if (!*path || path[strlen(path) - 1] == '/')
        error_set(err, ERR_ARGUMENT, path, NO_OFFSET, "names no file");
    else if (stat(path, &there) == 0 && own && stat(own, &here) == 0 &&
             there.st_ino == here.st_ino && there.st_dev == here.st_dev)
        error_set(err, ERR_ARGUMENT, path, NO_OFFSET, "is the catalog itself");
    else if (lstat(path, &there) == 0 && !S_ISREG(there.st_mode) && !S_ISLNK(there.st_mode))
        error_set(err, ERR_ARGUMENT, path, NO_OFFSET, "is there, and not a file");
    else if (lstat(path, &there) == 0 && !force)
        error_set(err, ERR_ARGUMENT, path, NO_OFFSET, "exists; --force writes over it");
    if (err->status == OK)
        check_journals(path, err);
}

enum ckptdb_status ckptdb_snapshot(ckptdb *c, const char *path, bool force,
                                   struct ckptdb_error *error)
{
    struct error err = {.offset = NO_OFFSET};
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    struct staging *s = NULL;
    char *staged = NULL;
    check_place(c, path, force, &err);
    if (err.status == OK && library_alone(c, &err) == OK &&
        staging_open(path, NULL, &s, &err) == OK && !(staged = staging_path(s, name)))
        error_memory(&err);
    if (staged)
        library_copy(c, "main", staged, &err);
    if (err.status == OK)
        staging_sync_file(s, name, &err);
    if (err.status == OK && staging_commit_file(s, name, force, &err) == OK)
        staging_sync_names(s, &err);
    staging_close(s);
    free(staged);
    return library_end(&err, error);
}

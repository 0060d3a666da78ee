/*
 * join_source.c - another catalog, attached to be read: it is never written, nor is anything beside it.
 *
 * One in WAL mode that nobody has open has no -wal file. To read it with locks SQLite would make one, so it is
 * read as immutable, and looked at again at the end. A killed writer's leftovers (a journal to be rolled
 * back, a WAL whose index is gone) need write access to be read: then a copy is read. So is a copy of a catalog of an
 * older version, or without a table that came later, brought up to date. Its views are not looked at.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "catalog/base/text.h"
#include "catalog/data/store/source.h"
#include "catalog/data/store/staging.h"
#include "catalog/db/page_sums.h"
#include "catalog/db/schema.h"
#include "catalog/library/join.h"
#include "catalog/sql/open.h"

#define COPY       "catalog.db"
#define MODE_AT    18 /* in the file's header: 2 stands for WAL */
#define MODE_WAL   2
#define COPY_BYTES ((size_t)1 << 20)

struct join_source {
    const char *path;
    struct stat was;
    bool immutable, attached;
    struct staging *staging; /* of a copy; NULL: none */
    char *copy;              /* its path */
};

static bool has_journal(const char *path, const char *suffix)
{
    struct text name = {0};
    text_addf(&name, "%s%s", path, suffix);
    const bool there = text_str(&name) && access(text_str(&name), F_OK) == 0;
    text_release(&name);
    return there;
}

static bool is_wal(const char *path)
{
    struct error ignored = {.offset = NO_OFFSET};
    struct source *file = NULL;
    uint8_t mode = 0;
    if (source_open_file(path, 0, &file, NULL, &ignored) == OK && file->size > MODE_AT)
        source_read(file, MODE_AT, &mode, 1, &ignored);
    source_close(file);
    return mode == MODE_WAL;
}

/* Returns SQLite's code. */
static int attach(ckptdb *c, const char *path, bool immutable, struct error *err)
{
    char *uri = db_uri(path, true);
    struct text where = {0};
    sqlite3_stmt *s = NULL;
    text_adds(&where, uri ? uri : "");
    text_adds(&where, immutable && uri && !strstr(uri, "&immutable=1") ? "&immutable=1" : "");
    int rc = uri && text_str(&where)
                 ? sqlite3_prepare_v2(c->db, "ATTACH ?1 AS source", -1, &s, NULL)
                 : SQLITE_NOMEM;
    if (rc == SQLITE_OK) {
        sqlite3_bind_text(s, 1, where.at, (int)where.len, SQLITE_STATIC);
        rc = sqlite3_step(s);
        rc = rc == SQLITE_DONE ? SQLITE_OK : rc;
    }
    if (rc == SQLITE_OK) /* it opens the file, and may not read it */
        rc = sqlite3_exec(c->db, "SELECT 1 FROM source.sqlite_schema LIMIT 1", NULL, NULL, NULL);
    if (rc != SQLITE_OK)
        db_error(c->db, NULL, err);
    sqlite3_finalize(s);
    text_release(&where);
    free(uri);
    return rc & 0xff;
}

static void detach(const ckptdb *c)
{
    sqlite3_exec(c->db, "DETACH source", NULL, NULL, NULL);
}

/* --- copies ------------------------------------------------------------------------------- */

static void copy_begin(struct join_source *s, struct error *err)
{
    const char *folder = getenv("TMPDIR"); /* NOLINT(concurrency-mt-unsafe): nothing sets any */
    struct text place = {0};
    text_addf(&place, "%s/ckptdb", folder && *folder ? folder : "/tmp");
    if (text_str(&place) && staging_open(text_str(&place), NULL, &s->staging, err) == OK)
        s->copy = staging_path(s->staging, COPY);
    if (!s->copy && err->status == OK)
        error_memory(err);
    text_release(&place);
}

/* Copy a file, in pieces, under a name of the folder. */
static void copy_file(struct join_source *s, const char *path, const char *name, struct error *err)
{
    struct source *file = NULL;
    uint8_t *bytes = malloc(COPY_BYTES);
    if (!bytes)
        error_memory(err);
    else if (source_open_file(path, 0, &file, NULL, err) == OK)
        staging_create(s->staging, name, 0, err);
    for (uint64_t at = 0, size; file && at < file->size && err->status == OK; at += size) {
        size = file->size - at < COPY_BYTES ? file->size - at : COPY_BYTES;
        if (source_read(file, at, bytes, size, err) == OK)
            staging_write(s->staging, name, at, (struct bytes){bytes, size}, false, err);
    }
    source_close(file);
    free(bytes);
}

/* What a killed writer left, to be recovered in a copy. */
static void copy_files(struct join_source *s, struct error *err)
{
    static const char *const suffixes[] = {"", "-journal", "-wal"};
    sqlite3 *db = NULL;
    copy_begin(s, err);
    for (size_t i = 0; i < sizeof(suffixes) / sizeof(*suffixes) && err->status == OK; i++) {
        struct text path = {0}, name = {0};
        text_addf(&path, "%s%s", s->path, suffixes[i]);
        text_addf(&name, COPY "%s", suffixes[i]);
        if (!text_str(&path) || !text_str(&name))
            error_memory(err);
        else if (access(text_str(&path), F_OK) == 0)
            copy_file(s, text_str(&path), text_str(&name), err);
        text_release(&path);
        text_release(&name);
    }
    if (err->status == OK && db_open(s->copy, DB_WRITE, &db, err) == OK)
        db_close(db);
}

/* --- opening ------------------------------------------------------------------------------ */

static void check_itself(const ckptdb *c, struct join_source *s, struct error *err)
{
    const char *own = sqlite3_db_filename(c->db, "main");
    struct stat here;
    if (stat(s->path, &s->was) != 0)
        error_set(err, errno == ENOENT ? ERR_MISSING : ERR_IO, s->path, NO_OFFSET,
                  errno == ENOENT ? "no such catalog" : "cannot be looked at");
    else if (!S_ISREG(s->was.st_mode)) /* opening a pipe would block */
        error_set(err, ERR_ARGUMENT, s->path, NO_OFFSET, "not a file, so no catalog");
    else if (own && *own && stat(own, &here) == 0 && here.st_ino == s->was.st_ino &&
             here.st_dev == s->was.st_dev)
        error_set(err, ERR_ARGUMENT, s->path, NO_OFFSET, "is the catalog itself");
}

/* *old: it has to be brought up to date. */
static void check_catalog(ckptdb *c, const struct join_source *s, bool *old, struct error *err)
{
    sqlite3_int64 application = 0, version = 0;
    db_marks(c->db, "source", &application, &version, err);
    if (err->status == OK && application != CATALOG_APPLICATION_ID)
        error_set(err, ERR_ARGUMENT, s->path, NO_OFFSET, "not a ckptdb catalog");
    if (err->status != OK || db_check_version(c->db, "source", version, false, err) != OK)
        return;
    *old = version < CATALOG_VERSION;
    if (!*old)
        schema_check(c->db, "source", SCHEMA_TABLES, old, err);
}

static void attach_source(ckptdb *c, struct join_source *s, struct error *err)
{
    bool old = false;
    struct error reading = {.offset = NO_OFFSET};
    const bool wal = has_journal(s->path, "-wal"), left = wal && !has_journal(s->path, "-shm");
    s->immutable = !wal && is_wal(s->path);
    const int rc = left ? SQLITE_READONLY : attach(c, s->path, s->immutable, &reading);
    s->attached = true;
    if (rc == SQLITE_NOTADB)
        error_set(err, ERR_ARGUMENT, s->path, NO_OFFSET, "not a ckptdb catalog");
    else if (rc == SQLITE_BUSY)
        error_set(err, ERR_BUSY, s->path, NO_OFFSET, "%s", DB_BEING_WRITTEN);
    else if (rc == SQLITE_READONLY || (rc == SQLITE_CANTOPEN && wal))
        copy_files(s, err);
    else if (rc != SQLITE_OK)
        *err = reading;
    if (err->status == OK && !s->copy) {
        page_sums_load(c->db, "source");
        check_catalog(c, s, &old, err);
    }
    if (old && err->status == OK) {
        copy_begin(s, err);
        if (err->status == OK)
            library_copy(c, "source", s->copy, err);
    }
    if (s->copy && err->status == OK) {
        detach(c);
        attach(c, s->copy, false, err);
        page_sums_load(c->db, "source");
        if (err->status == OK)
            check_catalog(c, s, &old, err);
    }
}

struct join_source *join_source_begin(ckptdb *c, const char *path, struct error *err)
{
    struct join_source *s = calloc(1, sizeof(*s));
    if (!s) {
        error_memory(err);
        return NULL;
    }
    s->path = path;
    check_itself(c, s, err);
    if (err->status == OK)
        attach_source(c, s, err);
    return s;
}

/* --- checks ------------------------------------------------------------------------------- */

struct join_look {
    struct stat was;
    bool sound;
};

static bool is_as_it_was(const char *path, const struct stat *was)
{
    struct stat now;
    return stat(path, &now) == 0 && now.st_size == was->st_size && now.st_ino == was->st_ino &&
           now.st_mtim.tv_sec == was->st_mtim.tv_sec && now.st_mtim.tv_nsec == was->st_mtim.tv_nsec;
}

static bool is_sound(sqlite3 *db, const char *path, const char *check, struct error *err)
{
    sqlite3_stmt *row = db_query(db, err, check, "");
    const char *said = db_row(row, DB_READING, err) ? db_text(row, 0) : NULL;
    const bool sound = err->status == OK && said && strcmp(said, "ok") == 0;
    if (err->status == OK && !sound)
        error_set(err, ERR_CORRUPT, path, NO_OFFSET,
                  "the catalog is damaged (%.200s): " DB_IMPORT_ANEW, said ? said : "");
    sqlite3_finalize(row);
    return sound;
}

struct join_look *join_source_look(const char *path)
{
    struct join_look *look = calloc(1, sizeof(*look));
    struct error ignored = {.offset = NO_OFFSET};
    sqlite3 *db = NULL;
    char *uri = look ? db_uri(path, true) : NULL;
    /* In WAL mode, and after a kill, reading would write beside it. */
    if (uri && stat(path, &look->was) == 0 && S_ISREG(look->was.st_mode) && !is_wal(path) &&
        !has_journal(path, "-journal") &&
        sqlite3_open_v2(uri, &db, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, page_sums_vfs()) ==
            SQLITE_OK) {
        page_sums_load(db, "main");
        look->sound = is_sound(db, path, "PRAGMA main.quick_check(1)", &ignored);
    }
    sqlite3_close(db);
    free(uri);
    return look;
}

void join_source_pages(const ckptdb *c, const struct join_source *s, const struct join_look *look,
                       struct error *err)
{
    if (look && look->sound && !s->copy && is_as_it_was(s->path, &look->was))
        return;
    is_sound(c->db, s->path, "PRAGMA source.quick_check(1)", err);
}

void join_source_check(const struct join_source *s, struct error *err)
{
    if (s->immutable && (has_journal(s->path, "-wal") || !is_as_it_was(s->path, &s->was)))
        error_set(err, ERR_BUSY, s->path, NO_OFFSET, "%s", DB_BEING_WRITTEN);
}

void join_source_end(ckptdb *c, struct join_source *s, struct error *err)
{
    if (!s)
        return;
    /* Errors name the file that the caller gave. */
    if (err->status != OK && s->copy && strcmp(err->source, s->copy) == 0)
        snprintf(err->source, sizeof(err->source), "%s", s->path);
    if (s->attached)
        detach(c);
    staging_close(s->staging);
    free(s->copy);
    free(s);
}

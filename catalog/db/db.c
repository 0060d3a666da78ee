#include "catalog/db/db.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "catalog/base/text.h"
#include "catalog/db/ahead.h"
#include "catalog/db/alike.h"
#include "catalog/db/classes.h"
#include "catalog/db/labels.h"
#include "catalog/db/page_sums.h"
#include "catalog/db/schema.h"

#define CREATE_MS      1000 /* longer than from creating a file to locking it */
#define CREATE_STEP_MS 20

char *db_uri(const char *path, bool reads)
{
    struct text uri = {0};
    struct statvfs fs;
    /* Without an empty authority, SQLite takes the "tmp" of "//tmp/x.db" for a host. */
    text_adds(&uri, path[0] == '/' ? "file://" : "file:");
    for (const char *c = path; *c; c++) {
        if (strchr("%?#", *c))
            text_addf(&uri, "%%%02X", (unsigned char)*c);
        else
            text_addc(&uri, *c);
    }
    if (reads)
        text_adds(&uri, "?mode=ro");
    if (reads && statvfs(path, &fs) == 0 && (fs.f_flag & ST_RDONLY))
        text_adds(&uri, "&immutable=1");
    return text_steal(&uri);
}

static bool may_create(enum db_mode mode)
{
    return mode == DB_CREATE || mode == DB_SCRATCH;
}

static enum status connect(const char *path, enum db_mode mode, sqlite3 **db, struct error *err)
{
    char *uri = db_uri(path, mode == DB_READ);
    if (!uri)
        return error_memory_at(err, path);
    /* A connection belongs to one thread, but any thread may call sqlite3_interrupt(). */
    int flags = SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX |
                (mode == DB_READ     ? SQLITE_OPEN_READONLY
                 : !may_create(mode) ? SQLITE_OPEN_READWRITE
                                     : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
    int rc = sqlite3_open_v2(uri, db, flags, page_sums_vfs());
    free(uri);
    if (rc != SQLITE_OK)
        return error_set(err, ERR_IO, path, NO_OFFSET, "cannot open the catalog: %s",
                         *db ? sqlite3_errmsg(*db) : "no memory");
    return OK;
}

static void wait_by(sqlite3 *db, const struct db_wait *wait)
{
    if (wait)
        sqlite3_busy_handler(db, wait->wait, wait->context);
    else
        sqlite3_busy_timeout(db, DB_BUSY_MS);
}

static void stop_by(sqlite3 *db, const struct db_wait *wait)
{
    sqlite3_progress_handler(db, wait ? DB_STOP_STEPS : 0, wait ? wait->stop : NULL,
                             wait ? wait->context : NULL);
}

/* Whether the database is empty: no tables, and no mark of another program. A single statement,
 * as another program may fill the database between two. */
static enum status look_empty(sqlite3 *db, bool *empty, struct error *err)
{
    sqlite3_int64 nothing = 0;
    if (db_number(db,
                  "SELECT NOT EXISTS (SELECT 1 FROM sqlite_schema)"
                  " AND (SELECT application_id FROM pragma_application_id) = 0"
                  " AND (SELECT user_version FROM pragma_user_version) = 0",
                  NO_NAME, NULL, &nothing, err) == OK)
        *empty = nothing != 0;
    return err->status;
}

/* Run every schema/NN_*.sql from number `first` on, except for the indexes of a new catalog
 * (01_indexes.sql), which are built later. Mark the database as a catalog of this version, and
 * install the maps that are shipped. A scratch catalog has neither maps nor views of contents. */
static void db_fill(sqlite3 *db, const char *first, bool scratch, struct error *err)
{
    enum status status = OK;
    for (const struct schema_file *f = schema_files; status == OK && f->path; f++) {
        if (schema_is_from(f, first) && !strstr(f->path, "/01_") &&
            !(scratch && schema_is_from(f, SCHEMA_MORE)))
            status = db_exec(db, f->text, err);
    }
    char pragmas[128];
    snprintf(pragmas, sizeof(pragmas), "PRAGMA application_id=%d; PRAGMA user_version=%d",
             CATALOG_APPLICATION_ID, CATALOG_VERSION);
    if (status == OK)
        status = db_exec(db, pragmas, err);
    if (status == OK)
        classes_install(db, err);
    if (err->status == OK && !scratch)
        rules_install(db, err);
}

/* Drop all views and triggers that the schema files create. (DROP VIEW IF EXISTS takes a function of the same
 * name for a table and fails.) */
static void drop_views(sqlite3 *db, struct error *err)
{
    for (struct schema_object o = {0}; err->status == OK && schema_next(&o);) {
        const char *kind = o.kind == SCHEMA_VIEW ? "VIEW" : "TRIGGER";
        const struct bytes name = {(const uint8_t *)o.name, o.len};
        char drop[200];
        sqlite3_int64 there = 0;
        if (o.kind == SCHEMA_TABLE)
            continue;
        db_number(db, "SELECT count(*) FROM main.sqlite_schema WHERE type <> 'table' AND name = ?1",
                  name, NULL, &there, err);
        snprintf(drop, sizeof(drop), "DROP %s main.%.*s", kind, (int)o.len, o.name);
        if (there)
            db_exec(db, drop, err);
    }
}

/* Commit the transaction, or roll it back if `status` is not OK. */
static enum status end(sqlite3 *db, enum status status, struct error *err)
{
    if (status == OK)
        status = db_exec(db, "COMMIT", err);
    if (status != OK)
        sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
    return status;
}

/* Wait once more for another program, where SQLite's busy handler does not do it; `times` so
 * far. */
static bool wait_again(const struct db_wait *wait, int times)
{
    if (wait)
        return wait->wait(wait->context, times) != 0;
    sqlite3_sleep(CREATE_STEP_MS);
    return times < DB_BUSY_MS / CREATE_STEP_MS;
}

/* If several programs create the same catalog at once, the first to lock it fills it. *locked:
 * this is the first; otherwise the catalog has been filled by now. */
static void lock_to_create(sqlite3 *db, bool scratch, const struct db_wait *wait, bool *locked,
                           struct error *err)
{
    static const char lock_new[] =
        "PRAGMA page_size=16384; PRAGMA synchronous=OFF; BEGIN IMMEDIATE";
    /* Most of its tables have no rows, but a page each: keep pages small. */
    static const char lock_scratch[] = "PRAGMA synchronous=OFF; BEGIN IMMEDIATE";
    sqlite3_busy_timeout(db, 0);
    for (int times = 0;; times++) {
        struct error looking = {.offset = NO_OFFSET};
        bool empty = true;
        /* There is nothing to lose yet: the first commit of rows will wait for the disk. */
        *locked = db_exec(db, scratch ? lock_scratch : lock_new, err) == OK;
        if (err->status != ERR_BUSY)
            break;
        /* It was filled, and is being imported into. */
        if (look_empty(db, &empty, &looking) == OK && !empty) {
            error_clear(err);
            break;
        }
        if (!wait_again(wait, times))
            break;
        error_clear(err);
    }
    wait_by(db, wait);
}

static void create(sqlite3 *db, bool scratch, const struct db_wait *wait, struct error *err)
{
    bool empty = false, locked = false;
    lock_to_create(db, scratch, wait, &locked, err);
    if (locked) {
        if (look_empty(db, &empty, err) == OK && empty) {
            page_sums_begin(db);
            db_fill(db, SCHEMA_FIRST, scratch, err);
        }
        end(db, err->status, err);
    }
    if (err->status == OK)
        db_exec(db, "PRAGMA synchronous=FULL", err);
}

/* Whether another program holds the database's write lock. */
static bool is_being_written(sqlite3 *db)
{
    sqlite3_file *file = NULL;
    int reserved = 0;
    return sqlite3_file_control(db, "main", SQLITE_FCNTL_FILE_POINTER, &file) == SQLITE_OK &&
           file && file->pMethods &&
           file->pMethods->xCheckReservedLock(file, &reserved) == SQLITE_OK && reserved;
}

/* An empty file may be a catalog that another program is creating, but has not locked or filled
 * yet. Return when it is no longer empty, or when nobody has locked it for CREATE_MS. */
static void await_creation(sqlite3 *db, const struct db_wait *wait, struct error *err)
{
    bool empty = true;
    for (int times = 0, idle = 0;; times++) {
        if (look_empty(db, &empty, err) != OK || !empty)
            return;
        idle = is_being_written(db) ? 0 : idle + 1;
        if (idle > CREATE_MS / CREATE_STEP_MS)
            return;
        if (!wait_again(wait, times)) {
            error_set(err, ERR_BUSY, sqlite3_db_filename(db, "main"), NO_OFFSET, "%s",
                      DB_BEING_WRITTEN);
            return;
        }
    }
}

/* A join by name finds a name on one page of each layout, and the next name on the same pages: of a thousand layouts
 * they stay. */
#define CACHE_KIB 16384

/* SQLite sorts as many rows as fit into its cache, then merges the runs. With a cache that fits
 * into the processor's, that takes half the time. */
#define SORT_KIB 4096

static enum status create_indexes(sqlite3 *db, struct error *err)
{
    sqlite3_int64 size = 0;
    if (db_number(db, "PRAGMA cache_size", NO_NAME, NULL, &size, err) != OK ||
        db_size_cache(db, -SORT_KIB, err) != OK)
        return err->status;
    struct ahead *ahead = ahead_start(db, false);
    for (const struct schema_file *f = schema_files; err->status == OK && f->path; f++)
        if (strstr(f->path, "/01_"))
            db_exec(db, f->text, err);
    return ahead_end(ahead, err) == OK ? db_size_cache(db, size, err) : err->status;
}

/* Bring an older catalog to this version (upgrade/), or make its views and triggers anew, if
 * another program has changed them. What a user made stays. */
static void renew(sqlite3 *db, struct error *err)
{
    sqlite3_int64 version = 0;
    bool differs = false;
    if (db_exec(db, "BEGIN IMMEDIATE", err) != OK)
        return;
    /* A third program may have done it. */
    if (db_number(db, "PRAGMA user_version", NO_NAME, NULL, &version, err) == OK &&
        version == CATALOG_VERSION)
        schema_check(db, "main", SCHEMA_WRITE, &differs, err);
    const bool old = version < CATALOG_VERSION;
    if (err->status == OK && (old || differs))
        drop_views(db, err);
    if (err->status == OK && version < 9)
        db_exec(db, schema_text("schema/upgrade/v8.sql"), err);
    if (err->status == OK && old)
        db_exec(db, schema_text("schema/upgrade/v9.sql"), err);
    if (err->status == OK && (old || differs))
        db_fill(db, SCHEMA_LATER, false, err);
    if (err->status == OK && version < 9 && create_indexes(db, err) == OK &&
        alike_fill(db, err) == OK)
        labels_renew(db, err);
    end(db, err->status, err);
}

enum status db_build_indexes(sqlite3 *db, struct error *err)
{
    bool alone = sqlite3_get_autocommit(db) != 0;
    enum status status = alone ? db_exec(db, "BEGIN IMMEDIATE", err) : OK;
    if (status != OK)
        return status;
    status = create_indexes(db, err);
    return alone ? end(db, status, err) : status;
}

/* A killed import leaves tensors without indexes, as these are built all at once at its end. */
static bool indexes_missing(sqlite3 *db)
{
    sqlite3_int64 missing = 0;
    struct error ignored = {0};
    db_number(db,
              "SELECT EXISTS (SELECT 1 FROM _layouts) AND NOT EXISTS (SELECT 1 FROM"
              " sqlite_schema WHERE name = '_files_by_path')",
              NO_NAME, NULL, &missing, &ignored);
    return missing != 0;
}

enum status db_repair(sqlite3 *db, struct error *err)
{
    /* Temporary or in memory: it has no maps, and no older program made it. */
    const char *file = sqlite3_db_filename(db, "main");
    sqlite3_busy_timeout(db, 0);
    if (file && *file && rules_install(db, err) == OK)
        classes_install(db, err);
    if (err->status == OK && indexes_missing(db))
        db_build_indexes(db, err);
    sqlite3_busy_timeout(db, DB_BUSY_MS);
    if (err->status == ERR_BUSY)
        error_clear(err); /* the program that is writing will do it */
    return err->status;
}

/* A killed process leaves a journal. Looking for it is cheaper than looking for the indexes,
 * which would read the schema: a query should not wait for that. */
static bool was_cut_short(const char *path)
{
    static const char *const journals[] = {"-wal", "-journal"};
    bool found = false;
    for (int i = 0; i < 2; i++) {
        struct text name = {0};
        text_adds(&name, path);
        text_adds(&name, journals[i]);
        found |= text_str(&name) && access(text_str(&name), F_OK) == 0;
        text_release(&name);
    }
    return found;
}

void db_marks(sqlite3 *db, const char *schema, sqlite3_int64 *application, sqlite3_int64 *version,
              struct error *err)
{
    char sql[64];
    snprintf(sql, sizeof(sql), "PRAGMA %s.application_id", schema);
    if (db_number(db, sql, NO_NAME, NULL, application, err) != OK)
        return;
    snprintf(sql, sizeof(sql), "PRAGMA %s.user_version", schema);
    db_number(db, sql, NO_NAME, NULL, version, err);
}

enum status db_check_version(sqlite3 *db, const char *schema, sqlite3_int64 version, bool reads,
                             struct error *err)
{
    const char *path = sqlite3_db_filename(db, schema);
    if (version > CATALOG_VERSION)
        return error_set(err, ERR_ARGUMENT, path, NO_OFFSET,
                         "made by a newer ckptdb (catalog version %lld, this program "
                         "knows %d): use that program, or another catalog (-d FILE)",
                         version, CATALOG_VERSION);
    if (version < OLDEST_VERSION)
        return error_set(
            err, ERR_ARGUMENT, path, NO_OFFSET,
            "made by an older ckptdb (catalog version %lld, this program knows %d): " DB_IMPORT_ANEW,
            version, CATALOG_VERSION);
    if (version < CATALOG_VERSION && reads)
        return error_set(err, ERR_ARGUMENT, path, NO_OFFSET,
                         "made by an older ckptdb (catalog version %lld, this program "
                         "knows %d): open it, or a copy, once for writing, and it is "
                         "brought up to date (ckptdb -d FILE -c 'SELECT 1')",
                         version, CATALOG_VERSION);
    return OK;
}

static void check_identity(sqlite3 *db, const char *path, enum db_mode mode,
                           const struct db_wait *wait, struct error *err)
{
    const bool cut_short = was_cut_short(path);
    sqlite3_int64 application = 0, version = 0;
    bool empty = false, renewed = false;
    db_marks(db, "main", &application, &version, err);
    if (err->status == OK && application == 0) {
        if (!may_create(mode))
            await_creation(db, wait, err);
        else if (look_empty(db, &empty, err) == OK && empty)
            create(db, mode == DB_SCRATCH, wait, err);
        if (empty)
            return;
        /* Another program may have filled it meanwhile, even between reading the two marks. */
        if (err->status == OK)
            db_marks(db, "main", &application, &version, err);
    }
    if (err->status == OK && application != CATALOG_APPLICATION_ID)
        error_set(err, ERR_ARGUMENT, path, NO_OFFSET, "not a ckptdb catalog (it is left as it is)");
    if (err->status != OK || db_check_version(db, "main", version, mode == DB_READ, err) != OK)
        return;
    if (version < CATALOG_VERSION)
        renewed = true;
    else
        schema_check(db, "main", mode == DB_READ ? SCHEMA_READ : SCHEMA_WRITE, &renewed, err);
    if (err->status == OK && renewed && mode != DB_READ)
        renew(db, err);
    if (err->status == OK && (mode == DB_WRITE || (mode != DB_READ && cut_short)))
        db_repair(db, err);
}

enum status db_open_with(const char *path, enum db_mode mode, int (*functions)(sqlite3 *),
                         const struct db_wait *wait, sqlite3 **out, struct error *err)
{
    sqlite3 *db = NULL;
    struct stat st;
    bool exists = access(path, F_OK) == 0 || strcmp(path, ":memory:") == 0;
    if (!exists && !may_create(mode))
        return error_set(err, ERR_MISSING, path, NO_OFFSET,
                         "no such catalog; `ckptdb import PATH` makes one");
    if (stat(path, &st) == 0 && !S_ISREG(st.st_mode)) /* opening a pipe would block */
        return error_set(err, ERR_ARGUMENT, path, NO_OFFSET, "not a file, so no catalog");
    if (connect(path, mode, &db, err) != OK)
        goto fail;
    wait_by(db, wait);
    stop_by(db, wait);
    if (functions(db) != SQLITE_OK) {
        db_error(db, "cannot register the SQL functions", err);
        goto fail;
    }
    /* trusted_schema stays on, because views need JSON functions, which SQLite 3.40 does not
     * declare innocuous. Functions that read files are DIRECTONLY, so a foreign schema cannot
     * call them. */
    if (db_exec(db, "PRAGMA foreign_keys=ON; PRAGMA cell_size_check=ON", err) == OK &&
        db_size_cache(db, -CACHE_KIB, err) == OK) {
        page_sums_load(db, "main");
        check_identity(db, path, mode, wait, err);
    }
    if (err->status != OK)
        goto fail;
    sqlite3_busy_timeout(db, DB_BUSY_MS);
    stop_by(db, NULL);
    *out = db;
    return OK;

fail:
    sqlite3_close(db);
    return err->status;
}

void db_close(sqlite3 *db)
{
    page_sums_save(db);
    sqlite3_close(db);
}

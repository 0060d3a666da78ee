#include "catalog/library/library.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "catalog/base/text.h"
#include "catalog/base/threads.h"
#include "catalog/base/version.h"
#include "catalog/sql/open.h"

/* --- errors -------------------------------------------------------------------------------- */

/* The two enums have the same values; append a new status to both. */
_Static_assert((int)CKPTDB_CORRUPT == (int)ERR_CORRUPT, "status");
_Static_assert((int)CKPTDB_MISSING == (int)ERR_MISSING, "status");
_Static_assert((int)CKPTDB_CHECKSUM == (int)ERR_CHECKSUM, "status");
_Static_assert((int)CKPTDB_BUSY == (int)ERR_BUSY, "status");
_Static_assert((int)CKPTDB_INTERRUPTED == (int)ERR_INTERRUPTED, "status");
_Static_assert(offsetof(struct ckptdb_error, offset) == offsetof(struct error, offset), "place");
_Static_assert(offsetof(struct ckptdb_error, source) == offsetof(struct error, source), "place");
_Static_assert(offsetof(struct ckptdb_error, message) == offsetof(struct error, message), "place");

enum ckptdb_status library_end(const struct error *err, struct ckptdb_error *out)
{
    if (out)
        memcpy(out, err, sizeof(*out));
    return (enum ckptdb_status)err->status;
}

char *ckptdb_error_text(const struct ckptdb_error *from, char *out, size_t size)
{
    struct error err = {.code = NULL};
    memcpy(&err, from, sizeof(*from));
    return error_text(&err, out, size);
}

const char *ckptdb_version(void)
{
    return CKPTDB_VERSION;
}

void ckptdb_free(void *memory)
{
    free(memory);
}

enum status library_take(void *to, size_t to_size, const void *from, struct error *err)
{
    size_t size = 0;
    memset(to, 0, to_size);
    if (from)
        memcpy(&size, from, sizeof(size));
    if (size < sizeof(size))
        return error_set(err, ERR_ARGUMENT, NULL, NO_OFFSET,
                         "there are no options, or they do not begin with their size");
    memcpy(to, from, size < to_size ? size : to_size);
    return OK;
}

/* --- a catalog ----------------------------------------------------------------------------- */

#define RENEWAL_NOTICED_S 1.0

/* A catalog that is being opened. That is quick unless an old one is upgraded, or one whose
 * import was killed gets its indexes, which may take long for a large one. */
struct opening {
    ckptdb *catalog;
    struct timespec begun;
    bool said;
};

/* Waiting for another program to write is not counted as bringing the catalog up to date. */
static int opening_wait(void *context, int times)
{
    struct opening *o = context;
    clock_gettime(CLOCK_MONOTONIC, &o->begun);
    return library_wait(o->catalog, times);
}

static int opening_stop(void *context)
{
    struct opening *o = context;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    const double seconds =
        (double)(now.tv_sec - o->begun.tv_sec) + (double)(now.tv_nsec - o->begun.tv_nsec) / 1e9;
    if (!o->said && seconds > RENEWAL_NOTICED_S) {
        library_say(o->catalog,
                    "waiting: the catalog is brought up to date, as an older ckptdb made it"
                    " or an import was cut short");
        o->said = true;
    }
    return library_stopped(o->catalog);
}

enum ckptdb_status ckptdb_open_watched(const char *path, enum ckptdb_mode mode,
                                       const struct ckptdb_watch *watch, ckptdb **out,
                                       struct ckptdb_error *error)
{
    static const enum db_mode modes[] = {
        [CKPTDB_READ] = DB_READ,
        [CKPTDB_WRITE] = DB_WRITE,
        [CKPTDB_CREATE] = DB_CREATE,
        [CKPTDB_USE] = DB_USE,
    };
    struct error err = {.offset = NO_OFFSET};
    ckptdb *c = calloc(1, sizeof(*c));
    struct opening opening = {.catalog = c};
    const struct db_wait wait = {opening_wait, opening_stop, &opening};
    *out = NULL;
    if (!c) {
        error_memory(&err);
        return library_end(&err, error);
    }
    if (watch)
        library_take(&c->watch, sizeof(c->watch), watch, &err);
    clock_gettime(CLOCK_MONOTONIC, &opening.begun);
    if ((unsigned)mode >= sizeof(modes) / sizeof(modes[0]))
        error_set(&err, ERR_ARGUMENT, path, NO_OFFSET, "no such mode");
    else if (path && !*path) /* SQLite would make one that is gone when it is closed */
        error_set(&err, ERR_ARGUMENT, NULL, NO_OFFSET, "the catalog's path is empty");
    else if (err.status == OK)
        db_open_waiting(path ? path : ":memory:", path ? modes[mode] : DB_CREATE,
                        c->watch.stop ? &wait : NULL, &c->db, &err);
    if ((err.status == ERR_BUSY || err.status == ERR_INTERRUPTED) && library_stopped(c)) {
        error_clear(&err);
        error_set(&err, ERR_INTERRUPTED, path, NO_OFFSET, "interrupted");
    }
    if (err.status == OK) {
        library_guard(c);
        ckptdb_watch(c, watch);
        *out = c;
    } else {
        free(c);
    }
    return library_end(&err, error);
}

enum ckptdb_status ckptdb_open(const char *path, enum ckptdb_mode mode, ckptdb **out,
                               struct ckptdb_error *error)
{
    return ckptdb_open_watched(path, mode, NULL, out, error);
}

void ckptdb_close(ckptdb *c)
{
    if (!c)
        return;
    lookup_close(c->lookup);
    db_close(c->db);
    free(c);
}

struct sqlite3 *ckptdb_sqlite(ckptdb *c)
{
    return c->db;
}

enum status library_tensor(ckptdb *c, int64_t id, const char *recipe, struct arena *arena,
                           struct stored_tensor *out, struct error *err)
{
    /* All its rows are of one state of the catalog. Nothing is written, so the end cannot fail. */
    const bool alone = sqlite3_get_autocommit(c->db);
    if ((!c->lookup && lookup_open(c->db, &c->lookup, err) != OK) ||
        (alone && db_exec(c->db, "SAVEPOINT load", err) != OK))
        return err->status;
    if (recipe)
        lookup_composed(c->lookup, recipe, arena, out, err);
    else if (lookup_tensor(c->lookup, id, arena, out, err) == ERR_ARGUMENT)
        err->status = ERR_MISSING; /* "there is no tensor" */
    if (alone)
        sqlite3_exec(c->db, "RELEASE load", NULL, NULL, NULL);
    return err->status;
}

/* --- the watch ----------------------------------------------------------------------------- */

/* How long a writer waits for another one, if its user can stop the waiting. */
#define WAIT_MS         60000
#define WAIT_STEP_MS    20
#define WAIT_NOTICED_MS 1000

bool library_stopped(void *context)
{
    const ckptdb *c = context;
    return c->watch.stop && c->watch.stop(c->watch.context);
}

static int stop_statement(void *context)
{
    return library_stopped(context);
}

/* A user who can stop the waiting is told about it, and is given more time. */
int library_wait(void *context, int times)
{
    ckptdb *c = context;
    if (library_stopped(c) || times >= WAIT_MS / WAIT_STEP_MS)
        return 0;
    if (times == WAIT_NOTICED_MS / WAIT_STEP_MS)
        library_say(c, "waiting: another program is writing the catalog");
    sqlite3_sleep(WAIT_STEP_MS);
    return 1;
}

void ckptdb_watch(ckptdb *c, const struct ckptdb_watch *watch)
{
    struct error ignored = {.offset = NO_OFFSET}; /* ckptdb_open_watched() reports it */
    library_take(&c->watch, sizeof(c->watch), watch, &ignored);
    sqlite3_progress_handler(c->db, c->watch.stop ? DB_STOP_STEPS : 0,
                             c->watch.stop ? stop_statement : NULL, c);
    if (c->watch.stop)
        sqlite3_busy_handler(c->db, library_wait, c);
    else
        sqlite3_busy_timeout(c->db, DB_BUSY_MS);
}

void ckptdb_stopping(bool (*stop)(void *context), void *context)
{
    threads_stopping((struct stopping){stop, context});
}

void library_say(const ckptdb *c, const char *fmt, ...)
{
    char line[2048];
    va_list args;
    if (!c->watch.say)
        return;
    va_start(args, fmt);
    vsnprintf(line, sizeof(line), fmt, args);
    va_end(args);
    c->watch.say(c->watch.context, line);
}

/* --- queries ------------------------------------------------------------------------------- */

enum status library_alone(const ckptdb *c, struct error *err)
{
    if (sqlite3_get_autocommit(c->db))
        return OK;
    return error_set(err, ERR_ARGUMENT, NULL, NO_OFFSET,
                     "a transaction is open: COMMIT or ROLLBACK first");
}

enum status library_known(const ckptdb *c, const int64_t *checkpoints, size_t count,
                          struct error *err)
{
    sqlite3_stmt *row = db_query(c->db, err, "SELECT 1 FROM _checkpoints WHERE id = ?1", "");
    for (size_t i = 0; i < count && err->status == OK; i++) {
        db_bind(row, "i", checkpoints[i]);
        if (!db_row(row, NULL, err))
            error_set(err, ERR_MISSING, NULL, NO_OFFSET, "there is no checkpoint %lld",
                      (long long)checkpoints[i]);
        sqlite3_reset(row);
    }
    sqlite3_finalize(row);
    return err->status;
}

/*
 * db.h - the catalog file: opens, creates and upgrades it, and looks tensors up.
 */
#pragma once

#include "catalog/data/model/tensor.h"
#include "catalog/db/statement.h"

#define CATALOG_APPLICATION_ID 0x636b7074 /* "ckpt" */
#define CATALOG_VERSION        10         /* user_version: counts migrations */
#define OLDEST_VERSION         8          /* the oldest that is brought up to date */
#define DB_STOP_STEPS          4000       /* of a statement between two questions whether to stop */
#define DB_BUSY_MS             10000      /* how long a statement waits for a writer */

enum db_mode {
    DB_READ,  /* must exist; on a read-only file system it is opened as immutable */
    DB_WRITE, /* must exist; is upgraded, and missing indexes are built */
    DB_USE,   /* for writing, must exist; is upgraded. Indexes that an interrupted first import left
                  out wait for db_build_indexes(), so that a statement starts at once. */
    DB_CREATE, /* as DB_USE; created if it does not exist */
    DB_SCRATCH, /* a new one for this connection alone, with checkpoints and tensors only: without maps
                   and optimizers, which take longer to make than all else */
};

/* How to wait while a catalog is opened. `wait` is SQLite's busy handler, called while another
 * program has the catalog locked: it sleeps, and returns 0 to give up. `stop` is SQLite's
 * progress handler, called while an old catalog is upgraded, or indexes are built: returning 1
 * leaves the catalog as it was. */
struct db_wait {
    int (*wait)(void *context, int times);
    int (*stop)(void *context);
    void *context;
};

/* Open a catalog. `functions` registers the SQL functions that its views need, and returns an
 * SQLite code; catalog/sql/open.h registers all. `wait` is only for the opening; NULL:
 * wait up to DB_BUSY_MS, as statements do. ERR_BUSY: it gave up; ERR_INTERRUPTED: it stopped.
 * ERR_ARGUMENT: the database is no catalog (it is left as it is), or of a version that is too new
 * or too old, or lacks tables;
 * ERR_MISSING; ERR_IO. */
enum status db_open_with(const char *path, enum db_mode mode, int (*functions)(sqlite3 *),
                         const struct db_wait *wait, sqlite3 **out, struct error *err);
void db_close(sqlite3 *);
/* The file: URI of a path, also for ATTACH; `reads`: only to read it, on a read-only file system,
 * too. free() it; NULL without memory. */
char *db_uri(const char *path, bool reads);

/* If a database of the connection ("main") is a catalog of a `version` that this program cannot use (or, if it
 * only `reads`, would have to bring up to date): ERR_ARGUMENT, and what to do. */
enum status db_check_version(sqlite3 *, const char *schema, sqlite3_int64 version, bool reads,
                             struct error *err);
/* The two numbers in its header: CATALOG_APPLICATION_ID, if it is a catalog, and the version. */
void db_marks(sqlite3 *, const char *schema, sqlite3_int64 *application, sqlite3_int64 *version,
              struct error *err);
enum status db_build_indexes(sqlite3 *, struct error *err);
/* Update the shipped maps, and build the indexes that a killed import has left out. If another
 * program is writing, that is left to it. */
enum status db_repair(sqlite3 *, struct error *err);

/*
 * Everything the reader needs about one tensor, in `arena`. ERR_ARGUMENT when there is no such
 * id. Statements are prepared at first use and kept with the lookup.
 */
struct lookup;
enum status lookup_open(sqlite3 *, struct lookup **out, struct error *err);
void lookup_close(struct lookup *);
enum status lookup_tensor(struct lookup *, int64_t id, struct arena *, struct stored_tensor *out,
                          struct error *err);
/* Whether the rows of a checkpoint's tensors from `first` to `last` are as written: checker_look(). */
enum status lookup_check(struct lookup *, int64_t checkpoint, uint32_t first, uint32_t last,
                         struct error *err);
/* As lookup_tensor(), for what a recipe makes (compose/compose.h); its id is its first part's. */
enum status lookup_composed(struct lookup *, const char *recipe, struct arena *,
                            struct stored_tensor *out, struct error *err);
/* Append the tensor's name; *found says whether there is such an id. */
struct text;
void lookup_name(struct lookup *, int64_t id, struct text *out, bool *found, struct error *err);

/*
 * library.h - the inside of libckptdb (catalog/ckptdb.h): the handle, and how errors are returned.
 *
 * Each file here implements a part of the public header on top of the other folders. Inside,
 * functions pass one struct error along, which keeps the first error; outside, every call has its
 * own:
 *
 *   struct error err = {.offset = NO_OFFSET};
 *   lookup_tensor(db->lookup, id, &arena, &tensor, &err);
 *   return library_end(&err, out);
 */
#pragma once

#include "catalog/base/error.h"
#include "catalog/ckptdb.h"
#include "catalog/db/db.h"
#include "catalog/db/overlay.h"

struct ckptdb {
    sqlite3 *db;
    struct lookup *lookup; /* NULL: not needed yet */
    struct ckptdb_watch watch;
    unsigned writing;  /* functions under way whose statements write storage */
    char refused[600]; /* why a statement was "not authorized" */
};

/* From now on SQL may not write storage, unless `writing` is set. */
void library_guard(ckptdb *);

/* Copy the error to the caller's (NULL: not wanted), and return its status. */
enum ckptdb_status library_end(const struct error *, struct ckptdb_error *);

/* Print a line to the caller's watch. */
void library_say(const ckptdb *, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* Whether the watch asks to stop; `context` is a ckptdb. Any thread. */
bool library_stopped(void *context);

/* SQLite's busy handler for a watch that can stop the waiting; `context` is a ckptdb. */
int library_wait(void *context, int times);

/* Copy a struct that the caller filled. It begins with the size that the caller knew; bytes past
 * that are 0. ERR_ARGUMENT without a struct, or without its size: the request would be
 * ignored. */
enum status library_take(void *to, size_t to_size, const void *from, struct error *err);

/* ERR_ARGUMENT while the caller has a transaction open, which work that commits would end. */
enum status library_alone(const ckptdb *, struct error *err);

/* ERR_MISSING if there is no checkpoint of one of these ids. */
enum status library_known(const ckptdb *, const int64_t *checkpoints, size_t count,
                          struct error *err);

/* Begin and end work that keeps results. While the catalog is open for reading alone they go into
 * temporary tables of this connection, and people are told so, if there were any: `changes` is
 * sqlite3_total_changes() of before. */
enum status library_begin_results(const ckptdb *, enum overlay_results,
                                  const struct ckptdb_content_options *, struct error *err);
void library_end_results(const ckptdb *, int changes);

/* Find everything about a tensor, or about what a recipe makes (NULL: none); `out` lives in `arena`.
 * ERR_MISSING if there is no such tensor. */
enum status library_tensor(ckptdb *, int64_t id, const char *recipe, struct arena *arena,
                           struct stored_tensor *out, struct error *err);

/* Write what a database of the connection ("main") holds to the new file `path`, as one state, and
 * sum its pages. No transaction may be open. */
void library_copy(ckptdb *, const char *schema, const char *path, struct error *err);

/* An absolute path without dots or a trailing '/', links not resolved: an old place may be a link to the new
 * one by now. "file://HOST/..." and the like stay as they are. malloc'ed; NULL: no memory. */
char *library_place(const char *path);
/* The same for a new place, as an import would store it: the part that exists is resolved. */
char *library_new_place(const char *path);

/* Files that were moved: those of `rows` (id of _files, path, size, mtime_ns; finalized) that exist with
 * the same size and time get their present inode and device. */
void library_recognise(const ckptdb *, sqlite3_stmt *rows, struct error *err);

/* The dialect of a map; sqlite3_free() it. NULL: ERR_MISSING. */
char *library_dialect(const ckptdb *, const char *map, struct error *err);

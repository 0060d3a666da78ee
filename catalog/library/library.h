/*
 * library.h - the inside of libckptdb (catalog/ckptdb.h): a handle, and errors on their way out.
 *
 * Each file here is a part of the public header, and calls the rooms below. Inside, a struct error is
 * taken along and the first one stays; outside, every call has an error of its own:
 *
 *   struct error err = {.offset = NO_OFFSET};
 *   lookup_tensor(db->lookup, id, &arena, &tensor, &err);
 *   return library_end(&err, out);
 */
#ifndef CKPTDB_LIBRARY_H
#define CKPTDB_LIBRARY_H

#include "catalog/base/error.h"
#include "catalog/ckptdb.h"
#include "catalog/db/db.h"

struct ckptdb {
    sqlite3 *db;
    struct lookup *lookup; /* NULL: not needed yet */
    struct ckptdb_watch watch;
};

/* The error, for the caller, who may not want it (NULL); its status. */
enum ckptdb_status library_end(const struct error *, struct ckptdb_error *);

/* A line to the watch. */
void library_say(const ckptdb *, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* Whether the watch asks to stop; `context` is a ckptdb. Any thread. */
bool library_stopped(void *context);

/* SQLite's busy handler where the watch can stop; `context` is a ckptdb. */
int library_wait(void *context, int times);

/* A struct that a caller filled, of which it knew `size` bytes, as this library has it: what is not
 * there is 0. */
void library_take(void *to, size_t to_size, const void *from, size_t size);

/* Prepare and bind: `types` has an 's' for a const char * (NULL: null), an 'i' for an int64_t. NULL,
 * with *err set: it cannot be. */
sqlite3_stmt *library_query(const ckptdb *, struct error *err, const char *sql,
                            const char *types, ...);
/* Step: true on a row. False at the end, or with *err set. */
bool library_row(sqlite3_stmt *, struct error *err);
/* A column's text; NULL where it is null. */
const char *library_text(sqlite3_stmt *, int column);

/* The catalog's lookup, made at first use. */
enum status library_lookup(ckptdb *, struct lookup **out, struct error *err);

/* The dialect of a map, to be freed with sqlite3_free(). NULL: ERR_MISSING. */
char *library_dialect(const ckptdb *, const char *map, struct error *err);

#endif

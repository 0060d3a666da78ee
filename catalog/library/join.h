/*
 * join.h - the parts of ckptdb_join(): the other catalog as the database `source` of the connection, its paths and its
 * maps. What becomes of its rows is SQL: schema/merge/.
 */
#pragma once

#include "catalog/library/library.h"

/* How paths of the other catalog become paths here. */
struct join_places {
    char **from, **to; /* malloc'ed */
    size_t count;
    const char *host; /* NULL: this machine */
    uint64_t fresh;   /* ids that merge_fresh() gave, since the caller set it to 0 */
};

/* The caller's places, as an import would store them, and the SQL functions of schema/merge/1_checkpoints.sql.
 * join_places_end() takes them away, also after a failure. */
void join_places_begin(const ckptdb *, struct join_places *, const struct ckptdb_joining *,
                       struct error *err);
void join_places_end(const ckptdb *, struct join_places *);

/* Attach the catalog at `path` as `source`, or a copy, where it is of an older version, or cannot be read without being
 * written. join_source_end() detaches it, also after a failure; *err, if OK so far, says that it changed meanwhile. */
struct join_source;
struct join_source *join_source_begin(ckptdb *, const char *path, struct error *err);
void join_source_end(ckptdb *, struct join_source *, struct error *err);
/* Whether it is as it was: one that nobody had open is read without locks. */
void join_source_check(const struct join_source *, struct error *err);

/* SQLite's own check of all pages: one that was damaged before it was summed, a value that its column cannot have. It
 * takes a tenth of a merge. join_source_look() does it before the catalog's turn, on any thread: what it gives (free() it;
 * NULL: no memory) saves join_source_pages() the work if the file is as it was then. */
struct join_look;
struct join_look *join_source_look(const char *path);
void join_source_pages(const ckptdb *, const struct join_source *, const struct join_look *,
                       struct error *err);

/* The user's rule sets, optimizers and known classes, in the caller's transaction. Those that differ from their
 * namesakes here are ERR_ARGUMENT, or with `keep_both` become NAME@CATALOG, and *kept counts them. */
void join_sets(ckptdb *, const char *path, bool keep_both, uint64_t *kept, struct error *err);

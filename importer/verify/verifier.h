/*
 * verifier.h - a verification at work: verify.c runs the steps of the other files.
 */
#pragma once

#include <time.h>

#include "catalog/base/strmap.h"
#include "importer/verify/verify.h"

/* A checkpoint being verified. */
struct verified {
    int64_t id, fresh; /* in the catalog; in what was just indexed, or 0 */
    const char *path, *primary;
    const char *stamp;     /* content_stamp() when the work began */
    const char *directory; /* the directory whose files are the siblings */
    const struct format *format;
    const char *const *siblings;
    uint64_t sibling_count;
    struct error unlisted; /* why the directory could not be listed, or OK */
    bool by_this_program;  /* indexed by this build: another may have read other facts */
    bool changed;          /* a file is not the one that was indexed */
    bool unread;           /* headers not read, for a passing reason */
};

struct verifier {
    const struct verify_options *options;
    sqlite3 *catalog;  /* the user's catalog */
    sqlite3 *fresh;    /* what was just indexed; the catalog is attached to it as "known" */
    struct error *err; /* the first failure: nothing is done from then on (arena.h) */
    struct arena arena;
    struct verified *list; /* sorted by path */
    size_t count;
    size_t readable; /* the leading part of `list` whose formats are known */
    size_t at;       /* the current one */
    size_t kept;     /* those before this one are in the catalog */
    time_t kept_at;  /* when that was done */
    struct reuse *reuse;
    struct classes *classes;
    struct writer *writer;
    /* From a directory to the place in `list` of the first checkpoint in it. */
    struct strmap listers;
};

static inline bool verify_stopped(const struct verifier *v)
{
    return v->options->stop && v->options->stop(v->options->context);
}

/* verify_index.c: first verify_siblings(), for each checkpoint: the files in its directory,
 * or beside its primary file; a directory is listed once, for all checkpoints in it. Then
 * verify_index(), for all. */
void verify_siblings(struct verifier *, struct verified *);
void verify_index(struct verifier *);
/* Record a finding, in a table of the fresh catalog that verify_index() makes; `name` may be NULL. */
void verify_found(struct verifier *, int64_t checkpoint, const char *name,
                  const struct error *what);
/* A query of a checkpoint in both catalogs, with :known, :fresh and :by_this_program where it has them.
 * NULL after a failure. */
struct sqlite3_stmt *verify_query(struct verifier *, const char *sql, const struct verified *);

/* For one checkpoint at a time. */
void verify_compare(struct verifier *, struct verified *);

/* Check members of zip archives that no tensor's checksum has covered. The keys of
 * `covered` are made by verify_run_key(). */
void verify_archives(struct verifier *, const struct verified *, const struct strmap *covered);

#define RUN_KEY_BYTES (sizeof(uint64_t) + 4096)
/* Make the key of a byte range; returns its length. 0: the path is too long. */
size_t verify_run_key(char *key, const char *path, uint64_t offset);

/* Find chunks that are in the catalog and are gone now. */
void verify_grids(struct verifier *, const struct verified *);

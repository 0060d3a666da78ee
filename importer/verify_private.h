/*
 * verify_private.h - the inside of a verification, for the files that make it up.
 */
#ifndef CKPTDB_IMPORTER_VERIFY_PRIVATE_H
#define CKPTDB_IMPORTER_VERIFY_PRIVATE_H

#include <time.h>

#include "catalog/base/strmap.h"
#include "importer/verify.h"

/* A checkpoint on its way. */
struct verified {
    int64_t id, fresh; /* in the catalog; in what was just indexed, 0: it could not be */
    const char *path, *primary;
    const char *stamp;     /* content_stamp() as the work began */
    const char *directory; /* whose files are the siblings */
    const struct format *format;
    const char *const *siblings;
    uint64_t sibling_count;
    bool changed; /* a file is not the one that was indexed */
    bool
        unread; /* its headers could not be read for a reason that passes: they say nothing */
};

struct verifier {
    const struct verify_options *options;
    sqlite3 *catalog; /* of the user */
    sqlite3
        *fresh; /* what was just indexed; `known` in it is the catalog, once attached */
    sqlite3_stmt *put_finding;
    struct arena arena;
    struct verified *list; /* by path */
    size_t count;
    size_t
        readable;   /* the first ones; of the rest the format is none of this program's */
    size_t at;      /* the one that is verified */
    size_t kept;    /* the results of those before are in the catalog */
    time_t kept_at; /* since when */
    struct reuse *reuse;
    struct writer *writer;
};

enum status verify_prepare(sqlite3 *, const char *sql, sqlite3_stmt **out,
                           struct error *err);
bool verify_stopped(void *verifier);

/* verify_index.c: the files in a directory that is a checkpoint, or beside a primary file; those of the
 * checkpoint before (NULL: none) where it lies in the same directory. Then all checkpoints. */
enum status verify_siblings(struct verifier *, struct verified *,
                            const struct verified *before, struct error *err);
enum status verify_index(struct verifier *, struct error *err);

/* verify_compare.c: the catalog compared with what was read again; then one checkpoint at a time. */
enum status verify_attach(struct verifier *, struct error *err);
enum status verify_compare(struct verifier *, struct verified *, struct error *err);

/* Keep a finding: its name, file, code and message, any of which may be NULL. */
enum status verify_put(struct verifier *, int64_t checkpoint, const char *const row[4],
                       uint64_t offset, struct error *err);
/* The same; `name` may be NULL. */
enum status verify_found(struct verifier *, int64_t checkpoint, const char *name,
                         const struct error *what, struct error *err);

/* Members of zip archives that no tensor's checksum covered: `covered` has keys that
 * verify_run_key() makes. */
enum status verify_archives(struct verifier *, const struct verified *,
                            const struct strmap *covered, struct error *err);

#define RUN_KEY_BYTES (sizeof(uint64_t) + 4096)
/* A key for a run of bytes; its length. 0: the path is too long. */
size_t verify_run_key(char *key, const char *path, uint64_t offset);

/* Chunks that the catalog knows of and that are gone. */
enum status verify_grids(struct verifier *, const struct verified *, struct error *err);

#endif

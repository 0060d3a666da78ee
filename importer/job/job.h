/*
 * job.h - one checkpoint being indexed: what a format has to work with.
 *
 * A job belongs to one thread, owns one batch and never sees SQLite. The
 * job_*() functions check every claim once, so that no format can forget to:
 * names, shapes, sizes, ends of files, duplicates, limits. What is wrong with
 * one tensor becomes an issue and the rest goes on; what is wrong with the
 * whole is the format's return value.
 *
 * Memory: everything handed to job_*() is copied into, or must live in,
 * job->arena.
 *
 * This is for formats. Who runs jobs wants job_run.h; formats whose headers repeat, job_reuse.h.
 */
#ifndef CKPTDB_IMPORTER_JOB_H
#define CKPTDB_IMPORTER_JOB_H

#include "catalog/base/cursor.h"
#include "catalog/base/limits.h"
#include "catalog/model/batch.h"
#include "importer/job/format.h"

struct job {
    const struct format *format;
    const char *path;      /* of the primary file or directory, absolute */
    struct source *source; /* the primary file; NULL for a directory; either is file 0 of
                              the checkpoint */
    struct arena *arena;
    struct error *err;
    unsigned threads;    /* how many it may run at once, itself included; 1 or more */
    struct batch *batch; /* formats do not touch it */
    void *private;       /* job.c's */
};

/* What a format says of one tensor. Zero-initialise; unset fields mean "none". */
struct tensor_claim {
    const char *name; /* need not end in NUL */
    size_t name_len;
    const char *dtype;     /* canonical, or "unknown(X)"; must live in the arena or be
                              constant */
    const uint64_t *shape; /* outermost first */
    unsigned rank;
    enum storage storage;
    uint32_t file;   /* range: which file */
    uint64_t offset; /* range: in that file, from the file's base */
    uint64_t stored; /* range: bytes in the file */
    const char *codec;
    const int64_t *strides;
    const struct extent *extents; /* pieces, chunks, inline; with what is theirs alone */
    uint64_t extent_count;
    const struct grid *grid; /* chunks: instead of extents (grid.h) */
    bool stored_unknown, shape_unknown, dtype_unknown;
    const uint32_t *sums; /* one (range), or one an extent; NULL: none */
    bool unique;          /* the format has made sure that no name repeats */
};

/* Emit a tensor. Checked: the name (UTF-8, else shown escaped with a warning; no NUL, else
 * an issue; not yet used in this checkpoint, else an issue), rank, the product of the
 * shape, that a range without a codec holds exactly the bytes of its shape and dtype, that
 * an extent without a codec holds what its own strides reach, and that all extents end inside their files (one that does not keeps its row, with an issue;
 * nobody can read it). Fails only with ERR_LIMIT or ERR_MEMORY. */
enum status job_tensor(struct job *, const struct tensor_claim *);

/* That so many tensors will come: room is made at once. A hint, and checked as one: give no
 * number that the file only states. */
void job_expect(struct job *, uint64_t tensors);

/* Where the data of file `file` begins; added to all offsets in it. */
void job_base(struct job *, uint32_t file, uint64_t base);
/* "data" unless said; the primary file of a set is its "index". */
void job_role(struct job *, uint32_t file, const char *role);

/* Open another file of the checkpoint. `name` is as found in a file, so it is not trusted:
 * relative, without "..", empty components, NUL or backslash, and only below the
 * directory of the primary file (symbolic links on disk are followed); else ERR_CORRUPT.
 * A missing one, or a git-lfs pointer in its place, is recorded as a missing file and gives
 * ERR_MISSING: *file is valid in that case too. The source lives as long as the job. Errors are put into *err (the
 * caller's own, so that a format may go on). */
enum status job_open(struct job *, const char *name, const char *role,
                     struct source **source, uint32_t *file, struct error *err);

/* The same by a path that is trusted (made from the directory listing). */
enum status job_open_path(struct job *, const char *path, const char *role,
                          struct source **source, uint32_t *file, struct error *err);

/* The same for a file that indexing does not look into: recorded, not kept open. */
enum status job_file(struct job *, const char *path, const char *role, uint32_t *file,
                     struct error *err);

/* The same for a file or directory whose identity the format has seen itself. */
enum status job_seen(struct job *, const char *path, const char *role,
                     const struct file_identity *, uint32_t *file);

/* The files of the primary's directory, sorted bytewise; valid for the job's life. */
const char *const *job_siblings(struct job *, uint64_t *count);

/* A fact that the checkpoint states of itself (view `metadata`). A text need not be UTF-8: where it
 * is not, or has a NUL, it is shown escaped. A key must be. */
enum status job_meta_text(struct job *, const char *key, const char *text, size_t len);
enum status job_meta_integer(struct job *, const char *key, int64_t value);
enum status job_meta_real(struct job *, const char *key, double value);
enum status job_meta_null(struct job *, const char *key);

/* Read a small JSON file beside the checkpoint, if it is there, into facts under
 * "NAME:key" (config.json), flattened with '.'; trouble in it is a warning. */
void job_meta_neighbour(struct job *, const char *name);
/* All that the format has `beside` it; where the job has failed they are only kept as files, so
 * that the same ones make nothing new at the next import. */
void job_neighbours(struct job *);

/* An empty leaf of a tree: kind "null", "dict" or "list". */
enum status job_node(struct job *, const char *name, size_t len, const char *kind);

void job_step(struct job *, int64_t step);
void job_run(struct job *, const char *run_directory, const char *item);
void job_sum_kind(struct job *, const char *kind); /* "crc32c", "crc32" */

/* ERR_MEMORY, into job->err: what a format returns where its own memory ends. */
enum status job_no_memory(struct job *);

/* Something wrong that does not stop the job. `path` NULL: the primary file. */
enum issue_severity {
    ISSUE_ERROR,
    ISSUE_WARNING
};
void job_issue(struct job *, enum issue_severity, const char *path, uint64_t offset,
               const char *code, const char *fmt, ...) PRINTF_LIKE(6, 7);
void job_issue_error(struct job *, enum issue_severity, const struct error *);
/* The warning of bytes that are not used; `after` is "the archive". 0 bytes: none. */
void job_trailing(struct job *, const char *path, uint64_t offset, uint64_t bytes,
                  const char *after);

#endif

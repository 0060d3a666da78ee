/*
 * job.h - one checkpoint being indexed, as a format sees it.
 *
 * A job belongs to one thread, owns one batch and never sees SQLite. The job_*() functions check
 * every claim once, so that no format can forget to: names, shapes, sizes, ends of files,
 * duplicates, limits. A problem with one tensor becomes an issue, and the rest is still indexed; a
 * problem with the whole checkpoint is the format's return value.
 *
 * Memory: everything passed to job_*() is copied into, or must live in, job->arena.
 *
 * Failures are sticky (arena.h): once job->err is set nothing more is recorded, so a format may ignore
 * what these functions return, and need only look at job->err->status where it would loop for long.
 *
 * This header is for formats. job_run.h runs jobs; job_reuse.h is for formats whose headers repeat.
 */
#pragma once

#include "catalog/base/cursor.h"
#include "catalog/base/limits.h"
#include "catalog/data/model/batch.h"
#include "importer/job/format.h"

struct classes;

struct job {
    const struct format *format;
    const char *path;      /* of the primary file or directory, absolute */
    struct source *source; /* the primary file; NULL for a directory; either is file 0 of
                              the checkpoint */
    struct arena *arena;
    struct error *err;
    unsigned threads;              /* how many it may run at once, itself included; 1 or more */
    const struct classes *classes; /* classes_judge(); NULL: none is known */
    bool salvage;                  /* take the whole tensors of a file that was cut short */
    struct batch *batch;           /* not for formats */
    void *private;                 /* job.c's */
};

/* What a format says about one tensor. Zero-initialise it; unset fields mean "none". */
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
    const struct extent *extents; /* pieces, chunks, inline; with what is their own */
    uint64_t extent_count;
    const struct grid *grid; /* chunks: instead of extents (grid.h) */
    bool stored_unknown, shape_unknown, dtype_unknown;
    const uint32_t *sums; /* one (range), or one per extent; NULL: none */
    bool unique;          /* the format has made sure that no name repeats */
};

/* Emit a tensor. Checked: the name (if it is not UTF-8, it is shown escaped, with a warning; if it
 * has a NUL or is already used in this checkpoint, that is an issue), the rank, the product of the
 * shape, that a range without a codec has exactly the bytes of its shape and dtype, that an extent
 * without a codec has what its own strides reach, and that all extents end inside their files (a
 * tensor whose extents do not keeps its row, without data; one issue a file counts them: job_cut()). Fails only with
 * ERR_LIMIT or ERR_MEMORY. */
enum status job_tensor(struct job *, const struct tensor_claim *);

/* Go on without the end that a file has lost, as *why says ("truncated", which is cleared; any other
 * error stays): a reason for the issue that counts the tensors whose data was there. False: it stays, as always
 * without `salvage`. */
bool job_cut(struct job *, uint32_t file, struct error *why);

/* Announce how many tensors will come, so that room for them is made at once. It is a hint: do not
 * pass a number that the file merely states. */
void job_expect(struct job *, uint64_t tensors);

/* Where the data of file `file` begins; added to all offsets in it. */
void job_base(struct job *, uint32_t file, uint64_t base);
/* The default role is "data"; the primary file of a set is its "index". */
void job_role(struct job *, uint32_t file, const char *role);

/* Open another file of the checkpoint. `name` is as found in a file, so it is not trusted:
 * relative, without "..", empty components, NUL or backslash, and only below the
 * directory of the primary file (symbolic links on disk are followed); else ERR_CORRUPT.
 * If it is missing, or a git-lfs pointer, it is recorded as a missing file, and the result is
 * ERR_MISSING, with a valid *file. The source lives as long as the job. Errors go to *err, which is
 * the caller's own, so that a format can continue. */
enum status job_open(struct job *, const char *name, const char *role, struct source **source,
                     uint32_t *file, struct error *err);

/* The same for a trusted path (made from the directory listing). */
enum status job_open_path(struct job *, const char *path, const char *role, struct source **source,
                          uint32_t *file, struct error *err);

/* The same for a file that is only recorded: indexing does not read it. */
enum status job_file(struct job *, const char *path, const char *role, uint32_t *file,
                     struct error *err);

/* Record a file or directory whose identity the format already knows; NULL: it is missing. */
void job_seen(struct job *, const char *path, const char *role, const struct file_identity *,
              uint32_t *file);

/* The files of the primary's directory, sorted bytewise; valid for the job's life. */
const char *const *job_siblings(struct job *, uint64_t *count);

/* A fact that the checkpoint states about itself (view `metadata`). A key must be UTF-8; a text that is
 * not, or has a NUL, is shown escaped. */
enum status job_meta_text(struct job *, const char *key, const char *text, size_t len);
enum status job_meta_integer(struct job *, const char *key, int64_t value);
enum status job_meta_real(struct job *, const char *key, double value);
enum status job_meta_null(struct job *, const char *key);

/* If there is a small JSON file of this name beside the checkpoint (config.json), turn it into facts
 * "NAME:key", flattened with '.'. A problem with it is a warning. */
void job_meta_neighbour(struct job *, const char *name);
/* The same for one that was found by the next two. */
void job_meta_beside(struct job *, const char *name, const char *path);
/* The name of the `at`th file that may describe a checkpoint, a file or a folder, from beside it: first
 * its format's, then a trainer's, if it is named like a model. NULL: no more. */
const char *job_beside(const struct format *, const char *path, size_t at);
/* The path of such a file, if it is there or that cannot be said; else NULL. */
const char *job_beside_path(struct arena *, const char *primary, const char *name);
/* Whether a trainer leaves a file of this name beside a model. */
bool job_beside_model(const char *path);
/* An empty leaf of a tree: kind "null", "dict" or "list". */
enum status job_node(struct job *, const char *name, size_t len, const char *kind);

void job_step(struct job *, int64_t step);
void job_run(struct job *, const char *run_directory, const char *item);
void job_sum_kind(struct job *, const char *kind); /* "crc32c", "crc32" */

/* Report a problem that does not stop the job. `path` NULL: the primary file. `code`, for
 * issue.code: a word for the kind of problem, as of status_name() ("corrupt") or narrower ("truncated");
 * names of fixtures begin with it. */
enum issue_severity { ISSUE_ERROR, ISSUE_WARNING };
void job_issue(struct job *, enum issue_severity, const char *path, uint64_t offset,
               const char *code, const char *fmt, ...) PRINTF_LIKE(6, 7);
void job_issue_error(struct job *, enum issue_severity, const struct error *);
/* Warn about unused bytes (code "trailing-bytes"); `after` is what they follow ("the archive"). 0 bytes: no warning. */
void job_trailing(struct job *, const char *path, uint64_t offset, uint64_t bytes,
                  const char *after);

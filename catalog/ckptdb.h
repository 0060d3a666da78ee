/*
 * ckptdb.h - libckptdb: the catalog of checkpoints as a C library.
 *
 * A program that opens a catalog, indexes a folder, and reads one row of a tensor as float32:
 *
 *   #include <ckptdb.h>
 *   #include <stdio.h>
 *
 *   static bool show(void *context, const struct ckptdb_tensor_info *t)
 *   {
 *       (void)context;
 *       return printf("%s %s, %u dimensions\n", t->dtype, t->name, t->rank) > 0;
 *   }
 *
 *   int main(int argc, char **argv)
 *   {
 *       const char *const *words = (const char *const *)argv;
 *       struct ckptdb_import_options folder = {
 *           .size = sizeof(folder), .paths = words + 1, .path_count = 1};
 *       struct ckptdb_slice part[] = {{1, 1, 1}, {0, 4, 1}}; // [1:2, :4]
 *       struct ckptdb_error err;
 *       ckptdb *db = NULL;
 *       ckptdb_tensor *t = NULL;
 *       int64_t model, id;
 *       float x[4];
 *       if (argc != 4) {
 *           fprintf(stderr, "usage: %s FOLDER CHECKPOINT TENSOR\n", argv[0]);
 *           return 2;
 *       }
 *       int failed = ckptdb_open(NULL, CKPTDB_CREATE, &db, &err) ||
 *                    ckptdb_import(db, &folder, NULL, &err) ||
 *                    ckptdb_find(db, argv[2], &model, 1, NULL, &err) ||
 *                    ckptdb_tensors(db, model, show, NULL, &err) ||
 *                    ckptdb_find_tensor(db, model, argv[3], &id, &err) ||
 *                    ckptdb_tensor_open(db, id, &t, &err) ||
 *                    ckptdb_read(t, part, "float32", x, sizeof(x), &err);
 *       if (failed)
 *           fprintf(stderr, "%s %s\n", err.source, err.message);
 *       else
 *           printf("%g %g %g %g\n", x[0], x[1], x[2], x[3]);
 *       ckptdb_tensor_close(t);
 *       ckptdb_close(db);
 *       return failed;
 *   }
 *
 * and is built by:  cc -o example example.c $(pkg-config --cflags --libs libckptdb)
 * and used:         ./example ~/models model.safetensors model.embed_tokens.weight
 *
 * Errors. Functions that can fail return a status, 0 for success. Their last argument is an error,
 * which may be NULL and is cleared by the call. A problem with a checkpoint is not an error of its
 * import: it is a row of the view `issue`, and the rest is imported. An id that no checkpoint or tensor has
 * is CKPTDB_MISSING. A pointer may be NULL only where that is stated.
 *
 * Threads. Use a ckptdb, and what it lists, from one thread at a time; a program may open the same
 * catalog any number of times. The same goes for a ckptdb_tensor and a ckptdb_stream, which are
 * independent of each other and, once open, of the catalog: open one per thread. The library uses
 * all cores by itself. Callbacks run on the calling thread unless stated otherwise, and must not
 * call the same ckptdb.
 *
 * Ownership. What an ..._open() function returns is closed by ..._close(), which accepts NULL. Strings
 * and arrays in a struct passed to a callback are valid until it returns; an open tensor keeps its
 * own until it is closed. Text is UTF-8 and ends in a NUL; paths are bytes.
 *
 * ABI. All names begin with ckptdb_ or CKPTDB_. Within one libckptdb.so.N no function changes its
 * arguments or meaning, and no constant its value. Structs that a caller fills begin with their size:
 * a newer library accepts an older, smaller one and takes the missing fields for 0; one without
 * its size is CKPTDB_ARGUMENT. Structs that the library returns only grow at their end. New values may
 * join an enum: treat a status that you do not know as an error. ckptdb_error never changes.
 */
#ifndef CKPTDB_H
#define CKPTDB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

struct sqlite3;
struct sqlite3_stmt;

/* The version of the library that is running: "0.1.0". */
const char *ckptdb_version(void);

/* --- errors -------------------------------------------------------------------------------- */

enum ckptdb_status {
    CKPTDB_OK = 0,
    CKPTDB_CORRUPT,     /* bytes that contradict their format */
    CKPTDB_UNSUPPORTED, /* legal, but not something this library reads or writes */
    CKPTDB_LIMIT,       /* more than the library accepts: the message names the limit */
    CKPTDB_MISSING,     /* there is no such file, checkpoint, tensor, map */
    CKPTDB_CHANGED,     /* a file is not the one that was indexed: import it again */
    CKPTDB_CHECKSUM,    /* data read does not have its recorded checksum */
    CKPTDB_VALUE,       /* a value does not fit the dtype asked for */
    CKPTDB_IO,          /* the system refused to read or write */
    CKPTDB_BUSY,        /* another program is writing the catalog */
    CKPTDB_MEMORY,      /* no memory */
    CKPTDB_ARGUMENT,    /* the caller asked for something that makes no sense */
    CKPTDB_INTERRUPTED, /* a `stop` callback returned true */
};

#define CKPTDB_NO_OFFSET UINT64_MAX

struct ckptdb_error {
    enum ckptdb_status status;
    uint64_t offset;   /* byte in `source` where it was found; CKPTDB_NO_OFFSET: none */
    char source[512];  /* path or name of the file; may be "" */
    char message[512]; /* one line, control characters escaped */
};

/* "source: message (at byte N)" into `out`, which is returned. */
char *ckptdb_error_text(const struct ckptdb_error *, char *out, size_t size);

/* --- a catalog ----------------------------------------------------------------------------- */

typedef struct ckptdb ckptdb;

enum ckptdb_mode {
    CKPTDB_READ,   /* must exist; nothing is written */
    CKPTDB_WRITE,  /* must exist; brought up to date if an older program made it */
    CKPTDB_CREATE, /* the same, created if it does not exist */
    CKPTDB_USE,    /* as CKPTDB_WRITE, but what an interrupted import left out waits */
};

/* `path` NULL: a new one in memory, gone when it is closed. CKPTDB_MISSING: nothing is at `path`;
 * CKPTDB_ARGUMENT: what is there is not a catalog, or one of a newer or much older program, or
 * damaged, or `path` is empty. */
enum ckptdb_status ckptdb_open(const char *path, enum ckptdb_mode, ckptdb **out,
                               struct ckptdb_error *);
void ckptdb_close(ckptdb *);

struct ckptdb_watch;
/* The same with the callbacks of ckptdb_watch() from the beginning: another program may have the catalog
 * for itself already. CKPTDB_INTERRUPTED: `stop` ended the waiting for it. */
enum ckptdb_status ckptdb_open_watched(const char *path, enum ckptdb_mode,
                                       const struct ckptdb_watch *, ckptdb **out,
                                       struct ckptdb_error *);

/* Its connection, with all views and SQL functions (schema/README.md lists them), for everything that
 * has no function here. It is closed with the catalog: finalize your statements before. While you have a
 * transaction open, importing, forgetting, hashing, statistics and verifying are CKPTDB_ARGUMENT. */
struct sqlite3 *ckptdb_sqlite(ckptdb *);

/* sqlite3_prepare_v2() of a text that ends with a NUL, for statements that people wrote: a count(DISTINCT x) alone takes
 * as long as SELECT DISTINCT x does (in SQLite 3.40 as long as reading all rows). Returns SQLite's code;
 * `rest`: the text after the first statement, NULL: not wanted. */
struct sqlite3_stmt;
int ckptdb_prepare(struct sqlite3 *, const char *sql, struct sqlite3_stmt **, const char **rest);

/* SQL on this connection writes `ruleset`, `rule`, `optimizer`, `known_class`, tables, views, indexes and
 * triggers of its user, and temporary and attached databases. Anything else is SQLITE_AUTH, "not authorized": this is the
 * reason for the last one, and what to do instead; "" before any. */
const char *ckptdb_refused(const ckptdb *);

/* Why the last call of SQLite on this connection failed: sqlite3_errmsg(), or ckptdb_refused(), or which page of the
 * catalog's file is damaged, and what to do. Until the next call. */
const char *ckptdb_why(ckptdb *);

/* Callbacks during long work. Each may be NULL. */
struct ckptdb_watch {
    size_t size; /* of this struct */
    void *context;
    /* Called often, from any thread, also by SQL statements; true ends the work with CKPTDB_INTERRUPTED. */
    bool (*stop)(void *context);
    /* How far the work has come; from any thread. `doing`: "looking" (files, total 0), "indexing"
     * (checkpoints), "waiting" (another program is writing; called once), "exporting" (bytes). */
    void (*progress)(void *context, const char *doing, uint64_t done, uint64_t total);
    /* A line of information, or one of several reasons for the error that follows. */
    void (*say)(void *context, const char *line);
};

/* Valid until the next call of this function. NULL: no callbacks. */
void ckptdb_watch(ckptdb *, const struct ckptdb_watch *);

/* What may end a wait for another machine, in any function that this thread calls: CKPTDB_INTERRUPTED within a
 * second. Called from any thread. NULL: only the machine's own silence ends it, after too long. */
void ckptdb_stopping(bool (*stop)(void *context), void *context);

/* --- importing ----------------------------------------------------------------------------- */

/* A checkpoint that an import found. */
struct ckptdb_found {
    const char *path, *format;
    bool known, unchanged; /* already in the catalog; not changed since */
    /* In a dry run: why an import would refuse it, or did before ("format" is then ""). NULL: it
     * would not. */
    const char *refused;
};

/* A problem with what was imported: a row of the view `issue`. */
struct ckptdb_issue {
    const char *severity; /* "error" or "warning" */
    const char *code;     /* "truncated", "vanished", ... */
    const char *path, *message;
    int64_t offset;         /* in the file; -1: none */
    const char *checkpoint; /* its path; NULL: no checkpoint's */
};

struct ckptdb_import_options {
    size_t size;              /* of this struct */
    const char *const *paths; /* files, folders to be searched, prefixes of TensorFlow's */
    size_t path_count;
    unsigned threads; /* 0: four per core */
    bool prune;       /* drop checkpoints below the paths that are no longer there */
    bool follow;      /* enter linked folders */
    bool dry_run;     /* only find out what an import would do */
    /* Called after the work: each checkpoint found, and each issue of what was imported. */
    void (*found)(void *context, const struct ckptdb_found *);
    void (*issue)(void *context, const struct ckptdb_issue *);
    void *context;
    /* Take what files that were cut short still hold (whole tensors; the others are rows without data),
     * rather than refuse them. */
    bool salvage;
};

struct ckptdb_import_report {
    size_t size;               /* of this struct */
    uint64_t added, changed;   /* checkpoints; with dry_run those that would be */
    uint64_t unchanged;        /* not opened again */
    uint64_t failed;           /* files that are refused, now or by an earlier import */
    uint64_t vanished, pruned; /* no longer there; dropped, of these */
    uint64_t issues;
    char unread[512]; /* "2 TFLite files are not read"; else "" */
};

/* Reads headers and indexes, never weights; does not open what has not changed. CKPTDB_MISSING:
 * a path does not exist, and nothing was done. CKPTDB_INTERRUPTED: what was finished is in the
 * catalog. The report may be NULL; it is filled in every case. */
enum ckptdb_status ckptdb_import(ckptdb *, const struct ckptdb_import_options *,
                                 struct ckptdb_import_report *, struct ckptdb_error *);

/* CKPTDB_MISSING if an import would not find one of these paths: the error names the first. */
enum ckptdb_status ckptdb_import_find(const char *const *paths, size_t count,
                                      struct ckptdb_error *);

/* Drop checkpoints from the catalog; their files stay. */
enum ckptdb_status ckptdb_forget(ckptdb *, const int64_t *checkpoints, size_t count,
                                 struct ckptdb_error *);

/* Files were moved: change the beginning of paths from `old` to `new`, which may be relative. Nothing on
 * disk is touched. *checkpoints (or NULL) is set to how many moved, or would; CKPTDB_MISSING: none. */
enum ckptdb_status ckptdb_relocate(ckptdb *, const char *old, const char *new_place, bool dry_run,
                                   uint64_t *checkpoints, struct ckptdb_error *);

/* --- catalogs as files ----------------------------------------------------------------------- */

/* Write a copy of the catalog to `path`: one consistent state, whatever others write meanwhile, without the
 * free space of dropped rows. It appears complete or not at all. CKPTDB_ARGUMENT: something is
 * at `path`, and not to be replaced (`force`), or it is this catalog. */
enum ckptdb_status ckptdb_snapshot(ckptdb *, const char *path, bool force, struct ckptdb_error *);

struct ckptdb_relocation {
    const char *from, *to; /* the beginning of paths there, and what it is here */
};

struct ckptdb_joining {
    size_t size;              /* of this struct */
    const char *const *paths; /* the other catalogs */
    size_t path_count;
    /* Paths below `from` are those below `to`, the first that fits. A file that has the same size and time here is the
     * same one. */
    const struct ckptdb_relocation *relocations;
    size_t relocation_count;
    /* The catalogs are of another machine: its other paths, and its devices, are not this one's. /data/x becomes
     * file://HOST/data/x. NULL: of this machine. */
    const char *host;
    /* A rule set or optimizer that differs from its namesake here becomes NAME@CATALOG. */
    bool keep_both;
    /* Called for each catalog that was left out: the others are still taken. NULL: nobody is told. */
    void (*failed)(void *context, const struct ckptdb_error *);
    void *context;
};

struct ckptdb_joined {
    size_t size; /* of this struct */
    /* Checkpoints: new here, or imported later than the row here; others, which may have got hashes. */
    uint64_t added, changed, known;
    uint64_t kept;   /* rule sets and optimizers as NAME@CATALOG, now or by an earlier call */
    uint64_t failed; /* catalogs that were left out */
};

/* Add the contents of other catalogs to this one: each whole, or not at all. They are only read; one of an older
 * version is copied, and the copy brought up to date. The same checkpoint, by its path or by its files, is one, and
 * the later import counts. Returns the first error: CKPTDB_ARGUMENT: it is no catalog, of a version that cannot be
 * read, this one itself, or rule sets, optimizers or known classes differ, which the message names; CKPTDB_CORRUPT: it
 * is damaged; CKPTDB_BUSY: it is being written; CKPTDB_INTERRUPTED: what was taken stays. The report may be NULL. */
enum ckptdb_status ckptdb_join(ckptdb *, const struct ckptdb_joining *, struct ckptdb_joined *,
                               struct ckptdb_error *);

/* --- finding ------------------------------------------------------------------------------- */

/* The checkpoint that a person means: its name, an id, a path or its last components, a folder that
 * holds exactly one, RUN@STEP or RUN@latest, either with :ITEM, the end of a name, or a run, which is its
 * latest step. `ids` has room for `room` ids, at least 1. CKPTDB_OK: ids[0] is the checkpoint; *count (or
 * NULL) is 1, for a run the number of its checkpoints. CKPTDB_ARGUMENT: it names several: *count.
 * CKPTDB_MISSING: it names none; `ids` then has the steps near the one asked for, as far as there is room,
 * and *count says how many there are. */
enum ckptdb_status ckptdb_find(ckptdb *, const char *name, int64_t *ids, size_t room, size_t *count,
                               struct ckptdb_error *);

/* The tensor of this name. */
enum ckptdb_status ckptdb_find_tensor(ckptdb *, int64_t checkpoint, const char *name, int64_t *id,
                                      struct ckptdb_error *);

#define CKPTDB_RANK_MAX 254

struct ckptdb_tensor_info {
    int64_t id;
    const char *name;
    const char *dtype; /* as NumPy and ml_dtypes call it: "bfloat16"; "string";
                        * "unknown(...)"; "?" if the checkpoint does not say */
    unsigned rank;
    const uint64_t *shape; /* outermost first; not known: NULL, and rank 0 */
    uint64_t elements;
    uint64_t nbytes; /* logical; 0 if the dtype has no size */
};

/* All tensors of a checkpoint in the file's own order, until `each` returns false. */
enum ckptdb_status ckptdb_tensors(ckptdb *, int64_t checkpoint,
                                  bool (*each)(void *context, const struct ckptdb_tensor_info *),
                                  void *context, struct ckptdb_error *);

/* --- reading ------------------------------------------------------------------------------- */

typedef struct ckptdb_tensor ckptdb_tensor;

/* Opens no file: problems with files are found when it is read. */
enum ckptdb_status ckptdb_tensor_open(ckptdb *, int64_t id, ckptdb_tensor **out,
                                      struct ckptdb_error *);
/* The tensor that a map makes under this name: renamed, reshaped, stacked, split. */
enum ckptdb_status ckptdb_tensor_open_mapped(ckptdb *, const char *map, int64_t checkpoint,
                                             const char *new_name, ckptdb_tensor **out,
                                             struct ckptdb_error *);
/* New names of a checkpoint's tensors: by the map (NULL: none), then by renames
 * ([["REGEX", "TEMPLATE"], ...], as an export takes them; NULL: none). */
struct ckptdb_naming {
    size_t size; /* of this struct */
    int64_t checkpoint;
    const char *map, *renames;
};
/* The tensor with this new name. CKPTDB_ARGUMENT: several have it. */
enum ckptdb_status ckptdb_tensor_open_renamed(ckptdb *, const struct ckptdb_naming *,
                                              const char *new_name, ckptdb_tensor **out,
                                              struct ckptdb_error *);
void ckptdb_tensor_close(ckptdb_tensor *);

const struct ckptdb_tensor_info *ckptdb_tensor_info(const ckptdb_tensor *);

/* Where its bytes lie, as JSON that the caller frees by ckptdb_free(): {"plain": whether they are one
 * run without checksums, "count": how many extents there are, "codec", "strides", "extents": [{"file", "offset", "stored",
 * "origin", "shape", "checksum", ...}] (the first `most`), "files": [...]}. */
enum ckptdb_status ckptdb_tensor_places(const ckptdb_tensor *, uint64_t most, char **json,
                                        struct ckptdb_error *);

/* One per dimension: `count` elements start, start + step, ...; a step may be negative. */
struct ckptdb_slice {
    uint64_t start, count;
    int64_t step;
};

/* NumPy's spelling ("1:3, :, -1, ..., ::2", without brackets): fills one slice per dimension. An integer
 * is a slice of one element; drop[d] (or NULL) says whether NumPy would drop that dimension. */
enum ckptdb_status ckptdb_slice_parse(const ckptdb_tensor *, const char *text,
                                      struct ckptdb_slice *slices, bool *drop,
                                      struct ckptdb_error *);

/* How many bytes it takes to read a part as this dtype. Here and below, `slices` NULL means all of the
 * tensor, and `dtype` NULL its own dtype. */
enum ckptdb_status ckptdb_read_size(const ckptdb_tensor *, const struct ckptdb_slice *,
                                    const char *dtype, uint64_t *bytes, struct ckptdb_error *);

/* The elements, C order, little-endian, packed, into exactly `size` bytes. Only the bytes that the
 * slices touch are read; changed files are refused first. Conversion to a narrower float rounds to
 * nearest even; integers must fit (CKPTDB_VALUE); blocks are dequantised for any other dtype.
 * Stored checksums are verified if everything is read. */
enum ckptdb_status ckptdb_read(const ckptdb_tensor *, const struct ckptdb_slice *,
                               const char *dtype, void *buffer, uint64_t size,
                               struct ckptdb_error *);

/* The same in pieces, with memory that does not grow with the tensor. */
typedef struct ckptdb_stream ckptdb_stream;
enum ckptdb_status ckptdb_stream_open(const ckptdb_tensor *, const struct ckptdb_slice *,
                                      const char *dtype, ckptdb_stream **out,
                                      struct ckptdb_error *);
/* The next bytes, whole elements, valid until the next call; *len is 0 at the end. */
enum ckptdb_status ckptdb_stream_next(ckptdb_stream *, const void **bytes, size_t *len,
                                      struct ckptdb_error *);
void ckptdb_stream_close(ckptdb_stream *);
uint64_t ckptdb_stream_size(const ckptdb_stream *); /* total bytes */

/* In place of a dtype: sub-byte elements that are stored one per byte are read as those bytes (not
 * where a map casts them). */
#define CKPTDB_AS_STORED "as stored"

/* The strings of a tensor of dtype "string", in C order, until `each` returns false; they may
 * contain NULs and need not be text. */
enum ckptdb_status ckptdb_strings(const ckptdb_tensor *,
                                  bool (*each)(void *context, uint64_t index, const void *bytes,
                                               size_t len),
                                  void *context, struct ckptdb_error *);

/* Elements as text, at any position of the tensor or of its slices (which must outlive it). Blocks,
 * which have no numbers of their own, are spelled as float32. `near`: how many elements are read at
 * once. */
typedef struct ckptdb_cells ckptdb_cells;
enum ckptdb_spelling {
    CKPTDB_AS_TEXT, /* 1.5, nan, True, 1.0+2.0j, "text" */
    CKPTDB_AS_JSON, /* NaN and infinities null, complex [re,im], {"hex": ...} for other bytes */
    CKPTDB_AS_CSV,  /* as text, strings quoted where they must be */
};
enum ckptdb_status ckptdb_cells_open(const ckptdb_tensor *, const struct ckptdb_slice *,
                                     const char *dtype, unsigned near, ckptdb_cells **out,
                                     struct ckptdb_error *);
uint64_t ckptdb_cells_count(const ckptdb_cells *);
/* The element at a position in C order; valid until the next call. */
enum ckptdb_status ckptdb_cell(ckptdb_cells *, uint64_t position, enum ckptdb_spelling,
                               const char **text, size_t *len, struct ckptdb_error *);
/* After all elements were read in order: verify the checksums. */
enum ckptdb_status ckptdb_cells_verify(ckptdb_cells *, struct ckptdb_error *);
void ckptdb_cells_close(ckptdb_cells *);

/* All tensors of a checkpoint, looked up at once: for programs that list many, or read many from first to
 * last. It is independent of the catalog once it is open, and any number of threads may use one. */
typedef struct ckptdb_checkpoint ckptdb_checkpoint;

/* What many tensors have in common. */
struct ckptdb_kind {
    const char *dtype, *storage; /* as the columns of the view `tensor` */
    unsigned rank;
    const uint64_t *shape; /* as in ckptdb_tensor_info */
    uint64_t elements, nbytes;
};

/* Arrays of `count` elements, in the file's own order of tensors; valid until the checkpoint is closed. */
struct ckptdb_columns {
    size_t count;
    const int64_t *id;
    const char *names; /* one after the other, each with its NUL: `names_size` bytes */
    size_t names_size;
    const uint64_t *name_at; /* where a tensor's name begins in `names` */
    const uint32_t *kind;    /* its place in `kinds` */
    const bool *plain;       /* ckptdb_checkpoint_read() reads it */
    const struct ckptdb_kind *const *kinds;
    size_t kind_count;
};

/* Opens no file. */
enum ckptdb_status ckptdb_checkpoint_open(ckptdb *, int64_t checkpoint, ckptdb_checkpoint **out,
                                          struct ckptdb_error *);
void ckptdb_checkpoint_close(ckptdb_checkpoint *);
const struct ckptdb_columns *ckptdb_checkpoint_columns(const ckptdb_checkpoint *);

/* Bytes [from, from + size) of the elements of the tensor at this position in the columns: what
 * ckptdb_read() gives for its own dtype, without looking anything up. For plain tensors alone, which are
 * one run of a file, without checksums; CKPTDB_ARGUMENT for others. At most 64 files stay open,
 * and each read checks whether its file has changed: CKPTDB_CHANGED. */
enum ckptdb_status ckptdb_checkpoint_read(ckptdb_checkpoint *, size_t tensor, uint64_t from,
                                          void *buffer, uint64_t size, struct ckptdb_error *);

/* The header that turns raw elements in C order into a .npy file; the caller frees it by
 * ckptdb_free(). */
enum ckptdb_status ckptdb_npy_header(const char *dtype, const uint64_t *shape, unsigned rank,
                                     char **header, size_t *len, struct ckptdb_error *);

/* A file that appears under its name complete or not at all: closing it unfinished discards it.
 * CKPTDB_ARGUMENT: the name is taken. */
typedef struct ckptdb_file ckptdb_file;
enum ckptdb_status ckptdb_file_create(const char *path, ckptdb_file **out, struct ckptdb_error *);
enum ckptdb_status ckptdb_file_write(ckptdb_file *, const void *bytes, size_t len,
                                     struct ckptdb_error *);
enum ckptdb_status ckptdb_file_finish(ckptdb_file *, struct ckptdb_error *);
void ckptdb_file_close(ckptdb_file *);

/* --- what tensors hold --------------------------------------------------------------------- */

struct ckptdb_content_options {
    size_t size; /* of this struct */
    const int64_t *checkpoints;
    size_t count;
    unsigned threads; /* 0: one per core */
    bool again;       /* also compute what is known */
    bool twins;       /* hashing: only tensors that could have an equal one */
    bool quick;       /* verifying: headers and indexes alone */
    /* Statistics: only tensors whose name this regex matches anywhere; NULL: all */
    const char *names;
    /* SHA-256: called with 64 hex digits. */
    void (*sum)(void *context, const char *hex, const char *name);
    void *context;
};

/* All of these keep their results in the catalog as they go: after CKPTDB_INTERRUPTED the next call
 * continues. Tensors that cannot be read are reported to the watch, and *all (or NULL) is set to
 * false, as by a call that fails. Progress is "hashing", "reading", "SHA-256", "verifying" (bytes) or
 * "checking" (checkpoints).
 *
 * In a catalog opened with CKPTDB_READ nothing is kept, and the watch is told: the results are in the
 * views of this connection alone, without other checkpoints' results, until ckptdb_content_forget()
 * or the next of these calls. */
void ckptdb_content_forget(ckptdb *);

/* Hashes of tensors and checkpoints: columns `hash`, views `content`, `duplicate`. */
enum ckptdb_status ckptdb_hash(ckptdb *, const struct ckptdb_content_options *, bool *all,
                               struct ckptdb_error *);
/* Least, greatest, mean, ...: view `stats`. */
enum ckptdb_status ckptdb_statistics(ckptdb *, const struct ckptdb_content_options *, bool *all,
                                     struct ckptdb_error *);
/* Reads headers again and checks checksums and hashes: problems are in the view `damage`. *skipped (or
 * NULL): how many checkpoints were verified before an interruption. */
enum ckptdb_status ckptdb_verify(ckptdb *, const struct ckptdb_content_options *, uint64_t *skipped,
                                 struct ckptdb_error *);
/* Keeps a caller's own finding beside those of ckptdb_verify(), with the code `manifest`:
 * `file`, a list of sums, has another sum for the tensor `name`. */
enum ckptdb_status ckptdb_found(ckptdb *, int64_t checkpoint, const char *name, const char *file,
                                const char *message, struct ckptdb_error *);
/* Passes the SHA-256 of each tensor with bytes of one checkpoint to `sum`, in the file's order; keeps
 * nothing. */
enum ckptdb_status ckptdb_sha256(ckptdb *, const struct ckptdb_content_options *, bool *all,
                                 struct ckptdb_error *);

/* Called with how much of two tensors the SQL function tensor_distance(a, b, dtype, reading) has read:
 * bound by sqlite3_bind_pointer() as a "ckptdb_reading". Bytes of both together, since the last call. */
struct ckptdb_reading {
    void (*read)(void *context, uint64_t bytes);
    void *context;
    unsigned threads; /* that compare; 0: one per core */
};

/* --- maps ---------------------------------------------------------------------------------- */

/* What a map makes of one name. NULL: not known. */
struct ckptdb_mapped {
    const char *old_name, *new_name;
    /* "ok", "error", "unmatched", "dropped", ...: schema/rules/README.md */
    const char *status;
    const char *dtype, *shape; /* of the result; the shape as JSON */
    const char *error;
};

struct ckptdb_map_options {
    size_t size; /* of this struct */
    const char *map;
    int64_t checkpoint;
    int64_t target; /* the model whose names an assigning map fills; else 0 */
    bool (*each)(void *context, const struct ckptdb_mapped *); /* until it returns false */
    void *context;
};

/* Run a map on a checkpoint. */
enum ckptdb_status ckptdb_map(ckptdb *, const struct ckptdb_map_options *, struct ckptdb_error *);

/* What maps of a dialect (column `dialect` of `ruleset`) do to a checkpoint. */
enum ckptdb_dialect_kind {
    CKPTDB_DIALECT_UNKNOWN, /* this library does not run it */
    CKPTDB_TRANSLATES,      /* give its tensors other names */
    CKPTDB_CONVERTS,        /* make other tensors, too: transposed, stacked, cut */
    CKPTDB_ASSIGNS,         /* fill the names of a target */
};
enum ckptdb_dialect_kind ckptdb_dialect(const char *name);

/* Give a map a number that the checkpoints do not state, until ckptdb_map_unset() (`map run --set`).
 * `map` NULL: every map that has such a setting. CKPTDB_ARGUMENT: none has, or the value must be a
 * number. */
enum ckptdb_status ckptdb_map_set(ckptdb *, const char *map, const char *key, const char *value,
                                  struct ckptdb_error *);
void ckptdb_map_unset(ckptdb *);

/* CKPTDB_CHANGED if a file beside the checkpoint, from which the map takes numbers, has changed since it
 * was indexed. */
enum ckptdb_status ckptdb_map_current(ckptdb *, const char *map, int64_t checkpoint,
                                      struct ckptdb_error *);

/* Store a map under this name, replacing one that has it. `text` is SQL, JSON, gin, key_mapping, ...,
 * which is recognised. `path` is for messages. */
enum ckptdb_status ckptdb_map_load(ckptdb *, const char *name, const char *text, size_t len,
                                   const char *path, struct ckptdb_error *);
/* Write it in one of these forms ("json", "gin", ...); the caller frees the text by ckptdb_free().
 * CKPTDB_UNSUPPORTED: there is no such form, or it cannot hold the map; the message says which can. */
enum ckptdb_status ckptdb_map_write(ckptdb *, const char *name, const char *form, char **text,
                                    size_t *len, struct ckptdb_error *);
void ckptdb_free(void *);

/* Infer the map that turns the names of checkpoint a into the names of b, from the contents of
 * their tensors (by the hashes in the catalog, which ckptdb_hash() computes), from names and from
 * shapes. The result no longer depends on the catalog. */
typedef struct ckptdb_inferred ckptdb_inferred;
enum ckptdb_status ckptdb_infer(ckptdb *, int64_t a, int64_t b, ckptdb_inferred **out,
                                struct ckptdb_error *);
/* The same with this many threads; 0: one per core, as above. */
enum ckptdb_status ckptdb_infer_on(ckptdb *, int64_t a, int64_t b, unsigned threads,
                                   ckptdb_inferred **out, struct ckptdb_error *);
void ckptdb_inferred_close(ckptdb_inferred *);

struct ckptdb_inferred_info {
    size_t rules, old_names; /* numbers of rules, and of tensors of a */
    const char *dialect;
    const char *map; /* as a JSON file for ckptdb_map_load() */
};
const struct ckptdb_inferred_info *ckptdb_inferred_info(const ckptdb_inferred *);

struct ckptdb_pair {
    /* "content", "name", "guess"; "dropped", "missing": only one side has it */
    const char *how;
    const char *old_name, *new_name; /* NULL: none */
};
void ckptdb_inferred_pairs(const ckptdb_inferred *,
                           bool (*each)(void *context, const struct ckptdb_pair *), void *context);

struct ckptdb_rule {
    int64_t ord;
    const char *pattern, *replacement, *compute, *ops; /* NULL: none */
};
void ckptdb_inferred_rules(const ckptdb_inferred *,
                           bool (*each)(void *context, const struct ckptdb_rule *), void *context);

/* Store it under this name, as ckptdb_map_load() does. */
enum ckptdb_status ckptdb_inferred_keep(ckptdb *, const ckptdb_inferred *, const char *name,
                                        struct ckptdb_error *);

/* --- exporting ----------------------------------------------------------------------------- */

/* What an export wrote, or would. */
struct ckptdb_exported {
    const char *format;
    uint64_t tensors, nbytes, files; /* bytes of the tensors; chunk files are not counted */
};

/* An adapter (LoRA) that is merged into the tensors. */
struct ckptdb_merge {
    int64_t checkpoint;
    double factor; /* of its scale; 1: as its configuration says */
};

struct ckptdb_export_options {
    size_t size; /* of this struct */
    int64_t checkpoint;
    const char *names; /* regular expression, searched in the source's names; NULL: all */
    const char *where; /* SQL expression over the columns of `tensor`; NULL: all */
    const char *map;   /* new names, dtypes, shapes; NULL: none */
    int64_t target;    /* the model that an assigning map fills; 0: none */
    const char *sql;   /* SELECT of tensor_id, new_name [, dtype], in place of all above */
    /* "safetensors", "npz", ... (ckptdb_formats()); NULL: as the path ends */
    const char *format;
    const char *dtype; /* a floating-point one leaves integers alone; NULL: as stored */
    bool partial;      /* export what is whole of a damaged checkpoint */
    bool force;        /* replace what is there */
    bool no_sync;      /* do not wait until all is on the disk */
    bool dry_run;      /* check everything, write nothing */
    /* Leave out the source's own metadata, and where the export comes from */
    bool no_metadata;
    unsigned threads;            /* 0: one per core */
    uint64_t shard_size;         /* most bytes of tensors in a file; 0: one file */
    const char *const *metadata; /* key, value, ..., NULL; or NULL. GGUF: also "key:type" */
    const char *const *settings; /* the same: options of the format */
    /* With dry_run: the plan, as a statement with columns old_name, new_name, dtype, shape, nbytes,
     * which the callback steps and finalizes. NULL: none. */
    void (*planned)(void *context, struct sqlite3_stmt *rows);
    void *context;
    /* Then new names by Python's re.sub, one after the other: [["REGEX", "TEMPLATE"], ...]; NULL: none */
    const char *renames;
    struct ckptdb_exported *done;      /* filled in after it; or NULL */
    const struct ckptdb_merge *merges; /* adapters, merged in this order; NULL: none */
    size_t merge_count;
    /* More checkpoints, whose tensors follow `checkpoint`'s; selected, mapped and renamed as they are. NULL:
     * none. Without a query, a target and adapters */
    const int64_t *joined;
    size_t joined_count;
    /* Where tensors of several checkpoints get one name: "first" or "last" takes that checkpoint's; NULL: refused */
    const char *prefer;
    /* Checkpoints that are not read, and yet must not be written over; NULL: none */
    const int64_t *spared;
    size_t spared_count;
};

/* Write tensors to a file (or folder, or shards and index), which appears complete or not at
 * all. Everything is checked before the first byte is written; each reason for a refusal is reported to
 * the watch as a line, and the error follows (CKPTDB_UNSUPPORTED), which has the first reason if there is
 * no `say`. */
enum ckptdb_status ckptdb_export(ckptdb *, const char *path, const struct ckptdb_export_options *,
                                 struct ckptdb_error *);

/* "5GB", "500MiB", "1000": bytes; 0: not a size. */
uint64_t ckptdb_size(const char *text);

/* --- what the library knows ---------------------------------------------------------------- */

struct ckptdb_format {
    const char *name, *summary;
    const char *suffixes; /* separated by blanks, such as ".npy"; or "" */
    bool reads, writes;   /* neither: files of this kind are only counted */
    const char *options;  /* of an export: "key=values (what it does), ..."; "" */
    char separator;       /* in the names of its tensors: '/' or '.'; 0: none */
    const char *outputs;  /* the endings that choose it for an export, the usual first; or "" */
};

/* Whether there is such a dtype, by its name in the catalog or another that programs have for it, such as
 * "bf16", "F32", "torch.half" or "<f4", accepted wherever a dtype is. *nearest (or NULL)
 * is set to its name in the catalog; if it is unknown, to one that may be meant, or to NULL. */
bool ckptdb_dtype(const char *name, const char **nearest);

/* The dtypes that have a name of their own, until `each` returns false. */
void ckptdb_dtypes(bool (*each)(void *context, const char *name), void *context);

/* All formats, until `each` returns false. */
void ckptdb_formats(bool (*each)(void *context, const struct ckptdb_format *), void *context);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif

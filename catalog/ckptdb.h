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
 *   int main(int argc, char **argv) // FOLDER CHECKPOINT TENSOR
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
 *       if (argc != 4)
 *           return 2;
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
 * and is built by:  cc example.c $(pkg-config --cflags --libs libckptdb)
 *
 * Errors. Whatever can fail returns a status, 0 for success, and takes an error as its last
 * argument, which may be NULL and is cleared by the call. What is wrong with a checkpoint is no
 * error of its import: it is a row of the view `issue`, and the rest is imported.
 *
 * Threads. A ckptdb and what it lists is one thread's at a time; a program may open the same
 * catalog any number of times. A ckptdb_tensor and a ckptdb_stream are one thread's at a time too,
 * and independent of each other and, once open, of the catalog: open one a thread. The
 * library uses all cores by itself. Callbacks run on the calling thread unless they say otherwise,
 * and do not call back into the same ckptdb.
 *
 * Ownership. What is opened is closed by the function of that name, which takes NULL. Strings and
 * arrays in a struct that a callback gets are good until it returns; those of an open tensor until it
 * is closed. Text is UTF-8 and ends in a NUL; paths are bytes.
 *
 * ABI. All of it begins with ckptdb_ or CKPTDB_. In one libckptdb.so.N no function changes its
 * arguments or its meaning, no constant its value. Structs that a caller fills begin with their size:
 * a newer library takes an older, smaller one, and what is not there counts as 0. Structs that the
 * library hands out are only lengthened at their end. New values may join an enum: treat a status
 * that you do not know as an error. ckptdb_error never changes.
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

/* "0.1.0", of the library that runs. */
const char *ckptdb_version(void);

/* --- errors -------------------------------------------------------------------------------- */

enum ckptdb_status {
    CKPTDB_OK = 0,
    CKPTDB_CORRUPT,     /* bytes that contradict their format */
    CKPTDB_UNSUPPORTED, /* legal, but not something this library reads or writes */
    CKPTDB_LIMIT,       /* more than the library takes: the message names the limit */
    CKPTDB_MISSING,     /* there is no such file, checkpoint, tensor, map */
    CKPTDB_CHANGED,     /* a file is not the one that was indexed: import it again */
    CKPTDB_CHECKSUM,    /* data read does not have its recorded checksum */
    CKPTDB_VALUE,       /* a value does not fit the dtype asked for */
    CKPTDB_IO,          /* the system refused to read or write */
    CKPTDB_BUSY,        /* another program is writing the catalog */
    CKPTDB_MEMORY,      /* no memory */
    CKPTDB_ARGUMENT,    /* the caller asked for something that makes no sense */
    CKPTDB_INTERRUPTED, /* a `stop` said so */
};

#define CKPTDB_NO_OFFSET UINT64_MAX

struct ckptdb_error {
    enum ckptdb_status status;
    uint64_t offset;   /* byte in `source` where it was noticed; CKPTDB_NO_OFFSET: none */
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
    CKPTDB_CREATE, /* the same, made if it is not there */
    CKPTDB_USE,    /* must exist, is written, and not looked at before: opens at once */
};

/* `path` NULL: a new one in memory, gone when it is closed. CKPTDB_MISSING: there is none at
 * `path`; CKPTDB_ARGUMENT: what is there is no catalog, or a newer program's. */
enum ckptdb_status ckptdb_open(const char *path, enum ckptdb_mode, ckptdb **out,
                               struct ckptdb_error *);
void ckptdb_close(ckptdb *);

/* Its connection, with all views and SQL functions (schema/README.md lists them): whatever has no
 * function here is a query. It is closed with the catalog. */
struct sqlite3 *ckptdb_sqlite(ckptdb *);

/* Who looks on while long work runs. All may be NULL. */
struct ckptdb_watch {
    size_t size; /* of this struct */
    void *context;
    /* Asked often, from any thread, also by SQL statements; true ends the work with CKPTDB_INTERRUPTED. */
    bool (*stop)(void *context);
    /* How far the work has come; from any thread. `doing`: "looking" (files, total 0), "indexing"
     * (checkpoints), "waiting" (another program is writing; called once), "exporting" (bytes). */
    void (*progress)(void *context, const char *doing, uint64_t done, uint64_t total);
    /* A line worth knowing that is no error, or one of several reasons for the error that follows. */
    void (*say)(void *context, const char *line);
};

/* Until the next call of it. NULL: nobody. */
void ckptdb_watch(ckptdb *, const struct ckptdb_watch *);

/* --- importing ----------------------------------------------------------------------------- */

/* A checkpoint that an import found. */
struct ckptdb_found {
    const char *path, *format;
    bool known, unchanged; /* catalogued before; as it was then */
};

/* Something that is wrong with what was imported: a row of the view `issue`. */
struct ckptdb_issue {
    const char *severity; /* "error" or "warning" */
    const char *code;     /* "truncated", "vanished", ... */
    const char *path, *message;
    int64_t offset;         /* in the file; -1: none */
    const char *checkpoint; /* its path; NULL: it became none */
};

struct ckptdb_import_options {
    size_t size; /* of this struct */
    const char *const
        *paths; /* files, folders to be searched, prefixes of TensorFlow's */
    size_t path_count;
    unsigned threads; /* 0: four a core */
    bool prune;       /* drop checkpoints below the paths that are no longer there */
    bool follow;      /* enter linked folders */
    bool dry_run;     /* only find out what would be done */
    /* Called after the work: each checkpoint found, and each issue of what was imported. */
    void (*found)(void *context, const struct ckptdb_found *);
    void (*issue)(void *context, const struct ckptdb_issue *);
    void *context;
};

struct ckptdb_import_report {
    size_t size;               /* of this struct */
    uint64_t added, changed;   /* checkpoints; with dry_run those that would be */
    uint64_t unchanged;        /* not opened again */
    uint64_t failed;           /* files that are refused, now or by an earlier import */
    uint64_t vanished, pruned; /* no longer there; of them, dropped */
    uint64_t issues;
    char unread[512]; /* "2 TFLite files are not read"; else "" */
};

/* Headers and indexes are read, never weights; what has not changed is not opened. CKPTDB_MISSING:
 * a path does not exist, and nothing was done. CKPTDB_INTERRUPTED: what was finished is in the
 * catalog. The report may be NULL; it is filled in every case. */
enum ckptdb_status ckptdb_import(ckptdb *, const struct ckptdb_import_options *,
                                 struct ckptdb_import_report *, struct ckptdb_error *);

/* CKPTDB_MISSING where an import of this path would not find it. */
enum ckptdb_status ckptdb_import_find(const char *path, struct ckptdb_error *);

/* Drop checkpoints from the catalog; their files stay. */
enum ckptdb_status ckptdb_forget(ckptdb *, const int64_t *checkpoints, size_t count,
                                 struct ckptdb_error *);

/* Files were moved: change the beginning of paths from `old` to `new`, which may be relative. Nothing on
 * disk is touched. *checkpoints (NULL: not wanted) says how many moved, or would; CKPTDB_MISSING: none. */
enum ckptdb_status ckptdb_relocate(ckptdb *, const char *old, const char *new_place,
                                   bool dry_run, uint64_t *checkpoints,
                                   struct ckptdb_error *);

/* --- finding ------------------------------------------------------------------------------- */

/* The checkpoint that a person means: its name, an id, a path or its last components, a folder that
 * holds just one, RUN@STEP or RUN@latest, either with :ITEM. In `ids` there is room for so many
 * (at least 1). OK: the one that it is. CKPTDB_ARGUMENT: it names several; CKPTDB_MISSING: none, and
 * perhaps there are steps near the one asked for: these are then in `ids`, as far as there is room,
 * and *count (NULL: not wanted) says how many there are. */
enum ckptdb_status ckptdb_find(ckptdb *, const char *name, int64_t *ids, size_t room,
                               size_t *count, struct ckptdb_error *);

/* The tensor of this name. */
enum ckptdb_status ckptdb_find_tensor(ckptdb *, int64_t checkpoint, const char *name,
                                      int64_t *id, struct ckptdb_error *);

#define CKPTDB_RANK_MAX 254

struct ckptdb_tensor_info {
    int64_t id;
    const char *name;
    const char
        *dtype; /* NumPy's and ml_dtypes' word: "bfloat16"; "string"; "unknown(...)" */
    unsigned rank;
    const uint64_t *shape; /* outermost first */
    uint64_t elements;
    uint64_t nbytes; /* logical; 0 where the dtype has no size */
};

/* All tensors of a checkpoint in the file's own order, until `each` returns false. */
enum ckptdb_status ckptdb_tensors(ckptdb *, int64_t checkpoint,
                                  bool (*each)(void *context,
                                               const struct ckptdb_tensor_info *),
                                  void *context, struct ckptdb_error *);

/* --- reading ------------------------------------------------------------------------------- */

typedef struct ckptdb_tensor ckptdb_tensor;

/* Opens no file: what is wrong with those, reading says. */
enum ckptdb_status ckptdb_tensor_open(ckptdb *, int64_t id, ckptdb_tensor **out,
                                      struct ckptdb_error *);
/* What a map makes of the checkpoint under this name: renamed, reshaped, stacked, cut. */
enum ckptdb_status ckptdb_tensor_open_mapped(ckptdb *, const char *map,
                                             int64_t checkpoint, const char *new_name,
                                             ckptdb_tensor **out, struct ckptdb_error *);
void ckptdb_tensor_close(ckptdb_tensor *);

const struct ckptdb_tensor_info *ckptdb_tensor_info(const ckptdb_tensor *);

/* Where its bytes lie, as JSON for ckptdb_free(): {"plain": whether they are one run without checksums,
 * "count": how many extents there are, "codec", "strides", "extents": [{"file", "offset", "stored",
 * "origin", "shape", "checksum", ...}] (the first `most`), "files": [...]}. */
enum ckptdb_status ckptdb_tensor_places(const ckptdb_tensor *, uint64_t most, char **json,
                                        struct ckptdb_error *);

/* One a dimension: elements start, start + step, ... `count` of them; a step may be negative. */
struct ckptdb_slice {
    uint64_t start, count;
    int64_t step;
};

/* NumPy's spelling ("1:3, :, -1, ..., ::2", without brackets): fills a slice a dimension. An integer is
 * a slice of one; drop[d] (NULL: not wanted) says that NumPy would drop that dimension. */
enum ckptdb_status ckptdb_slice_parse(const ckptdb_tensor *, const char *text,
                                      struct ckptdb_slice *slices, bool *drop,
                                      struct ckptdb_error *);

/* Bytes that reading a part as this dtype gives. Below and here: `slices` NULL is all of the tensor;
 * `dtype` NULL its own. */
enum ckptdb_status ckptdb_read_size(const ckptdb_tensor *, const struct ckptdb_slice *,
                                    const char *dtype, uint64_t *bytes,
                                    struct ckptdb_error *);

/* The elements, C order, little-endian, packed, into exactly `size` bytes. Only the bytes that the
 * slices touch are read; files are checked to be those that were indexed. A narrower float is
 * rounded to nearest even; integers must fit (CKPTDB_VALUE); blocks are dequantised for a dtype
 * that is not theirs. Checksums that the files state are verified where all is read. */
enum ckptdb_status ckptdb_read(const ckptdb_tensor *, const struct ckptdb_slice *,
                               const char *dtype, void *buffer, uint64_t size,
                               struct ckptdb_error *);

/* The same little by little, in memory that does not grow with the tensor. */
typedef struct ckptdb_stream ckptdb_stream;
enum ckptdb_status ckptdb_stream_open(const ckptdb_tensor *, const struct ckptdb_slice *,
                                      const char *dtype, ckptdb_stream **out,
                                      struct ckptdb_error *);
/* The next bytes, whole elements, good until the next call; *len 0 at the end. */
enum ckptdb_status ckptdb_stream_next(ckptdb_stream *, const void **bytes, size_t *len,
                                      struct ckptdb_error *);
void ckptdb_stream_close(ckptdb_stream *);
uint64_t ckptdb_stream_size(const ckptdb_stream *); /* bytes of all together */

/* In place of a dtype: elements that have a byte each where others pack them, as those bytes. */
#define CKPTDB_AS_STORED "as stored"

/* The strings of a tensor of dtype "string", in C order, until `each` returns false; they may hold
 * NULs and are no text by necessity. */
enum ckptdb_status ckptdb_strings(const ckptdb_tensor *,
                                  bool (*each)(void *context, uint64_t index,
                                               const void *bytes, size_t len),
                                  void *context, struct ckptdb_error *);

/* Elements as text, at any position of the tensor or of its slices (which must outlive it). What has no
 * numbers of its own, as blocks, is spelled as float32. `near`: how many elements are read at once. */
typedef struct ckptdb_cells ckptdb_cells;
enum ckptdb_spelling {
    CKPTDB_AS_TEXT, /* 1.5, nan, True, 1.0+2.0j, "text" */
    CKPTDB_AS_JSON, /* NaN and infinities null, complex [re,im], {"hex": ...} for other bytes */
    CKPTDB_AS_CSV, /* as text, strings quoted where they must be */
};
enum ckptdb_status ckptdb_cells_open(const ckptdb_tensor *, const struct ckptdb_slice *,
                                     const char *dtype, unsigned near, ckptdb_cells **out,
                                     struct ckptdb_error *);
uint64_t ckptdb_cells_count(const ckptdb_cells *);
/* The element at a position in C order; good until the next call. */
enum ckptdb_status ckptdb_cell(ckptdb_cells *, uint64_t position, enum ckptdb_spelling,
                               const char **text, size_t *len, struct ckptdb_error *);
/* All elements were read, in order: verify the checksums. */
enum ckptdb_status ckptdb_cells_verify(ckptdb_cells *, struct ckptdb_error *);
void ckptdb_cells_close(ckptdb_cells *);

/* What makes raw elements in C order a .npy file: memory for ckptdb_free(). */
enum ckptdb_status ckptdb_npy_header(const char *dtype, const uint64_t *shape,
                                     unsigned rank, char **header, size_t *len,
                                     struct ckptdb_error *);

/* A file that appears under its name whole or not at all; what was not finished is gone with the
 * close. CKPTDB_ARGUMENT: there is something already. */
typedef struct ckptdb_file ckptdb_file;
enum ckptdb_status ckptdb_file_create(const char *path, ckptdb_file **out,
                                      struct ckptdb_error *);
enum ckptdb_status ckptdb_file_write(ckptdb_file *, const void *bytes, size_t len,
                                     struct ckptdb_error *);
enum ckptdb_status ckptdb_file_finish(ckptdb_file *, struct ckptdb_error *);
void ckptdb_file_close(ckptdb_file *);

/* --- what tensors hold --------------------------------------------------------------------- */

struct ckptdb_content_options {
    size_t size; /* of this struct */
    const int64_t *checkpoints;
    size_t count;
    unsigned threads; /* 0: one a core */
    bool again;       /* also what is known */
    bool twins;       /* hashing: only tensors that could have an equal one */
    bool quick;       /* verifying: headers and indexes alone */
    const char *
        names; /* statistics: only tensors in whose name this regex is found; NULL: all */
    /* SHA-256: gets 64 hex digits. */
    void (*sum)(void *context, const char *hex, const char *name);
    void *context;
};

/* What comes of all of these is kept in the catalog, little by little: after CKPTDB_INTERRUPTED they go
 * on where they were. Tensors that cannot be read are said to the watch, and *all (NULL: not wanted)
 * is false. Progress is "hashing", "reading", "SHA-256", "verifying" (bytes) or "checking"
 * (checkpoints).
 *
 * Of a catalog that was opened with CKPTDB_READ nothing is kept, which is said to the watch: the results
 * are in the views of this connection alone, which show none of other checkpoints, until
 * ckptdb_content_forget() or the next of these. */
void ckptdb_content_forget(ckptdb *);

/* Hashes of tensors and checkpoints: columns `hash`, views `content`, `duplicate`. */
enum ckptdb_status ckptdb_hash(ckptdb *, const struct ckptdb_content_options *, bool *all,
                               struct ckptdb_error *);
/* Least, greatest, mean, ...: view `stats`. */
enum ckptdb_status ckptdb_statistics(ckptdb *, const struct ckptdb_content_options *,
                                     bool *all, struct ckptdb_error *);
/* Headers anew, checksums, hashes: what is wrong is in the view `damage`. *skipped (NULL: not wanted):
 * checkpoints that were verified before an interruption. CKPTDB_UNSUPPORTED: a catalog in memory. */
enum ckptdb_status ckptdb_verify(ckptdb *, const struct ckptdb_content_options *,
                                 uint64_t *skipped, struct ckptdb_error *);
/* The SHA-256 of each tensor of one checkpoint that has bytes, in the file's order, to `sum`; nothing is
 * kept. */
enum ckptdb_status ckptdb_sha256(ckptdb *, const struct ckptdb_content_options *,
                                 bool *all, struct ckptdb_error *);

/* Who is told how much of two tensors the SQL function tensor_distance(a, b, dtype, reading) has read:
 * bound by sqlite3_bind_pointer() as a "ckptdb_reading". Bytes of both, and since it was last told. */
struct ckptdb_reading {
    void (*read)(void *context, uint64_t bytes);
    void *context;
};

/* --- maps ---------------------------------------------------------------------------------- */

/* What a map makes of one name. What is not known is NULL. */
struct ckptdb_mapped {
    const char *old_name, *new_name;
    const char
        *status; /* "ok", "error", "unmatched", "dropped", ...: schema/rules/README.md */
    const char *dtype, *shape; /* of what comes of it; the shape as JSON */
    const char *error;
};

struct ckptdb_map_options {
    size_t size; /* of this struct */
    const char *map;
    int64_t checkpoint;
    int64_t target; /* the model whose names an assigning map fills; else 0 */
    bool (*each)(void *context,
                 const struct ckptdb_mapped *); /* until it returns false */
    void *context;
};

/* Run a map on a checkpoint. */
enum ckptdb_status ckptdb_map(ckptdb *, const struct ckptdb_map_options *,
                              struct ckptdb_error *);

/* What maps of a dialect (column `dialect` of `ruleset`) do to a checkpoint. */
enum ckptdb_dialect_kind {
    CKPTDB_DIALECT_UNKNOWN, /* this library does not run it */
    CKPTDB_TRANSLATES,      /* give its tensors other names */
    CKPTDB_CONVERTS,        /* make others of them, too: transposed, stacked, cut */
    CKPTDB_ASSIGNS,         /* fill the names of a target */
};
enum ckptdb_dialect_kind ckptdb_dialect(const char *name);

/* Give a map a number that a checkpoint does not state, whatever the checkpoint, until
 * ckptdb_map_unset() (`map run --set`). `map` NULL: whichever has such a setting. CKPTDB_ARGUMENT:
 * none has, or it wants a number. */
enum ckptdb_status ckptdb_map_set(ckptdb *, const char *map, const char *key,
                                  const char *value, struct ckptdb_error *);
void ckptdb_map_unset(ckptdb *);

/* Whether the files beside a checkpoint that the map takes numbers from are those that were indexed;
 * else CKPTDB_CHANGED. */
enum ckptdb_status ckptdb_map_current(ckptdb *, const char *map, int64_t checkpoint,
                                      struct ckptdb_error *);

/* Keep the map that a text makes (SQL, JSON, gin, key_mapping, ...; which is seen from the text)
 * under this name, in place of one that is called so. `path` is for messages. */
enum ckptdb_status ckptdb_map_load(ckptdb *, const char *name, const char *text,
                                   size_t len, const char *path, struct ckptdb_error *);
/* Write it in one of these forms ("json", "gin", ...): memory for ckptdb_free(). CKPTDB_UNSUPPORTED:
 * there is no such form, or it cannot hold the map: the message says which can. */
enum ckptdb_status ckptdb_map_write(ckptdb *, const char *name, const char *form,
                                    char **text, size_t *len, struct ckptdb_error *);
void ckptdb_free(void *);

/* The map that makes the names of checkpoint b of those of a, found by what their tensors hold (hashes
 * that the catalog has: ckptdb_hash() makes them), by names and by shapes. Independent of the catalog
 * once made. */
typedef struct ckptdb_inferred ckptdb_inferred;
enum ckptdb_status ckptdb_infer(ckptdb *, int64_t a, int64_t b, ckptdb_inferred **out,
                                struct ckptdb_error *);
/* The same on so many threads; 0: one a core, as above. */
enum ckptdb_status ckptdb_infer_on(ckptdb *, int64_t a, int64_t b, unsigned threads,
                                   ckptdb_inferred **out, struct ckptdb_error *);
void ckptdb_inferred_close(ckptdb_inferred *);

struct ckptdb_inferred_info {
    size_t rules, old_names; /* how many rules, and tensors of a */
    const char *dialect;
    const char *map; /* as a file of JSON, for ckptdb_map_load() */
};
const struct ckptdb_inferred_info *ckptdb_inferred_info(const ckptdb_inferred *);

struct ckptdb_pair {
    const char
        *how; /* "content", "name", "guess"; "dropped", "missing": only one side has it */
    const char *old_name, *new_name; /* NULL: none */
};
void ckptdb_inferred_pairs(const ckptdb_inferred *,
                           bool (*each)(void *context, const struct ckptdb_pair *),
                           void *context);

struct ckptdb_rule {
    int64_t ord;
    const char *pattern, *replacement, *compute, *ops; /* NULL: none */
};
void ckptdb_inferred_rules(const ckptdb_inferred *,
                           bool (*each)(void *context, const struct ckptdb_rule *),
                           void *context);

/* Keep it under this name, as ckptdb_map_load() does. */
enum ckptdb_status ckptdb_inferred_keep(ckptdb *, const ckptdb_inferred *,
                                        const char *name, struct ckptdb_error *);

/* --- exporting ----------------------------------------------------------------------------- */

struct ckptdb_export_options {
    size_t size; /* of this struct */
    int64_t checkpoint;
    const char *names; /* regular expression, searched in the source's names; NULL: all */
    const char *where; /* SQL expression over the columns of `tensor`; NULL: all */
    const char *map;   /* new names, dtypes, shapes; NULL: none */
    int64_t target;    /* the model that an assigning map fills; 0: none */
    const char *sql; /* SELECT of tensor_id, new_name [, dtype], in place of all above */
    const char *
        format; /* "safetensors", "npz", "npy", "zarr", "zarr3"; NULL: as the path ends */
    const char *dtype; /* a floating-point one leaves integers alone; NULL: as stored */
    bool partial;      /* of a damaged checkpoint, what is there */
    bool force;        /* write over what is there */
    bool no_sync;      /* do not wait until all is on the disk */
    bool dry_run;      /* check everything, write nothing */
    bool
        no_metadata; /* leave out the source's own metadata, and where the export comes from */
    unsigned threads;            /* 0: one a core */
    uint64_t shard_size;         /* most bytes of tensors in a file; 0: one file */
    const char *const *metadata; /* key, value, ..., NULL; or NULL */
    const char *const *settings; /* the same: what only one format has to choose */
    /* The plan, with dry_run: a statement over old_name, new_name, dtype, shape, nbytes, which the
     * callee steps and finalizes. NULL: not wanted. */
    void (*planned)(void *context, struct sqlite3_stmt *rows);
    void *context;
};

/* Write tensors to a file (or folder, or shards and index), which appears whole or not at all.
 * Everything is checked before the first byte is written: the reasons of a refusal are said to the watch,
 * a line each, and the error follows. */
enum ckptdb_status ckptdb_export(ckptdb *, const char *path,
                                 const struct ckptdb_export_options *,
                                 struct ckptdb_error *);

/* "5GB", "500MiB", "1000": bytes; 0: not a size. */
uint64_t ckptdb_size(const char *text);

/* --- what the library knows ---------------------------------------------------------------- */

struct ckptdb_format {
    const char *name, *summary;
    const char *suffixes; /* " "-separated, as ".npy"; "" */
    bool reads, writes;   /* neither: files of this kind are counted, and passed over */
    const char *options;  /* of an export: "key=values (what it does), ..."; "" */
    char separator;       /* of the names of tensors that it reads: '/' or '.'; else 0 */
};

/* Whether there is such a dtype; if not, *nearest (NULL: not wanted) is one that may be meant, or NULL:
 * float16 for "fp16". */
bool ckptdb_dtype(const char *name, const char **nearest);

/* The dtypes that have a name of their own, until `each` returns false. */
void ckptdb_dtypes(bool (*each)(void *context, const char *name), void *context);

/* All formats, until `each` returns false. */
void ckptdb_formats(bool (*each)(void *context, const struct ckptdb_format *),
                    void *context);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif

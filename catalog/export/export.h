/*
 * export.h - writing a selection of tensors to a file.
 *
 * The plan is complete before the first byte is written: every new name, dtype, shape and
 * size is known, collisions and changed sources have been refused. A format lays the file
 * out (its header bytes, and where each tensor's data goes); the core streams the data
 * there on all cores in bounded memory, into a file that gets its name at the end
 * (output.h). A format does no I/O.
 *
 * To add a format: one file NAME.c, one line in exports.def.
 *
 * Memory does not grow with the number of tensors: they are rows (rows.h), and
 * everything else about a tensor is loaded when its turn comes, and dropped.
 */
#ifndef CKPTDB_EXPORT_EXPORT_H
#define CKPTDB_EXPORT_EXPORT_H

#include <stdatomic.h>

#include "catalog/base/text.h"
#include "catalog/convert/convert.h"
#include "catalog/export/rows.h"
#include "catalog/read/read.h"
#include "catalog/store/output.h"

/* One file to be written. */
struct export_file {
    const char *path;
    struct export_span span;     /* of the placed tensors */
    uint64_t count;              /* of them */
    const char *const *metadata; /* key, value, key, value, ..., NULL; sorted by key */
    /* Kept by the format from its first place() on, zero before: */
    uint64_t data_end;  /* of the tensors so far */
    uint64_t table_len; /* bytes of the table so far */
    uint64_t entries;   /* of the table, written in this turn */
    /* Set by finish(): */
    uint64_t base;     /* added to the offsets of all tensors */
    uint64_t size;     /* of the whole file */
    char warning[256]; /* "": none */
};

/* A file is a table of its tensors and their data. The table stands before the data or behind
 * it, is told tensor by tensor, and never as a whole in memory. */
struct exporter {
    const char *name;   /* "safetensors" */
    const char *suffix; /* ".safetensors" */
    const char *summary;
    uint64_t most; /* tensors of one file; 0: any number */
    const char
        *same_key;   /* readers take a name with this suffix for the one without; NULL */
    bool table_last; /* it stands behind the data */
    bool wants_crc32;
    /* Add why the format cannot hold this tensor to `why`; *instead is set to a dtype that
     * it could have, if there is one like it. */
    bool (*holds)(const struct export_tensor *, struct text *why, const char **instead);
    /* Data is ordered by the rank of its dtype (NULL: all the same), then by name. */
    unsigned (*rank)(const struct dtype *);
    /* In that order: find a tensor's place (offset, lead_len); then that of all is known. */
    enum status (*place)(struct export_file *, struct export_tensor *, struct error *err);
    enum status (*finish)(struct export_file *, struct error *err);
    /* Append the table's beginning, a tensor's entry (the checksums are known where the table
     * stands last), its end. begin, end: NULL for nothing. */
    bool (*begin)(struct export_file *, struct text *out);
    bool (*entry)(struct export_file *, const struct export_tensor *, struct text *out);
    bool (*end)(struct export_file *, struct text *out);
    /* Append what stands right before a tensor's data, when that is written. NULL: nothing. */
    bool (*lead)(const struct export_tensor *, struct text *out);
};

extern const struct exporter *const exporters[]; /* ends in NULL */

/* A dtype that every format has and whose values include those of `d`, or come near them;
 * NULL for what is no number. */
const char *export_dtype_instead(const struct dtype *d);

/* By name, or by the suffix of a path; NULL. */
const struct exporter *exporter_find(const char *name);
const struct exporter *exporter_for_path(const char *path);

/* Why an export is refused: a line each, the first REFUSALS_SHOWN of them kept. */
#define REFUSALS_SHOWN 20
struct refusals {
    struct text lines;
    uint64_t count;
};
void refuse(struct refusals *, const char *fmt, ...) PRINTF_LIKE(2, 3);
void refusals_release(struct refusals *);

/* Finds everything about a stored tensor, or about what a recipe (catalog/compose/compose.h)
 * makes, if it is not NULL; `out` lives in `arena`. Several load() in a row
 * stand between begin() and end() (NULL: none needed). */
struct export_loader {
    enum status (*begin)(void *context, struct error *err);
    void (*end)(void *context);
    enum status (*load)(void *context, int64_t id, const char *recipe,
                        struct arena *arena, struct stored_tensor *out,
                        struct error *err);
    void *context;
};

struct export_plan {
    struct arena arena; /* of the plan as a whole */
    struct export_loader loader;
    struct export_rows *rows; /* NULL: nothing was added yet */
    uint64_t count, inexact;  /* tensors; of them, floating-point, complex and blocks */
    const char *cast;         /* dtype for all, see export_plan_cast(); NULL: none */
    uint64_t uncast;          /* tensors that `cast` left alone */
    struct text last_name, last_shape; /* what was added last: its old name; JSON */
    struct file_cache *files;          /* open ones, for all tensors */
    struct refusals refusals;
};

/* Add a tensor, or what a recipe makes (NULL: none), under a new name (copied); `dtype` NULL: as
 * stored. What is wrong with it or
 * its files goes to the refusals; fails only with ERR_MEMORY. */
enum status export_plan_add(struct export_plan *, int64_t id, const char *recipe,
                            const char *new_name, const char *dtype, struct error *err);

/* Convert to `dtype`. To a floating-point or complex one: the floating-point, complex and
 * block tensors, while integers, bools and the rest keep theirs, as T5X and PyTorch do it
 * (positions and step counters do not survive in bfloat16), unless there are only
 * those. To any other: all tensors. */
enum status export_plan_cast(struct export_plan *, const char *dtype, struct error *err);

/* What is wrong with the whole: nothing or too much selected, names used twice, what the
 * format cannot hold, conversions that do not exist. To the refusals. */
enum status export_plan_check(struct export_plan *, const struct exporter *,
                              struct error *err);

void export_plan_release(struct export_plan *);

struct export_options {
    bool force;          /* write over what is there */
    bool sync;           /* return when everything is on the disk */
    unsigned threads;    /* 0: one a core */
    uint64_t shard_size; /* most bytes of tensors in a file; 0: one file */
    const char *const *metadata;
    const struct output_io *io;    /* NULL: the system's */
    const atomic_int *interrupted; /* NULL: never */
    void (*progress)(void *context, uint64_t done,
                     uint64_t total); /* any thread; or NULL */
    void *progress_context;
    /* Whether a path may be written to; asked for each before anything is. NULL: any. */
    enum status (*guard)(void *context, const char *path, struct error *err);
    void *guard_context;
    char *warning; /* 256 bytes, for what is odd but done; or NULL */
};

/* Lay the plan out and, unless `dry`, write it to `path`; several files and an index beside
 * it with shard_size. ERR_ARGUMENT where the output is in the way. */
enum status export_write(struct export_plan *, const struct exporter *, const char *path,
                         const struct export_options *, bool dry, struct error *err);

#endif

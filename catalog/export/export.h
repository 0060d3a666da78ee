/*
 * export.h - writing a selection of tensors to files.
 *
 * The plan is complete before the first byte is written: every new name, dtype and shape is
 * known; collisions and changed sources have been refused. A format lays the files out
 * (export_layout.h): which text, which tensor's bytes and which checksums go where. The core then
 * streams the data there on all cores, in bounded memory, into files that get their names
 * at the end (catalog/data/store/output.h, staging.h). A format does no I/O.
 *
 * To add a format: one file NAME.c, one line in exports.def.
 *
 * The plan is an array in memory, a few hundred bytes a tensor. What the look-ups find is kept
 * beside it up to a limit; beyond it a tensor is looked up again when its turn comes. Headers and
 * other texts are made twice, once to measure and once to write them, and never kept.
 */
#pragma once

#include "catalog/base/strmap.h"
#include "catalog/base/text.h"
#include "catalog/data/convert/convert.h"
#include "catalog/data/convert/loss.h"
#include "catalog/data/read/read.h"
#include "catalog/data/store/output.h"
#include "catalog/export/refuse.h"

struct export_layout;
struct export_metadata;
struct export_plan;
struct export_options;
struct rename;

struct export_place {
    uint64_t at, len;
};

struct export_tensor {
    int64_t id;
    const char *recipe; /* of a composed tensor that is to be looked up again; else NULL */
    const char *name;   /* new name */
    const char *old_name;
    const char *checkpoint; /* path of its source */
    unsigned joined;        /* which of the checkpoints that are joined has it */
    struct dtype from, to;  /* as stored, as written */
    const uint64_t *shape;
    unsigned rank;
    uint32_t source_file;   /* where its first byte lies now, for reading in that order: */
    uint64_t source_offset; /* position in the checkpoint's files, byte */
    uint64_t elements;
    uint64_t nbytes;                    /* as written; set by export_plan_check() */
    const struct stored_tensor *stored; /* what the look-up found; NULL: it was not kept */
    bool plain;                         /* one run of a file as it is, in C order */
    /* An earlier one of the same bytes and dtype, for formats with `ties`; NULL: none. Its shape may differ */
    const struct export_tensor *twin;
    /* Set by export_layout.h: */
    bool tied;         /* its bytes are its twin's */
    uint64_t number;   /* in the order of the places */
    uint32_t file;     /* which of the files that are written, */
    uint32_t lead_len; /* bytes right before its data that are about it (a header of its own) */
    uint64_t offset;   /* and where in it its data begins; */
    uint64_t piece;    /* elements of a piece; each piece is a file; 0: not cut up */
    uint64_t run;      /* elements after which a new piece begins: one that would go past
                          it is filled up with zeros */
    uint64_t laid;     /* bytes of its strings: nbytes is 0 */
    /* Of a tensor in chunks: their shape; and where each lies in the file, once they are written */
    const uint64_t *chunk;
    struct export_place *places;
    uint32_t sum; /* of its data, once that is written, as the layout says */
};

/* An option of one format: --option KEY=VALUE. */
struct export_setting {
    const char *key, *values, *summary; /* with the default */
};

/* Metadata in the bytes of its format. */
struct export_description {
    struct bytes bytes;
    uint64_t count; /* of the pairs */
    /* A vector of float32 that goes along with the plan's tensors, as metadata does. NULL: none. */
    const char *tensor;
    struct bytes values;
};

/* The sources of such metadata. */
struct export_subject {
    struct sqlite3 *db;        /* the catalog; */
    const int64_t *checkpoint; /* whose own facts go along, the preferred one last */
    size_t checkpoints;
    const struct export_plan *plan;         /* checked */
    const struct export_metadata *metadata; /* in their order, the last of a key counts */
    void (*say)(void *context, const char *line);
    void *context;
};

struct exporter {
    const char *name;                 /* "safetensors" */
    const char *suffix;               /* ".safetensors" */
    const char *const *more_suffixes; /* that choose the format, too, ending in NULL; NULL: none */
    const char *summary;
    const struct export_setting *settings; /* end with a NULL key; NULL: none */
    const char *repeats;             /* the setting that may be stated several times; NULL: none */
    uint64_t most;                   /* tensors of one export; 0: any number */
    bool parts;                      /* it can be split into several files */
    bool ties;                       /* two tensors can have the same bytes */
    bool keeps_metadata;             /* it can hold metadata, and always writes: */
    const char *const *own_metadata; /* key, value, ..., NULL. NULL: nothing */
    /* For formats whose metadata has types: make the description that lay_out() gets with the options. ERR_ARGUMENT:
     * the user stated something impossible. NULL: metadata is texts. */
    enum status (*describe)(const struct export_subject *, struct arena *,
                            struct export_description *out, struct error *err);
    /* The output is a folder. Every such folder has one of these files (NULL-terminated): only a
     * folder that has one is ever replaced. NULL: the output is files. */
    const char *const *folder_marks;
    /* Change the dtypes of tensors as the settings say, before the plan is checked. NULL: none does. */
    void (*retype)(struct export_plan *, const char *const *settings, struct error *err);
    /* Whether the format can hold this tensor. If not, the reason is added to `why`, and
     * *instead is set to a similar dtype that it can hold, if there is one. */
    bool (*holds)(const struct export_tensor *, struct text *why, const char **instead);
    /* Refuse problems with the names as a whole. NULL: there can be none. */
    void (*check)(struct export_plan *, struct error *err);
    /* Say what the files are (export_layout.h). Called twice, with the same result. */
    void (*lay_out)(struct export_layout *);
    /* For tensors that lay_pieces() has split: append the path of a piece in the folder, and
     * the chain that encodes it (catalog/data/codec/encode.h), as it does the chunks of lay_chunks(). */
    void (*piece_path)(const struct export_options *, const struct export_tensor *, uint64_t piece,
                       struct text *out);
    void (*piece_chain)(const struct export_options *, const struct export_tensor *,
                        struct text *out);
};

extern const struct exporter *const exporters[]; /* ends in NULL */

/* A common dtype that holds the values of `d`, or comes close; NULL if `d` is not a number. A
 * format that cannot hold it either may still name it: nobody is then told to convert. */
const char *export_dtype_instead(const struct dtype *d);

/* By name, or by the suffix of a path; NULL. */
const struct exporter *exporter_find(const char *name);
const struct exporter *exporter_for_path(const char *path);
/* The suffix of the format that a path has; NULL. */
const char *exporter_suffix(const struct exporter *, const char *path);

/* load() finds everything about a stored tensor, or about what a recipe (catalog/data/compose/compose.h)
 * makes, if that is not NULL; `out` lives in `arena`. One thread at a time. */
struct export_loader {
    enum status (*load)(void *context, int64_t id, const char *recipe, struct arena *arena,
                        struct stored_tensor *out, struct error *err);
    void *context;
};

struct export_plan {
    struct arena arena; /* of the plan as a whole */
    struct arena found; /* what look-ups found */
    struct export_loader loader;
    struct export_tensor *tensor; /* in the order of the selection */
    size_t count, space;
    struct export_tensor **order; /* the same as export_order() left them; NULL: not yet */
    /* The paths of the checkpoints that they are from */
    const char **checkpoint;
    size_t checkpoints, checkpoint_space;
    struct strmap checkpoint_index;
    unsigned joined;          /* checkpoints joined before the one whose tensors are being added */
    uint64_t inexact;         /* floating-point, complex and block tensors */
    const char *cast;         /* dtype for all, see export_plan_cast(); NULL: none */
    uint64_t uncast;          /* tensors that `cast` left alone */
    bool partial;             /* leave out tensors without bytes, do not refuse them */
    struct refusals left_out; /* what was left out, and what was of no use */
    uint64_t lossy;           /* tensors whose conversion can lose numbers */
    struct file_cache *files; /* open ones, for all tensors */
    struct refusals refusals;
};

/* Add a tensor, or what a recipe makes (NULL: none), under a new name (copied); `dtype` NULL: as
 * stored. Problems with it or its files become refusals; fails only with ERR_MEMORY. */
enum status export_plan_add(struct export_plan *, int64_t id, const char *recipe,
                            const char *new_name, const char *dtype, struct error *err);

/* The export also reads this checkpoint, and must not write over it. */
void export_plan_reads(struct export_plan *, const char *path, struct error *err);

/* Convert to `dtype`. To a floating-point or complex one: the floating-point, complex and
 * block tensors, while integers, bools and the rest keep theirs, as T5X and PyTorch do it
 * (positions and step counters do not survive in bfloat16), unless there are only
 * those. To any other: all tensors. */
enum status export_plan_cast(struct export_plan *, const char *dtype, struct error *err);

/* Give them the names that a rename makes. Returns whether any changed. */
bool export_plan_rename(struct export_plan *, const struct rename *, struct error *err);

/* Where joined checkpoints share a tensor's name, keep the first's or the last's. */
void export_plan_prefer(struct export_plan *, bool last, struct error *err);

/* Refuse problems with the whole: nothing or too much selected, names used twice, tensors that the format
 * cannot hold, conversions that do not exist. */
enum status export_plan_check(struct export_plan *, const struct exporter *, struct error *err);

/* All tensors in an order; equal ones as in the selection. Valid until the next call. NULL without
 * memory. */
typedef int export_comparison(const struct export_tensor *, const struct export_tensor *);
struct export_tensor **export_order(struct export_plan *, export_comparison *, struct error *err);
/* By new name, bytewise; by_tree: with '/' before all other characters, so that what is below a name
 * follows it. */
int export_by_name(const struct export_tensor *, const struct export_tensor *);
int export_by_tree(const struct export_tensor *, const struct export_tensor *);
/* As they lie on the disk. */
int export_by_source(const struct export_tensor *, const struct export_tensor *);

/* A `check` for formats that are trees, where each '/' in a name is one level: refuse more levels than
 * readers take, and a tensor below another one, as no node is both. A tensor called "" is the root, and must be the only one. */
void export_check_tree(struct export_plan *, struct error *err);

void export_plan_release(struct export_plan *);

#define EXPORT_WARNING_BYTES 256

/* What conversions lost. */
struct export_loss {
    struct loss all;
    uint64_t tensors; /* that lost something */
    char first[200];  /* the first of their names, cut to fit */
};

/* What was written, or would be. */
struct export_sum {
    uint64_t nbytes, files; /* of the tensors; with their pieces */
};

struct export_options {
    bool force;                            /* replace what is there */
    bool sync;                             /* return when everything is on the disk */
    unsigned threads;                      /* 0: one per core */
    uint64_t shard_size;                   /* most bytes of tensors in a file; 0: one file */
    const char *const *metadata;           /* key, value, ..., NULL; sorted by key. NULL: none */
    const char *const *settings;           /* key, value, ..., NULL, of the exporter. NULL: none */
    struct export_description description; /* of a format that describes */
    const struct output_io *io;            /* NULL: the system's */
    /* Both from any thread, or NULL. Stops with ERR_INTERRUPTED if `stop` returns true. */
    bool (*stop)(void *context);
    void (*progress)(void *context, uint64_t done, uint64_t total);
    void *context;
    /* Whether a path may be written to; called for each before anything is written. NULL: any. */
    enum status (*guard)(void *context, const char *path, struct error *err);
    void *guard_context;
    struct export_loss *loss; /* to be filled in; or NULL */
    struct export_sum *sum;   /* the same */
    char *warning;            /* EXPORT_WARNING_BYTES, for oddities that are not refused; or NULL */
};

/* The value of a setting; NULL: not stated. */
const char *export_setting(const struct export_options *, const char *key);

/* Refuse settings that the format does not have, and two values of one that does not repeat. */
void export_check_settings(const struct exporter *, const char *const *settings, struct error *err);

/* "5GB", "500MiB", "1000": bytes. 0 is not a size. */
uint64_t export_size(const char *text);

/* Lay the plan out and, unless `dry`, write it to `path`; with shard_size, to several files and
 * an index. With `dry`, tensors are only read, to count what conversions would lose. ERR_ARGUMENT
 * if something is in the way of the output, or a setting is wrong. */
enum status export_write(struct export_plan *, const struct exporter *, const char *path,
                         const struct export_options *, bool dry, struct error *err);

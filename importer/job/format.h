/*
 * format.h - what a checkpoint format declares about itself.
 *
 * A format only describes: it looks at headers and indexes and emits tensors, extents, facts and
 * issues through its job. It never reads tensor data. To add one: copy format/single/npy.c, add a line to
 * formats.def, drop y_ and n_ files into tests/fixtures/NAME/.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "catalog/base/bits.h"
#include "catalog/base/error.h"
#include "catalog/base/text.h"

struct classes;
struct job;
struct claim;
struct source;
struct format;
struct weight_source;

#define PROBE_HEAD_BYTES 4096 /* at the beginning of a file, or the whole file */
#define PROBE_TAIL_BYTES 64   /* of its end; read only if no head decides */

/* What a prober knows about a file. */
struct probe {
    struct bytes head;
    struct bytes tail;           /* empty in the first round */
    const char *name;            /* last component of the path */
    uint64_t size;               /* of the file, in bytes */
    const struct format *format; /* that is asked */
};

/* Whether the head holds these bytes anywhere. */
bool probe_holds(const struct probe *, const char *word);

/* What a prober knows about a directory: its entries, sorted bytewise, and, if they do not
 * decide, the first bytes of a few files. */
struct probe_dir {
    const char *name; /* last component of the path */
    const char *const *files;
    uint64_t file_count;
    const char *const *dirs;
    uint64_t dir_count;
    /* At most PROBE_HEAD_BYTES of a file in it or below it ("checkpoint", "w/.zarray"); at
     * is NULL if absent. A question costs an open(): ask where the names give reason
     * to, and stop at the first answer. */
    struct bytes (*peek)(const struct probe_dir *, const char *path);
    void *looking; /* private to the walk */
};

/* Whether the directory has a file, or a directory, of this name. */
bool probe_dir_has_file(const struct probe_dir *, const char *name);
bool probe_dir_has_dir(const struct probe_dir *, const char *name);

struct format {
    const char *name;     /* stored in checkpoint.format; never renamed */
    const char *summary;  /* one line for `formats` */
    const char *suffixes; /* space separated: ".npy"; a file so named that nothing
                             recognises is an issue, not passed over */
    char separator;       /* between the components of its tensor names: '/' or '.' */
    bool set;             /* a primary file that claims others (an index) */

    /* Pure evidence: how many bits of the bytes were verified as this format; 0 is
     * "no". No I/O, no allocation. The most bits win; a tie goes to the earlier line
     * of formats.def. NULL: never a file. */
    int (*probe)(const struct probe *);

    /* Asked where no bytes decide: whether the file, read as far as it takes, is no checkpoint, but
     * something that has to be reported: `index` then says what, and refuses it. NULL: never. */
    bool (*look)(const struct probe *, const struct source *, const struct classes *);

    /* probe() for a directory that is one checkpoint. NULL: never. The walk then takes the
     * directory as the primary and, unless it is `flat`, does not enter it: everything in it
     * and below belongs to this checkpoint. Directories are asked before their files: a file
     * that makes its directory a checkpoint (T5X's `checkpoint`) is found by peek. An
     * argument inside such a directory means that checkpoint. */
    int (*probe_dir)(const struct probe_dir *);

    /* Directories of this format are also parts of others' checkpoints (zarr
     * arrays in T5X's): naming one means the checkpoint around it. For other
     * formats it means the directory itself. */
    bool part;

    /* Everything that belongs to such a directory is directly in it:
     * directories below are searched as usual. */
    bool flat;

    /* The checkpoint's name for a primary file called `name`, in the same directory.
     * NULL: the file's own. */
    bool (*checkpoint_name)(const char *name, struct text *out);

    /* The neighbours, in the primary file's directory, that describe the checkpoint
     * (config.json): their facts are the checkpoint's, and a new one makes it changed. */
    const char *beside[4]; /* ends in NULL */

    /* Of a folder: the files beside it that say what it is, which index() reads itself; a new one
     * makes the checkpoint changed. Ends in NULL. */
    const char *placed_by[4];

    /* The name of the neighbour that the framework would load
     * instead. NULL if it has no such rule. */
    bool (*loaded_first)(const struct format *, const char *name, struct text *out);

    /* Of an index with a weight_map: how its shards' names end, and what reads one (container/weight_map.h). */
    const char *shard_suffix;
    void (*read_shard)(struct job *, const struct weight_source *, struct error *err);

    /* Name the files of the same directory that belong to this checkpoint
     * (claim_take), which are then not checkpoints of their own. NULL: none. */
    enum status (*claim)(struct claim *);

    /* Emit everything through the job. A status other than OK means that nothing of
     * this checkpoint can be trusted: it gets the job's error as its issue and no
     * rows. NULL: a companion file, known and passed over. */
    enum status (*index)(struct job *);
};

/* The registry, in the order of formats.def; ends in NULL. */
extern const struct format *const formats[];

/* The best format for a file or a directory, or NULL. */
const struct format *format_for_file(const struct probe *);
const struct format *format_for_dir(const struct probe_dir *);

/* By the name in the catalog; NULL: not a format of this program. */
const struct format *format_named(const char *name);

/* Whether `name` has a suffix of a format whose files are checkpoints by themselves. */
bool format_claims_name(const char *name);

/* Whether `name` ends in one of the format's own suffixes. */
bool format_has_suffix(const struct format *, const char *name);

/* A primary file's claim on neighbours that belong to it. */
struct claim {
    const char *directory;    /* absolute */
    const char *name;         /* of the primary file */
    const char *const *names; /* all files of the directory, sorted bytewise */
    uint64_t count;
    const struct format *format; /* of the primary file */
    void *taken;                 /* private to the walk */
};

/* Take a neighbour by name; unknown names are ignored. */
void claim_take(struct claim *, const char *name);
/* Take every name that begins with `prefix` and satisfies `fits` (NULL: any rest). */
void claim_take_prefix(struct claim *, const char *prefix, bool (*fits)(const char *rest));
/* Read the primary file, at most `limit` bytes, into malloc'ed memory. */
enum status claim_read(struct claim *, uint64_t limit, uint8_t **bytes, size_t *len,
                       struct error *err);

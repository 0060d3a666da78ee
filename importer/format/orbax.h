/*
 * orbax.h - the parts of an Orbax item, for the files that read it: orbax.c (the whole),
 * orbax_tree.c (what its tree is), orbax_store.c and orbax_list.c (what is stored),
 * orbax_aggregate.c (both in one file), orbax_place.c (what is around it),
 * orbax_pax.c (what Pax adds). Other formats that keep arrays as Orbax does use the store
 * alone.
 */
#ifndef CKPTDB_IMPORTER_FORMAT_ORBAX_H
#define CKPTDB_IMPORTER_FORMAT_ORBAX_H

#include "catalog/base/strmap.h"
#include "importer/array/array.h"
#include "importer/job/job.h"

#define ORBAX_NONE           UINT64_MAX /* no position */
#define ORBAX_PROCESS_PREFIX "ocdbt.process_"

/* --- the tree ----------------------------------------------------------------------- */

/* A leaf that `_METADATA` names. */
struct orbax_leaf {
    const char *key;  /* its path joined by '.': what it is stored under */
    const char *name; /* joined by '/': what it is called; the same length */
    size_t len;
    const char *empty; /* the kind of node that it is; NULL: an array */
    bool skipped;      /* nothing need be stored for it */
    bool inner;        /* other leaves lie below it (orbax_tree_mark_inner) */
};

struct orbax_tree {
    bool damaged;    /* there is a `_METADATA` that could not be read (an issue) */
    bool known;      /* there is one that could, */
    bool all_stored; /* and it says that all values of all arrays were stored */
    struct orbax_leaf *leaves;
    uint64_t count;
};

/* Read `_METADATA` of the item at `directory`. What is wrong with it becomes an issue. */
enum status orbax_tree_read(struct job *, const char *directory, struct orbax_tree *out);
/* Find the leaves that others lie below. */
enum status orbax_tree_mark_inner(struct job *, struct orbax_tree *);

/* --- what is stored ----------------------------------------------------------------- */

/* An array in an OCDBT database. */
struct orbax_array {
    const char *key;
    size_t len;
    struct zarr_array *array; /* NULL: its metadata is missing or wrong (an issue) */
    uint32_t manifest;        /* the job's file that lists it */
    struct grid_value *values;
    uint64_t count;
};

/* A string, which has a file for all of its kind. */
struct orbax_string {
    const char *key;
    size_t len;
    struct bytes value;
};

/* All arrays and strings of an item, by key: arrays come first, in the order of their
 * keys. */
struct orbax_store {
    struct job *job;
    const char *directory;
    const char *processes; /* what the names of processes' directories begin with */
    struct arena arena;    /* freed with the store */
    bool listed;           /* arrays are in OCDBT databases, else in directories */
    struct orbax_array *arrays;
    struct array_tree tree;
    uint64_t array_count;
    struct orbax_string *strings;
    uint64_t string_count;
    uint32_t string_file; /* the job's file that they are in */
    struct strmap keys;   /* to positions plus 1 */
    bool *used;           /* a flag a position: it has been given a name */
    bool broken;          /* a part could not be read, and that was reported */
};

/* Find out what the item at `directory` holds. Release the store in any case. */
enum status orbax_store_open(struct orbax_store *, struct job *, const char *directory);
/* The same where the databases of processes are in directories called PROCESSESn. */
enum status orbax_store_open_of(struct orbax_store *, struct job *, const char *directory,
                                const char *processes);
/* Whoever wrote it stored all values, also those that are nothing but fill values: one
 * that is absent is lost. */
void orbax_store_miss_absent(struct orbax_store *);
uint64_t orbax_store_find(const struct orbax_store *, const char *key, size_t len);
uint64_t orbax_store_count(const struct orbax_store *);
const char *orbax_store_key(const struct orbax_store *, uint64_t position, size_t *len);
/* The shape of an array; NULL: not known. */
const uint64_t *orbax_store_shape(const struct orbax_store *, uint64_t position,
                                  unsigned *rank);
/* What an array is called that no tree names: its key with '/' for every '.'; NULL
 * without memory. */
char *orbax_name_of_key(struct arena *, const char *key, size_t len);
/* Emit what is at a position as a tensor of this name. */
enum status orbax_store_emit(struct orbax_store *, uint64_t position, const char *name,
                             size_t len);
void orbax_store_release(struct orbax_store *);

/* Fill the arrays of a store from OCDBT databases: from the one in `directory`, or, where
 * it was never made or cannot be read, from those of the processes. False: there are
 * none. */
bool orbax_list(struct orbax_store *);

/* --- the item ----------------------------------------------------------------------- */

struct orbax_item {
    struct job *job;
    struct orbax_tree tree;
    struct orbax_store store;
    bool aggregated;     /* it has a `checkpoint` of older Orbax, */
    struct strmap noted; /* and these are the leaves that it names */
    bool marked;         /* the tree's inner leaves are known */
    uint64_t missing, unnamed;
    const char *first_missing, *first_unnamed;
};

/* Emit what is stored under a key, or a tensor without data. */
enum status orbax_item_emit(struct orbax_item *, const char *key, size_t key_len,
                            const char *name, size_t len);

/* Emit what the item's `checkpoint` holds and names, if there is one. */
enum status orbax_aggregate_read(struct orbax_item *, const char *directory);

/* State the true shapes of arrays that Pax has padded, where it says them beside the
 * item. */
enum status orbax_padding_read(struct orbax_item *);
/* Whether a file says them. */
bool orbax_is_padding(const char *path);

/* --- around it ---------------------------------------------------------------------- */

/* Say which item of which step of which run lies at `directory`, and state the facts of
 * the step. */
enum status orbax_place(struct job *, const char *directory);

/* --- files -------------------------------------------------------------------------- */

/* DIRECTORY/NAME in the arena; NULL without memory. */
char *orbax_path(struct arena *, const char *directory, const char *name);

/* Read a file of the item, at most LIMIT_TREE_FILE bytes, into the arena. A missing one
 * is OK, with out->at NULL, and is not recorded. */
enum status orbax_read(struct job *, const char *path, const char *role, struct arena *,
                       struct bytes *out, struct error *err);

/* A key for a message, cut at a length that fits: "%.*s". */
#define ORBAX_SHOWN(key) (int)((key).len < 200 ? (key).len : 200), (const char *)(key).at

#endif

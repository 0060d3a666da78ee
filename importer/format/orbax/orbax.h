/*
 * orbax.h - the parts of an Orbax item, shared by the files that read it: orbax.c (the whole item),
 * orbax_tree.c (its tree), orbax_store.c and orbax_list.c (its arrays), orbax_place.c (the step and run around it), orbax_pax.c (what Pax adds).
 * Other formats that store arrays as Orbax does use only the store.
 */
#pragma once

#include "catalog/base/strmap.h"
#include "importer/array/array.h"
#include "importer/job/job.h"

#define ORBAX_NONE           UINT64_MAX /* no position */
#define ORBAX_PROCESS_PREFIX "ocdbt.process_"

/* --- the tree ----------------------------------------------------------------------- */

/* A leaf that `_METADATA` names. */
struct orbax_leaf {
    const char *key;  /* its path joined by '.': the key it is stored under */
    const char *name; /* its path joined by '/': its tensor's name; of the same length */
    size_t len;
    const char *empty; /* "null", "dict", "list": an empty node; NULL: an array */
    bool skipped;      /* it may lawfully have no data */
    bool inner;        /* other leaves are below it (orbax_tree_mark_inner) */
};

struct orbax_tree {
    bool damaged;    /* `_METADATA` exists but could not be read (an issue) */
    bool known;      /* `_METADATA` was read, */
    bool all_stored; /* and it says that all values of all arrays were stored; */
    bool in_folders; /* it says that the arrays are not in OCDBT */
    struct orbax_leaf *leaves;
    size_t count;
};

/* Read `_METADATA` of the item at `directory`. Errors in it become an issue. */
enum status orbax_tree_read(struct job *, const char *directory, struct orbax_tree *out);
/* Mark the leaves that have other leaves below them. */
void orbax_tree_mark_inner(struct job *, struct orbax_tree *);

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

/* A string; one file holds all strings of the item. */
struct orbax_string {
    const char *key;
    size_t len;
    struct bytes value;
};

/* All arrays and strings of an item, by key: arrays come first, in the order of their keys. */
struct orbax_store {
    struct job *job;
    const char *directory;
    const char *processes; /* prefix of the names of the processes' directories */
    struct arena arena;    /* freed with the store */
    bool attributed;       /* the attributes in databases are wanted */
    bool listed;           /* arrays are in OCDBT databases, else in directories */
    struct orbax_array *arrays;
    struct array_attributes *attributes; /* attributes of arrays and groups; path: the key */
    size_t attribute_count, attribute_space;
    struct array_tree tree;
    size_t array_count;
    struct orbax_string *strings;
    size_t string_count;
    uint32_t string_file; /* the job's file that they are in */
    struct strmap keys;   /* key -> position plus 1 */
    bool *used;           /* by position: it has been emitted under a name */
    bool broken;          /* a part could not be read, and that was reported */
};

/* Find the arrays and strings of the item at `directory`. `in_folders`: a database there is not
 * what Orbax reads. Release the store even after an error. */
void orbax_store_open(struct orbax_store *, struct job *, const char *directory, bool in_folders);
/* The same if the directories of the processes' databases are called `processes` and a number. */
void orbax_store_open_of(struct orbax_store *, struct job *, const char *directory,
                         const char *processes);
/* The same with the attributes in a database. */
void orbax_store_open_plain(struct orbax_store *, struct job *, const char *directory);
/* Say that the writer stored every chunk, even those that hold only fill values: an absent chunk
 * then is a lost one. */
void orbax_store_miss_absent(struct orbax_store *);
uint64_t orbax_store_find(const struct orbax_store *, const char *key, size_t len);
uint64_t orbax_store_count(const struct orbax_store *);
const char *orbax_store_key(const struct orbax_store *, uint64_t position, size_t *len);
/* The shape of an array; NULL: not known. */
const uint64_t *orbax_store_shape(const struct orbax_store *, uint64_t position, unsigned *rank);
/* The name of an array that no tree names: its key with '/' for every '.'. */
char *orbax_name_of_key(struct arena *, const char *key, size_t len);
/* Emit the array or string at a position as a tensor of this name. */
void orbax_store_emit(struct orbax_store *, uint64_t position, const char *name, size_t len);
void orbax_store_release(struct orbax_store *);

/* Fill the arrays of a store from the OCDBT database in its directory; if that was never written or
 * cannot be read, from the processes' databases. False: there are no databases. */
bool orbax_list(struct orbax_store *);

/* --- around it ---------------------------------------------------------------------- */

/* State the true shapes of arrays that Pax has padded, if its metadata beside the item has them. */
void orbax_padding_read(struct orbax_store *);
/* Whether the file at `path` is such metadata. */
bool orbax_is_padding(const char *path);

/* State the run, step and item that `directory` holds, and the facts of the step. */
void orbax_place(struct job *, const char *directory);

/* --- files -------------------------------------------------------------------------- */

/* Read a file of the item, at most LIMIT_TREE_FILE bytes, into the arena. If it is missing, the
 * result is OK with out->at NULL, and nothing is recorded. */
enum status orbax_read(struct job *, const char *path, const char *role, struct arena *,
                       struct bytes *out, struct error *err);

/* The arguments of "%.*s" for a key in a message, cut to 200 bytes. */
#define ORBAX_SHOWN(key) (int)((key).len < 200 ? (key).len : 200), (const char *)(key).at

/*
 * flax_tree.h - visits the leaves of a tree that Flax has serialised to msgpack, in file order.
 *
 *   static void see(void *context, const struct flax_leaf *leaf) { ... }
 *
 *   flax_walk(job, source, file, &(struct flax_visitor){.leaf = see, .context = &mine});
 *
 * Flax's own files, T5X's `checkpoint`, and the aggregate `checkpoint` of older Orbax are such
 * trees. The walk knows Flax's encodings of arrays (one extension, or a map of chunks); other
 * meanings of maps and texts are up to the visitor. Only heads, keys and small values are read,
 * no elements.
 *
 * Source: flax/serialization.py; layout in flax_tree.c.
 */
#pragma once

#include "catalog/base/strmap.h"
#include "importer/container/flax_array.h"
#include "importer/job/job.h"
#include "importer/job/name_tree.h"

enum flax_kind {
    FLAX_ARRAY,   /* leaf->array */
    FLAX_NULL,    /* nil */
    FLAX_DICT,    /* an empty map */
    FLAX_LIST,    /* an empty array */
    FLAX_NUMBER,  /* leaf->item: MSGPACK_UNSIGNED, MSGPACK_NEGATIVE, MSGPACK_REAL, MSGPACK_BOOL */
    FLAX_TEXT,    /* leaf->item: MSGPACK_STRING, MSGPACK_BYTES */
    FLAX_COMPLEX, /* leaf->complex */
};

struct flax_leaf {
    enum flax_kind kind;
    const char *name; /* its path, joined by '/'; valid for the call */
    size_t name_len;
    struct msgpack *reader; /* to read payloads: msgpack_add(), msgpack_is() */
    const struct msgpack_item *item;
    const struct flax_array *array;
    double complex[2];
};

struct flax_visitor {
    /* The job's error ends the walk. */
    void (*leaf)(void *context, const struct flax_leaf *);

    /* Called for a map before its entries are walked: leaf->item is its head, the reader is at
     * its first key. If the visitor takes the map as a leaf, it sets *taken and leaves the reader
     * after the map; else the reader is put back and the map walked. NULL: no map is a leaf. */
    void (*map)(void *context, const struct flax_leaf *, bool *taken);

    void *context;
};

struct flax_tree {
    struct job *job;
    const struct source *source;
    const struct flax_visitor *visitor;
    struct msgpack reader;
    struct name_tree names;         /* a caller may set a prefix of all names */
    struct strmap paths;            /* of all values except arrays, whose names the job compares */
    uint64_t leaves;                /* of any kind */
    uint64_t looked_at;             /* heads read for maps that the visitor then did not take */
    uint64_t left[NAME_TREE_DEPTH]; /* by level: entries not yet read */
};

/* `source` is a file of the job and must outlive the tree. Close the tree after an error too. */
enum status flax_open(struct flax_tree *, struct job *, const struct source *source,
                      const struct flax_visitor *);
/* Visit the leaves of the value at the reader. Errors are the job's: invalid msgpack, a limit, or
 * the visitor's error. */
enum status flax_value(struct flax_tree *);
void flax_close(struct flax_tree *);

/* Open, visit and close a file that holds one value; bytes after it are an issue. */
void flax_walk(struct job *, const struct source *, const struct flax_visitor *);

/* flax_evidence.c: how many bits say that a file begins as a tree of Flax arrays: 64 if the head holds an
 * array, 24 if the whole file is in the head and is msgpack, 16 if the head is msgpack as far as it
 * goes, else 0. */
int flax_evidence(struct bytes head, uint64_t size);

/*
 * flax_tree.h - the leaves of a tree that Flax has serialised to msgpack, in the file's order.
 *
 *   static enum status see(void *context, const struct flax_leaf *leaf) { ... }
 *
 *   flax_walk(job, source, file, &(struct flax_visitor){.leaf = see, .context = &mine});
 *
 * Flax's own files, T5X's `checkpoint`, and the aggregate `checkpoint` of older Orbax are
 * such trees. The walk knows what Flax makes of arrays (one extension, or a map of chunks);
 * what else a map or a text may stand for is the visitor's to tell. Nothing but heads, keys
 * and small values is read.
 *
 * Source: flax/serialization.py; layout in flax_tree.c.
 */
#ifndef CKPTDB_IMPORTER_FORMAT_FLAX_TREE_H
#define CKPTDB_IMPORTER_FORMAT_FLAX_TREE_H

#include "catalog/base/strmap.h"
#include "importer/format/flax_array.h"
#include "importer/job/job.h"

#define FLAX_DEPTH_MAX 128

enum flax_kind {
    FLAX_ARRAY, /* leaf->array */
    FLAX_NULL,  /* nil */
    FLAX_DICT,  /* an empty map */
    FLAX_LIST,  /* an empty array */
    FLAX_NUMBER, /* leaf->item: MSGPACK_UNSIGNED, MSGPACK_NEGATIVE, MSGPACK_REAL, MSGPACK_BOOL */
    FLAX_TEXT,    /* leaf->item: MSGPACK_STRING, MSGPACK_BYTES */
    FLAX_COMPLEX, /* leaf->complex */
};

struct flax_leaf {
    enum flax_kind kind;
    const char *name; /* its path, joined by '/'; valid for the call */
    size_t name_len;
    struct msgpack *reader; /* for payloads: msgpack_add(), msgpack_is() */
    const struct msgpack_item *item;
    const struct flax_array *array;
    double complex[2];
};

struct flax_visitor {
    /* A status other than OK ends the walk; it must be the job's error. */
    enum status (*leaf)(void *context, const struct flax_leaf *);

    /* A map, before its entries: leaf->item is its head, and the reader is before its
     * first key. *taken true: it was a leaf of the visitor's own, and the reader is
     * after it. Else the reader is put back. NULL: no maps are leaves. */
    enum status (*map)(void *context, const struct flax_leaf *, bool *taken);

    void *context;
};

struct flax_tree {
    struct job *job;
    const struct source *source;
    const struct flax_visitor *visitor;
    struct msgpack reader;
    struct text path; /* of the value at hand; set it to what is before all names */
    struct strmap
        paths;       /* of all values but arrays, whose names are the job's to compare */
    uint64_t leaves; /* of any kind */
    uint64_t path_bytes; /* of all paths */
    uint64_t looked_at;  /* bytes read in vain, to see whether a map is a leaf */
    unsigned depth;
    struct flax_level {
        uint64_t left; /* entries still to come */
        uint64_t next; /* list: position of the next one */
        size_t path;   /* length of its own path */
        bool list;
    } levels[FLAX_DEPTH_MAX];
};

/* `source` is a file of the job's and must outlive the tree. Close it after an error too. */
enum status flax_open(struct flax_tree *, struct job *, const struct source *source,
                      const struct flax_visitor *);
/* Visit the leaves of the one value at the reader. The job's error: bytes that are no msgpack,
 * a limit, or the visitor's. */
enum status flax_value(struct flax_tree *);
void flax_close(struct flax_tree *);

/* All of the above for a file that holds one value; more bytes after it are an issue. */
enum status flax_walk(struct job *, const struct source *, const struct flax_visitor *);

#endif

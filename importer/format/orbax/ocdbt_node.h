/*
 * ocdbt_node.h - the bytes of an OCDBT database: frames, manifests and B+tree nodes. The code that reads
 * files and walks the tree is ocdbt_database.c.
 *
 * Parsers of a decoded body return NULL, or say what is wrong with it.
 */
#pragma once

#include "catalog/base/cursor.h"
#include "catalog/base/error.h"
#include "catalog/data/model/grid.h"

#define OCDBT_MAGIC_MANIFEST UINT32_C(0x0CDB3A2A)
#define OCDBT_MAGIC_NODE     UINT32_C(0x0CDB20DE)

#define OCDBT_FRAME_BYTES  18 /* of the smallest frame */
#define OCDBT_KEY_BYTES    UINT64_C(65535)
#define OCDBT_PATH_BYTES   UINT64_C(65535)
#define OCDBT_INLINE_BYTES GRID_INLINE_MAX

/* Where a frame is, for messages. */
struct ocdbt_place {
    const char *name;
    uint64_t offset;
};

/* Check a whole frame and find its body. */
enum status ocdbt_frame(struct bytes frame, uint32_t magic, struct ocdbt_place place,
                        struct bytes *body, bool *compressed, struct error *err);

/* A table of data files, read from front to back. */
struct ocdbt_table {
    uint64_t count, left;                     /* all paths; those not read yet */
    struct cursor shared, fresh, bases, text; /* columns */
};

struct ocdbt_path {
    char at[OCDBT_PATH_BYTES];
    size_t len;
    size_t base; /* length of the prefix that is its base path */
};

/* Read the next path of a table that has been parsed; `path` must still hold the
 * previous one (len 0 at first). */
void ocdbt_table_next(struct ocdbt_table *, struct ocdbt_path *path);

/* Where a node is: a file of the table, and an offset in it. */
struct ocdbt_reference {
    uint64_t file, offset, length;
    uint64_t keys; /* number of entries below it */
};

struct ocdbt_manifest {
    uint8_t uuid[16];
    bool numbered;       /* the rest is in another file */
    uint64_t node_bytes; /* the decoded size of nodes that writers aim at */
    /* Of the newest version: */
    struct ocdbt_table table;
    uint64_t generation;
    unsigned height; /* of the root */
    bool empty;      /* there is no root */
    struct ocdbt_reference root;
};

const char *ocdbt_manifest_parse(struct bytes body, struct ocdbt_manifest *out);

/* A node being read from front to back. */
struct ocdbt_node {
    unsigned height; /* 0: a leaf */
    uint64_t count;  /* entries */
    uint64_t left;   /* entries not read yet */
    struct ocdbt_table table;
    /* Columns; of all entries, */
    struct cursor shared, fresh, text, lengths;
    struct cursor files, offsets; /* of those whose value or node is elsewhere, */
    struct cursor kinds, values;  /* of leaves, */
    struct cursor common, keys;   /* and of the others. */
};

struct ocdbt_item {
    size_t shared;      /* the key begins with this many bytes of the previous key */
    struct bytes fresh; /* and continues with these */
    struct bytes value; /* of a leaf: inline; at NULL: elsewhere */
    size_t common;      /* of an inner node: bytes of the key that all keys below begin with */
    struct ocdbt_reference elsewhere;
};

/* Finds the columns and checks them: counts, widths, file numbers, ranges, and that nothing
 * is left over. Does not check the order of keys. */
const char *ocdbt_node_parse(struct bytes body, unsigned height, struct ocdbt_node *out);
void ocdbt_node_next(struct ocdbt_node *, struct ocdbt_item *out);

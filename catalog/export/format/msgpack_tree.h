/*
 * msgpack_tree.h - nested maps of msgpack, as Flax keeps them: each '/' in a name is one level.
 *
 *   struct msgpack_tree tree = {.l = l};
 *   msgpack_tree_open(&tree);
 *   for each name, in the order of the tree (export_by_tree):
 *       msgpack_tree_key(&tree, name);          maps are closed and opened
 *       msgpack_array(&tree.text, t);           the value: text, then perhaps a tensor
 *       lay_add(l, &tree.text), lay_tensor(l, t);
 *   msgpack_tree_close(&tree);
 *
 *   map     0xdf, u32be entries: key, value, ...   lists are maps with keys "0", "1", ...
 *   array   0xc9, u32be length, type 1:            then a msgpack value of this length:
 *           [[2, 3], "float32", bytes]             C order, little-endian
 *
 * Sources: flax/serialization.py, _ndarray_to_bytes; the msgpack specification. Flax writes
 * arrays above 1 GiB in pieces, but also reads them whole.
 */
#pragma once

#include "catalog/export/export_layout.h"

struct msgpack_tree {
    struct export_layout *l;
    struct open_map *map; /* the open maps, from the root down */
    size_t depth, space;
    struct text text;
    const char *before; /* the previous name; NULL: none */
};

void msgpack_tree_open(struct msgpack_tree *);
/* The name must stay until the next call. */
void msgpack_tree_key(struct msgpack_tree *, const char *name);
/* Close all maps, and free what the tree has. */
void msgpack_tree_close(struct msgpack_tree *);

void msgpack_string(struct text *out, const char *at, size_t len);
void msgpack_number(struct text *out, uint64_t value);
/* At most 65,535. */
void msgpack_numbers(struct text *out, const uint64_t *values, unsigned count);
/* Up to its data, which follows. */
void msgpack_array(struct text *out, const struct export_tensor *t);

/* Dtypes that numpy.dtype() finds by name when ml_dtypes is imported. */
bool msgpack_has_dtype(const struct dtype *);
/* Whether an array can have this name; if not, the reason is added. */
bool msgpack_holds_name(const char *name, struct text *why);
/* Which tensors can be arrays (struct exporter, `holds`). */
bool msgpack_holds(const struct export_tensor *t, struct text *why, const char **instead);

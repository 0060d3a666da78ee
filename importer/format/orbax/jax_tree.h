/*
 * jax_tree.h - `pytreedef.json`: the tree and the leaves of a pytree that JAX has serialised.
 */
#pragma once

#include "catalog/base/arena.h"
#include "catalog/base/bits.h"
#include "catalog/base/error.h"

#define JAX_TREE_KEY "__jax_pytreedef_repr"

/* A leaf, or a node without children. */
struct jax_leaf {
    const char *name; /* components of its path, joined by '/' */
    size_t len;
    const char *empty; /* "null", "list", "dict": the kind of a node; NULL: a leaf */
    /* Of a leaf: */
    const char *type; /* as the file states it: "Array(float32[2, 3])", "int" */
    const char *key;  /* the name of its array in the store */
    bool array;       /* it is an array, with: */
    const char *dtype;
    uint64_t *shape;
    unsigned rank;
};

struct jax_tree {
    struct jax_leaf *leaves; /* in the order of the tree */
    size_t count;
};

/* Everything lives in the arena, which reports to `err`. */
enum status jax_tree_parse(struct bytes json, const char *source, struct arena *arena,
                           struct jax_tree *out, struct error *err);

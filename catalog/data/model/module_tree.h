/*
 * module_tree.h - the tree of modules in tensor names, with repeated modules folded.
 *
 * Siblings whose names differ only in their last number and whose contents are equal (names,
 * dtypes, shapes) become one node called "layers.{0..31}". A module with only one child is shown
 * joined with it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "catalog/base/arena.h"
#include "catalog/base/strmap.h"
#include "catalog/base/text.h"

#define MODULE_DEPTH 64 /* a deeper name is a leaf there */

/* There may be millions: 64 bytes. */
struct module {
    const char *name;            /* its own component */
    uint64_t parameters, nbytes; /* sums over all modules it represents, own tensor too */
    union {
        uint64_t hash;  /* of its content, until folding ends */
        uint64_t times; /* then: how many modules it represents */
    };
    uint32_t tensors;             /* sum over all modules it represents */
    uint32_t parent, first, next; /* positions in nodes; 0: none (the root is 0) */
    union {
        uint32_t last; /* last child, until folding begins */
        uint32_t like; /* then: the next node folded into the same one */
    };
    union {
        uint32_t copies; /* how many are folded into this, itself included */
        uint32_t leader; /* of a folded node: the one it is folded into */
    };
    uint32_t kind; /* of its own tensor: position in kinds; 0: no tensor */
    uint32_t len : 30;
    bool folded : 1; /* into another node */
    bool hidden : 1; /* below a folded node: never shown */
};

/* A dtype and a shape as texts. */
struct module_kind {
    const char *dtype, *shape; /* "" where not known */
    uint64_t hash;
};

#define MODULE_KINDS_NEAR 16

struct module_tree {
    struct arena arena;
    struct module *nodes;
    uint32_t count;
    size_t space;
    uint32_t *index; /* by a hash of parent and name: the node, or 0 */
    size_t index_space;
    struct module_kind *kinds; /* the first means "not a tensor" */
    uint32_t kind_count;
    size_t kind_space;
    struct strmap kind_map; /* by dtype and shape */
    uint32_t kind_last;
    uint32_t kind_near[MODULE_KINDS_NEAR]; /* where texts are borrowed: by where the shape is */
    struct text last;                      /* the previous name, */
    /* the ends of its components and their nodes, most of which neighbours share. */
    uint32_t last_end[MODULE_DEPTH], last_node[MODULE_DEPTH];
    unsigned last_depth;
    char separator;
    bool borrows; /* names, dtypes and shapes outlive the tree: they are not copied */
};

/* `separator` is between the components of names; `names` is about how many will be added (0: not
 * known). False without memory. */
bool module_tree_init(struct module_tree *, char separator, uint64_t names);
/* Copies the name, dtype and shape, unless the tree borrows them. */
bool module_tree_add(struct module_tree *, const char *name, const char *dtype, const char *shape,
                     uint64_t parameters, uint64_t nbytes);
/* After the last name: add up the sums, fold equal modules, label them. */
bool module_tree_finish(struct module_tree *);
void module_tree_release(struct module_tree *);

/* The dtype and the shape of the node's own tensor; "" if it has none, or they are not known. */
const char *module_tree_dtype(const struct module_tree *, const struct module *);
const char *module_tree_shape(const struct module_tree *, const struct module *);

/* The node that represents a name that was added: its own, or the one into which that is folded.
 * Call after module_tree_finish(). 0: there is no such name. */
uint32_t module_tree_shown(const struct module_tree *, const char *name);

/* A node as module_tree_visit() shows it, parents before children. rail[i] says for each level
 * above whether more siblings follow; the node's own is rail[depth - 1]. The root is not
 * visited. */
struct module_visit {
    uint32_t node; /* the last of the nodes joined in the label */
    const char *label;
    const char *path; /* from the root, labels joined */
    unsigned depth;   /* 1: below the root */
    const bool *rail;
};
/* Visit only the nodes with children, none joined with its only child; `rail` is not valid. */
bool module_tree_modules(struct module_tree *,
                         void (*see)(void *, const struct module_visit *, const struct module *),
                         void *context);
bool module_tree_visit(struct module_tree *, void (*see)(void *, const struct module_visit *),
                       void *context);

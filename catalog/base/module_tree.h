/*
 * module_tree.h - tensor names as the tree of modules they spell, repeated ones folded.
 *
 * Siblings whose names differ only in their last number, and below which everything is alike
 * (names, dtypes, shapes), become one node called "layers.{0..31}". A module with only one
 * child is written together with it.
 */
#ifndef CKPTDB_BASE_MODULE_TREE_H
#define CKPTDB_BASE_MODULE_TREE_H

#include <stdbool.h>
#include <stdint.h>

#include "catalog/base/arena.h"
#include "catalog/base/strmap.h"

#define MODULE_DEPTH 64 /* a deeper name is a leaf there */

struct module {
    const char *name; /* its own component */
    uint32_t len;
    uint32_t parent, first, last, next; /* positions in nodes; 0: none (the root is 0) */
    uint32_t shown;                     /* children that are not folded into another */
    uint64_t tensors, parameters,
        nbytes;                /* of all it stands for, its own tensor included */
    const char *dtype, *shape; /* "" where not known */
    union {
        uint64_t hash;  /* of what lies below, until folding ends */
        uint64_t times; /* then: how many modules it stands for */
    };
    const char *label;     /* name as shown: "layers_{0..11}" */
    uint32_t leader;       /* folded into that one; 0: not folded */
    uint32_t like, copies; /* the next one folded into this; how many in all */
    bool tensor;           /* is a tensor itself: dtype, shape */
    bool hidden;           /* below one that is folded into another: nobody asks for it */
};

struct module_tree {
    struct arena arena;
    struct module *nodes;
    uint32_t count;
    size_t space;
    uint32_t *
        index; /* by a hash of parent and name: the node, or 0; twice as many as `space` */
    const char *dtype, *shape; /* of the last tensor: the next one's are often the same */
    /* Where its modules' names end, and their nodes: neighbours mostly share them. */
    const char *last;
    uint32_t last_end[MODULE_DEPTH], last_node[MODULE_DEPTH];
    unsigned last_depth;
    char separator;
    bool borrows; /* names, dtypes and shapes outlive the tree: they are not copied */
};

/* `separator` is between the components of names. False without memory. */
bool module_tree_init(struct module_tree *, char separator);
/* Copies the name, dtype and shape, unless the tree borrows them. */
bool module_tree_add(struct module_tree *, const char *name, const char *dtype,
                     const char *shape, uint64_t parameters, uint64_t nbytes);
/* After the last one: add up, fold, label. */
bool module_tree_finish(struct module_tree *);
void module_tree_release(struct module_tree *);

/* The node that stands for a name that was added: its own, or that of the first one like it. After
 * module_tree_finish(). 0: there is no such name. */
uint32_t module_tree_shown(const struct module_tree *, const char *name);

/* Visit what is shown, parents before children. `rail[i]` tells for each level above whether
 * more siblings follow; the node's own is rail[depth - 1]. The root is not visited. */
struct module_visit {
    uint32_t node; /* the last of those written together */
    const char *label;
    const char *path; /* from the root, labels joined */
    unsigned depth;   /* 1: below the root */
    const bool *rail;
};
/* Visit the modules, which hold more than themselves, each by itself: none is written together with
 * its only child. v->rail is of no use. */
bool module_tree_modules(struct module_tree *,
                         void (*see)(void *, const struct module_visit *,
                                     const struct module *),
                         void *context);
bool module_tree_visit(struct module_tree *,
                       void (*see)(void *, const struct module_visit *), void *context);

#endif

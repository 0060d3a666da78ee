/*
 * kauldron_private.h - the inside of kauldron.c: a model and a source as nodes, the rules looked up in them
 * (kauldron_node.c, kauldron_rule.c), written (kauldron_write.c), and what becomes of the leaves.
 */
#ifndef CKPTDB_MAP_KAULDRON_PRIVATE_H
#define CKPTDB_MAP_KAULDRON_PRIVATE_H

#include "catalog/map/dialect.h"
#include "catalog/map/kontext.h"
#include "catalog/regex/regex.h"

/* In a map of nodes. A checkpoint does not tell a list from a dict of numbers. */
enum {
    NODE_NUMBERED = 1, /* has children whose names are all numbers */
    NODE_NAMED,        /* has others */
    NODE_LEAF,         /* and more: a leaf, by its index */
};

/* A node's place is the map_text of its name; the root's, and a rest's that is nothing, has at NULL
 * (a key may be ''). */

/* Of an option: what selects keys. */
struct filters {
    struct regex **regex;
    size_t count;
    bool given;
    struct map_text error; /* of the first that is no path */
};

/* When a rule fails. */
enum step {
    STEP_NONE,
    STEP_NEW,
    STEP_OLD,
    STEP_WRITE,
    STEPS
};

struct entry {
    const struct map_rule *rule;
    bool late;
    struct kontext new, old;
    struct map_text target,
        origin;         /* the nodes they lead to; once it can be written, target is
                                     * where, in the state that earlier rules of the phase leave */
    bool found, sliced; /* both; the old one is a slice of the list `origin`: */
    int64_t *pick;      /* these of its elements */
    size_t picks;
    struct map_text error; /* of looking up and comparing */
    enum step step;
    struct map_text write_error;
};

struct loader {
    struct map_task *task;
    struct strmap old, new; /* nodes */
    struct strmap
        written; /* in this phase: places, to the index + 1 of the last entry there */
    struct filters restored, model;
    bool ignores;
    struct entry *entry; /* by turn */
    size_t entries;
    struct text key; /* reused */
};

/* Where a path has led so far: a node, or some elements of the list there. */
struct found {
    struct map_text place;
    int64_t *pick;
    size_t picks;
    bool sliced;
};

/* --- kauldron_node.c --------------------------------------------------------------------- */

/* Every node above the leaves, and they. Names that follow each other share most of theirs. */
bool kauldron_index_nodes(struct map_task *t, struct strmap *nodes,
                          const struct map_tree *tree);
/* 0: there is no such node. */
uint64_t kauldron_node_at(const struct strmap *nodes, struct map_text place);
const struct map_leaf *kauldron_leaf_at(const struct map_tree *tree,
                                        const struct strmap *nodes,
                                        struct map_text place);
struct map_text kauldron_join(struct map_task *t, struct map_text place,
                              struct map_text rest);
/* Whether the node is at or below the place; *rest is its name from there. */
bool kauldron_is_below(struct map_text place, struct map_text name,
                       struct map_text *rest);
/* The place above; the root's own is the root. *part is the last component. */
struct map_text kauldron_above(struct map_text place, struct map_text *part);
struct map_text kauldron_element(struct map_task *t, struct map_text list, int64_t i);
/* Whether the first component of a rest is a position in a list of that length. */
bool kauldron_is_position(struct map_text rest, size_t length);
/* Whether the node is a list, as far as one can see: its children are numbers, with 0. */
bool kauldron_is_list(struct map_task *t, const struct map_tree *tree,
                      const struct strmap *nodes, struct map_text place);
/* How many elements; 0: it is not a list, as far as one can see. */
int64_t kauldron_list_length(struct map_task *t, const struct strmap *nodes,
                             struct map_text list);
/* The node that a path leads to; else the error, as map_text. */
bool kauldron_look_up(struct map_task *t, const struct strmap *nodes,
                      const struct kontext *path, struct found *out,
                      struct map_text *error);

/* --- kauldron_rule.c --------------------------------------------------------------------- */

bool kauldron_read_filters(struct loader *l, const char *option, struct filters *f);
void kauldron_filters_release(struct filters *f);
bool kauldron_is_ignored(struct loader *l, const struct filters *f, struct map_text rest);
struct map_text kauldron_unwanted_key(struct loader *l, const char *what,
                                      struct map_text rest, const char *option);
/* The source's node for the rest of a name below a rule's new path; false: there is none to ask
 * for. */
bool kauldron_origin_of(struct loader *l, const struct entry *e, struct map_text rest,
                        struct map_text *out);
/* The rest below a rule's old path of a name of the source; the n-th element of a slice is called
 * n. False: it is not below it. */
bool kauldron_rest_of(struct loader *l, const struct entry *e, struct map_text name,
                      struct map_text *rest);
bool kauldron_read_entries(struct loader *l);

/* --- kauldron_write.c -------------------------------------------------------------------- */

/* Where an entry whose paths are found writes, and why it cannot: target and write_error. */
bool kauldron_write_entry(struct loader *l, struct entry *e);

#endif

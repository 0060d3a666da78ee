/*
 * kauldron_private.h - shared by the files of dialect_kauldron.c: a model and a source as trees of nodes,
 * paths looked up in them (kauldron_node.c), the names that rules take (kauldron_rule.c), and where
 * rules write (kauldron_write.c).
 */
#pragma once

#include "catalog/maps/map/dialect.h"
#include "catalog/maps/map/kontext.h"
#include "catalog/maps/regex/regex.h"

/* Values in a map from a node's name to what the node is. */
enum {
    NODE_NUMBERED = 1, /* has children whose names are all numbers */
    NODE_NAMED,        /* has a child whose name is no number */
    NODE_LEAF,         /* NODE_LEAF + i: leaf i of the tree */
};

/* A node's place is its name, as map_text. The root's place has at NULL, and so has the rest of
 * a name when nothing is left (an empty text would be the key ''). */

/* The patterns of an ignore_ option. */
struct filters {
    struct regex **regex;
    size_t count;
    bool given;
    struct map_text error; /* of the first pattern that is no path */
    /* A pattern that could not be tried on a key, once there is one */
    struct map_text broken;
};

/* The step at which a rule fails. */
enum step { STEP_NONE, STEP_NEW, STEP_OLD, STEP_WRITE, STEPS };

struct entry {
    const struct map_rule *rule;
    bool late;
    struct kontext new, old;
    struct map_text target,
        origin;         /* the nodes the paths lead to; kauldron_read_entries() sets target to
                                     * where the rule writes, given what earlier rules wrote */
    bool found, sliced; /* both paths exist; the old one is a slice of `origin` */
    int64_t *pick;      /* the indices of the slice's elements */
    size_t picks;
    struct map_text error; /* of looking up the paths */
    enum step step;
    struct map_text write_error;
    size_t next; /* entry with the same target, index + 1; 0: none */
};

/* A child of a node of the model that has a subtree `*` or `**`, too. */
struct neighbour {
    struct map_text name;
    size_t next; /* of the same node, index + 1; 0: none */
};

struct loader {
    struct map_task *task;
    struct strmap old, new; /* nodes */
    /* In this phase: place to the last entry that wrote there, index + 1 */
    struct strmap written;
    struct filters restored, model;
    bool ignores;
    struct entry *entry; /* in the order of application: phase, then ord */
    size_t entries;
    struct strmap beside_star; /* a model's node to one of its leaves beside a subtree `*` */
    /* A model's node to its children beside such a subtree: the last, index + 1 */
    struct strmap neighbours;
    struct strmap seen; /* nodes that were looked at for that */
    struct neighbour *neighbour;
    size_t neighbour_count, neighbour_space;
    struct strmap targets; /* place to the first entry that writes there, index + 1 */
    size_t at_root;        /* the same for the root */
    /* The entries at or above a leaf: scratch space of decide() */
    const struct entry **over;
    size_t over_space;
    struct text key;   /* scratch space of print_key() */
    struct text place; /* and of neighbours_recover() */
};

/* Where a path has led so far: a node, or some elements of the list there. */
struct found {
    struct map_text place;
    int64_t *pick;
    size_t picks;
    bool sliced;
};

/* --- kauldron_node.c --------------------------------------------------------------------- */

/* Put every leaf and every node above it into the map. */
bool kauldron_index_nodes(struct map_task *t, struct strmap *nodes, const struct map_tree *tree);
/* 0: there is no such node. */
uint64_t kauldron_node_at(const struct strmap *nodes, struct map_text place);
const struct map_leaf *kauldron_leaf_at(const struct map_tree *tree, const struct strmap *nodes,
                                        struct map_text place);
struct map_text kauldron_join(struct map_task *t, struct map_text place, struct map_text rest);
/* Whether the node is at or below the place; *rest is its name from there. */
bool kauldron_is_below(struct map_text place, struct map_text name, struct map_text *rest);
/* The parent of a place (the root's is the root); *part is the last component. */
struct map_text kauldron_above(struct map_text place, struct map_text *part);
struct map_text kauldron_element(struct map_task *t, struct map_text list, int64_t i);
/* Whether the first component of a rest is a position in a list of this length. */
bool kauldron_is_position(struct map_text rest, size_t length);
/* Whether the node counts as a list: all its children are numbers, and 0 is among them. */
bool kauldron_is_list(struct map_task *t, const struct map_tree *tree, const struct strmap *nodes,
                      struct map_text place);
/* How many elements: children 0, 1, 2, ... without a gap. */
int64_t kauldron_list_length(struct map_task *t, const struct strmap *nodes, struct map_text list);
/* The node that a path leads to; false if absent, and *error says why. */
bool kauldron_look_up(struct map_task *t, const struct strmap *nodes, const struct kontext *path,
                      struct found *out, struct map_text *error);

/* --- kauldron_rule.c --------------------------------------------------------------------- */

bool kauldron_read_filters(struct loader *l, const char *option, struct filters *f);
void kauldron_filters_release(struct filters *f);
/* False, too, where a pattern could not be tried on the key: f->broken says so. */
bool kauldron_is_ignored(struct loader *l, struct filters *f, struct map_text rest);
struct map_text kauldron_unwanted_key(struct loader *l, const char *what, struct map_text rest,
                                      const char *option);
struct map_text kauldron_glob_error(struct loader *l, struct map_text key);
/* The place in the source that a rule maps to `rest` below its new path; false: the rule takes
 * a slice, and `rest` is not in it. */
bool kauldron_origin_of(struct loader *l, const struct entry *e, struct map_text rest,
                        struct map_text *out);
/* The inverse: where a name of the source goes, relative to the rule's new path. The n-th
 * element of a slice goes to n. False: the rule does not take the name. */
bool kauldron_rest_of(struct loader *l, const struct entry *e, struct map_text name,
                      struct map_text *rest);

/* --- kauldron_write.c -------------------------------------------------------------------- */

bool kauldron_read_entries(struct loader *l);

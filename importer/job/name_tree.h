/*
 * name_tree.h - names of the values of a nested structure: keys and positions on the way from its root,
 * joined by a separator.
 *
 *   name_tree_init(&t, '/', path, err);
 *   name_tree_enter(&t, false, at);          the root is an object: its values follow
 *   name_tree_child(&t, &key, at);           t.path is now the name of the value of this key
 *   name_tree_child(&t, NULL, at);           ... and of the next value, by its position
 *   name_tree_leave(&t);                     t.path is the name of the object that ended
 *
 * name_tree_json() does all this for a JSON value. The tree bounds depth, the bytes of one name,
 * and of all names that are counted, as n keys inside each other make names of n^2 bytes. Functions that
 * return bool are false after an error in t->err.
 */
#pragma once

#include "catalog/base/json.h"

#define NAME_TREE_DEPTH 128

struct name_tree {
    struct text path; /* of the current value: a caller may begin it with a prefix, */
    bool prefixed;    /* which is joined to the keys of the root, too; */
    char separator;   /* by this */
    unsigned depth;   /* levels that are open: objects and lists around the current value */
    unsigned deepest; /* most levels */
    uint64_t size;    /* of the file: bounds what name_tree_count() accepts */
    uint64_t bytes;   /* counted so far */
    const char *source;
    struct error *err; /* NULL: the caller looks at path.failed */
    struct name_level {
        size_t path;   /* length of the level's own path in `path` above */
        uint64_t next; /* position of the next value; 0 at the end of a level: it is empty */
        bool list;
    } levels[NAME_TREE_DEPTH];
};

void name_tree_init(struct name_tree *, char separator, const char *source, struct error *err);
void name_tree_release(struct name_tree *);

/* Enter the current value, an object or a list; `at` is its place in the file, for errors. */
bool name_tree_enter(struct name_tree *, bool list, uint64_t at);
/* Leave the innermost level, which becomes the current value. Its `next` is still valid. */
struct name_level *name_tree_leave(struct name_tree *);

/* Go to the next value of the innermost level. Key NULL: its position. */
bool name_tree_child(struct name_tree *, const struct bytes *key, uint64_t at);
/* The same for a key that the caller appends to the path and then checks. */
void name_tree_next(struct name_tree *);
/* Whether the path fits its limit. */
bool name_tree_fits(struct name_tree *, uint64_t at);

/* Count the bytes of the current path, which the caller keeps. */
bool name_tree_count(struct name_tree *, uint64_t at);

/* Walk the next value of a JSON text. see() is called with j->type for
 *   a key            the path is its object's. It may read the value, which then is not walked;
 *   a value          under its path. An object or list whose first token is the last one read is
 *                    entered, unless see() reads it to its end;
 *   the end of an object or list without values, under its path.
 * False after an error, or if see() returned false. */
bool name_tree_json(struct name_tree *, struct json *, bool (*see)(void *context), void *context);

/*
 * pickle_graph.h - what a pickle would build, without building it.
 *
 * A pickle is a program for a small stack machine. This one runs every opcode symbolically:
 * nothing is imported, looked up or called. The result is a graph of nodes in which a class
 * or function is only its name (PICKLE_GLOBAL), and whatever would have been called or
 * constructed is a PICKLE_CALL with its arguments, its state (BUILD) and the items that were
 * put into it. Which names mean something is for the caller to say; every name that occurs
 * is in `globals`, also when its call left no trace in the graph or the pickle broke off.
 *
 * The graph may have cycles and shared nodes (memo), so whoever walks it keeps a visited set
 * and does not recurse. Memory is in proportion to the bytes of the pickle: long byte strings
 * stay in the source, and no number in the file sizes anything.
 *
 * Source: CPython Lib/pickle.py, Lib/pickletools.py (protocols 0 to 5).
 * Refused: EXT1, EXT2, EXT4, NEXT_BUFFER, READONLY_BUFFER.
 */
#pragma once

#include "catalog/base/arena.h"
#include "catalog/base/bits.h"
#include "catalog/base/error.h"
#include "catalog/data/store/source.h"

typedef uint32_t pickle_ref; /* reference to a node; 0: none */

enum pickle_kind {
    PICKLE_NOTHING, /* node 0 */
    PICKLE_NONE,
    PICKLE_FALSE,
    PICKLE_TRUE,
    PICKLE_INT,    /* integer */
    PICKLE_BIGINT, /* text: decimal */
    PICKLE_FLOAT,  /* real */
    PICKLE_TEXT,   /* text: UTF-8, surrogates passed through as the pickle has them */
    PICKLE_BYTES,  /* data */
    PICKLE_TUPLE,  /* items */
    PICKLE_LIST,   /* items */
    PICKLE_SET,    /* items; frozen ones too */
    PICKLE_DICT,   /* items: key, value, key, value, in the order that the keys were first set;
                      of keys that are equal texts or integers only one is left, with the last
                      value */
    PICKLE_GLOBAL, /* integer: position in globals */
    PICKLE_CALL,   /* call */
    PICKLE_PERSID, /* items: the one persistent id */
};

/* A byte string, which stays in the pickle's source. */
struct pickle_data {
    uint64_t offset, len; /* in bytes */
};

#define PICKLE_STR8 1 /* flag of a text: 8-bit characters, as written by Python 2 */

struct pickle_call {
    pickle_ref callee, args;  /* any nodes */
    pickle_ref kwargs, state; /* of NEWOBJ_EX, of BUILD; 0: none */
    pickle_ref more_state;    /* a second BUILD's */
    pickle_ref list, dict;    /* what APPEND and SETITEM added; 0: nothing */
};

struct pickle_node {
    uint8_t kind;
    uint8_t flags;  /* PICKLE_STR8; the others are the walker's */
    uint32_t count; /* of items, or bytes of text (without the NUL) */
    union {
        int64_t integer;
        double real;
        const char *text;
        pickle_ref *items;
        struct pickle_data *data;
        struct pickle_call *call;
    };
};

/* What Python refuses, or what changes something that the pickle did not make. The rest is read all the
 * same. */
enum pickle_oddity_kind {
    PICKLE_STATE, /* a state for a node that no call made */
    PICKLE_ITEMS, /* items for a node that is no container of the kind; for a call, its first ones,
                       which may be fine: call->list, call->dict */
    PICKLE_NOT_UTF8 /* a text; surrogates are fine */
};

struct pickle_oddity {
    enum pickle_oddity_kind kind;
    pickle_ref node;
    uint64_t offset; /* of the opcode */
};

/* A class or function by name. Names of Python 2's modules are replaced by today's ("__builtin__" by
 * "builtins", "commands" by "subprocess"), "numpy._core" by "numpy.core". */
struct pickle_global {
    const char *name; /* "module.name", NUL-terminated; may hold anything else */
    size_t len, module_len;
    uint64_t offset; /* offset of the opcode that first named it */
    bool called;     /* it was called, or constructed an object */
    int meaning;     /* for the caller */
};

struct pickle {
    struct arena *arena;
    pickle_ref root;
    uint64_t end; /* offset after STOP */
    struct pickle_global *globals;
    size_t global_count;
    struct pickle_oddity *oddities;
    size_t oddity_count;
    uint32_t node_count;
    uint64_t text_bytes;        /* of all strings that were read */
    struct pickle_node **pages; /* PICKLE_PAGE nodes each */
};

#define PICKLE_PAGE 128

static inline struct pickle_node *pickle_at(const struct pickle *p, pickle_ref ref)
{
    return &p->pages[ref / PICKLE_PAGE][ref % PICKLE_PAGE];
}
static inline enum pickle_kind pickle_kind(const struct pickle *p, pickle_ref ref)
{
    return (enum pickle_kind)pickle_at(p, ref)->kind;
}

/* Run the pickle that begins at `offset` of `source`. ERR_CORRUPT, ERR_UNSUPPORTED, ERR_LIMIT
 * (LIMIT_PICKLE_NODES), ERR_IO, ERR_MEMORY, with the opcode's offset plus `base` in the error.
 * The globals are valid after an error too. The arena has an `err`. */
enum status pickle_run(const struct source *source, uint64_t offset, uint64_t base, struct arena *,
                       struct pickle *out, struct error *);

/* Item `i` of a tuple, list, …; 0 past the end, or if the node has no items. */
pickle_ref pickle_item(const struct pickle *, pickle_ref, uint32_t i);
/* The value of a text key of a dict; 0: none. Linear. */
pickle_ref pickle_get(const struct pickle *, pickle_ref dict, const char *key);
bool pickle_is_text(const struct pickle *, pickle_ref, const char *text);
/* Offset in the source of a text's stored form; NO_OFFSET if it is stored in another form. */
uint64_t pickle_text_offset(const struct pickle_node *);

/*
 * operation.h - a rule's operations on a tensor, as text: a JSON list of lists, each the name of
 * an operation and its arguments.
 *
 *   [["reshape",[32,2,64,-1]],["permute",[0,2,1,3]],["flatten",0,2]]
 *
 * schema/rules/README.md is their manual. Here they are only read; view.h knows what they do.
 * The text comes from people and may be anything.
 */
#ifndef CKPTDB_COMPOSE_OPERATION_H
#define CKPTDB_COMPOSE_OPERATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "catalog/base/json.h"

#define OPERATION_ARGUMENTS 3
#define OPERATION_LIST_MAX  64 /* numbers of a list */

enum operation_kind {
    OPERATION_CAST,
    OPERATION_TRANSPOSE,
    OPERATION_PERMUTE,
    OPERATION_RESHAPE,
    OPERATION_FLATTEN,
    OPERATION_TAKE,
    OPERATION_SLICE,
    OPERATION_SCALE,
    OPERATION_ZEROS,
    /* One tensor becomes several: */
    OPERATION_UNSTACK,
    OPERATION_SPLIT,
    OPERATION_COPIES,
    /* Several become one: */
    OPERATION_STACK,
    OPERATION_CONCAT,
};

struct argument {
    const char *at; /* as in the text; a string without its quotes */
    size_t len;
    bool text, list, whole;
    int64_t integer; /* where `whole` */
    double number;   /* of a number, or of a text that is one; else NaN */
};

struct operation {
    enum operation_kind kind;
    const char *name;
    const char *at; /* all of it in the text, brackets included */
    size_t len;
    struct argument argument[OPERATION_ARGUMENTS];
    unsigned arguments;
};

/* Walks over the elements of a JSON list, each as in the text. Not to be copied. */
struct elements {
    const char *text, *rest; /* rest: after the last one */
    struct json json;
    struct error why;
};

void elements_of(struct elements *, const char *text, size_t len);
/* Of an argument; -1 is then the next one where it is not a list. */
void argument_elements(struct elements *, const struct argument *);
/* The next one: 1. 0: that was the last. -1: it is not a list. */
int elements_next(struct elements *, const char **at, size_t *len);

/* The next operation of a list of them. 1: there is one. 0: that was the last. -1: *err says what is
 * wrong (ERR_ARGUMENT). */
int operations_next(struct elements *, struct operation *out, struct error *err);

/* One operation, which is `len` bytes of a text. As operations_next(), but never 0. */
int operation_read(const char *text, size_t len, struct operation *out,
                   struct error *err);

static inline bool operation_divides(const struct operation *o)
{
    return o->kind >= OPERATION_UNSTACK && o->kind <= OPERATION_COPIES;
}

static inline bool operation_joins(const struct operation *o)
{
    return o->kind >= OPERATION_STACK;
}

/* Whether it leaves the elements in their order. */
static inline bool operation_only_shapes(const struct operation *o)
{
    return o->kind == OPERATION_CAST || o->kind == OPERATION_RESHAPE ||
           o->kind == OPERATION_FLATTEN;
}

/* A value of a text, as an argument. */
void argument_read(struct argument *, const char *at, size_t len);

/* The whole numbers of a list argument; false: it is none, or has too many. */
bool argument_integers(const struct argument *, int64_t out[OPERATION_LIST_MAX],
                       unsigned *count);

#endif

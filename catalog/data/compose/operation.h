/*
 * operation.h - reads a rule's operations on a tensor from text: a JSON list of lists, each with
 * the name of an operation and its arguments.
 *
 *   [["reshape",[32,2,64,-1]],["permute",[0,2,1,3]],["flatten",0,2]]
 *
 * schema/rules/README.md is their manual. Here they are only parsed; view.h applies them.
 * The text comes from users and may be anything.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "catalog/base/json.h"

#define OPERATION_ARGUMENTS 3
#define OPERATION_LIST_MAX  64 /* most numbers in a list */

enum operation_kind {
    OPERATION_CAST,
    OPERATION_TRANSPOSE,
    OPERATION_PERMUTE,
    OPERATION_RESHAPE,
    OPERATION_FLATTEN,
    OPERATION_TAKE,
    OPERATION_SLICE,
    OPERATION_SCALE,
    OPERATION_ADD,
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
    const char *at; /* in the text; a string without its quotes */
    size_t len;
    bool text, list, whole;
    int64_t integer; /* valid if `whole` */
    double number;   /* of a number, or a string that is a number; else NaN */
};

struct operation {
    enum operation_kind kind;
    const char *name;
    const char *at; /* the whole operation in the text, brackets included */
    size_t len;
    struct argument argument[OPERATION_ARGUMENTS];
    unsigned arguments;
};

/* Walks over the elements of a JSON list, each a part of the text. Must not be copied. */
struct elements {
    const char *text, *rest; /* rest: after the last one */
    struct json json;
    struct error why;
};

void elements_of(struct elements *, const char *text, size_t len);
/* The elements of an argument. If that is not a list, elements_next() returns -1. */
void argument_elements(struct elements *, const struct argument *);
/* 1: *at, *len is the next element. 0: the list has ended. -1: not a valid list. */
int elements_next(struct elements *, const char **at, size_t *len);

/* 1: *out is the next operation of the list. 0: the list has ended. -1: *err says what is wrong
 * (ERR_ARGUMENT). */
int operations_next(struct elements *, struct operation *out, struct error *err);

/* Read one operation from `len` bytes of text. Returns 1 or -1, as operations_next(). */
int operation_read(const char *text, size_t len, struct operation *out, struct error *err);

static inline bool operation_divides(const struct operation *o)
{
    return o->kind >= OPERATION_UNSTACK && o->kind <= OPERATION_COPIES;
}

static inline bool operation_joins(const struct operation *o)
{
    return o->kind >= OPERATION_STACK;
}

/* Whether it keeps the elements in their order. */
static inline bool operation_only_shapes(const struct operation *o)
{
    return o->kind == OPERATION_CAST || o->kind == OPERATION_RESHAPE ||
           o->kind == OPERATION_FLATTEN;
}

/* Read one JSON value as an argument. */
void argument_read(struct argument *, const char *at, size_t len);

/* The integers of a list argument; false if it is not a list of integers, or too long. */
bool argument_integers(const struct argument *, int64_t out[OPERATION_LIST_MAX], unsigned *count);

/*
 * difference.h - how the state that a checkpoint holds differs from the state that an optimizer would
 * keep for its parameters.
 */
#pragma once

#include "catalog/maps/optimizer/optimizer.h"

/* A leaf of the state that a checkpoint holds. */
struct optimizer_leaf {
    const char *name;
    size_t len;
    const char *shape, *dtype; /* NULL: not known */
    bool null;                 /* no tensor */
};

/* Initialise `arena` only; add leaves in the checkpoint's order. Release it before the arena. */
struct optimizer_held {
    struct arena *arena;
    struct optimizer_leaf *at;
    size_t count, space, nulls;
    struct strmap names; /* name to index in `at`, plus 1 */
};
void optimizer_add_leaf(struct optimizer_held *, const struct optimizer_leaf *);
void optimizer_release_held(struct optimizer_held *);

enum optimizer_problem {
    PROBLEM_NONE,
    PROBLEM_MISSING,
    PROBLEM_UNEXPECTED,
    PROBLEM_SHAPE,
    PROBLEM_DTYPE,
    PROBLEM_NULL,  /* one side has null where the other has tensors */
    PROBLEM_ERROR, /* the optimizer does not accept these parameters */
    PROBLEMS,
};
/* "missing", … */
const char *optimizer_problem_name(enum optimizer_problem);

struct optimizer_difference {
    enum optimizer_problem problem;
    const struct optimizer_row *wanted; /* NULL: the optimizer has no such leaf */
    const struct optimizer_leaf *held;  /* NULL: the checkpoint has no such leaf */
};

/* In the order of the rows, and then of the leaves; in the arena. */
struct optimizer_differences {
    struct arena *arena;
    struct optimizer_difference *at;
    size_t count, space;
};

enum status optimizer_compare(const struct optimizer_rows *wanted,
                              const struct optimizer_held *held, struct optimizer_differences *out);

/* Append the name of the leaf; what was expected; what was found: "float32[2,3]", "null" or an
 * error. False if absent, and nothing was appended. */
bool optimizer_difference_name(const struct optimizer_difference *, struct text *out);
bool optimizer_difference_expected(const struct optimizer_difference *, struct text *out);
bool optimizer_difference_found(const struct optimizer_difference *, struct text *out);

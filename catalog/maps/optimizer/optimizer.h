/*
 * optimizer.h - the state that an optimizer keeps for a checkpoint's parameters: names, shapes and
 * dtypes as T5X stores them under state/. Parameters in, rows out; independent of SQLite.
 *
 *   struct arena a = {.err = &err};
 *   struct optimizer_params params = {.arena = &a};
 *   optimizer_add_param(&params, name, len, "[2,3]", "float32");      in JAX's order, each
 *   struct optimizer_rows rows = {.arena = &a};
 *   if (optimizer_state(spec, &params, &tables, &rows) == OK)
 *       for (size_t i = 0; i < rows.count; i++)
 *           optimizer_row_name(&rows.at[i], &text);                   and its shape, dtype, …
 *
 * An exception of the original or an error in the spec is a row with `error`, in the original's
 * words. The functions themselves fail only if memory runs out or a regex hits a limit: that is in the
 * arena's `err`, which must be set (arena.h).
 * schema/optimizers.md is the manual of specs, schema/50_optimizer.sql has the tables.
 */
#pragma once

#include <stdint.h>

#include "catalog/base/arena.h"
#include "catalog/base/bits.h"
#include "catalog/base/strmap.h"
#include "catalog/base/text.h"

#define STATE_ROOT "state/param_states" /* T5X's */

/* A shape, and the two dimensions that Adafactor's heuristic would factor. */
struct optimizer_shape {
    const char *text; /* JSON: "[2,3]" */
    unsigned rank;
    uint64_t *size; /* of each dimension */
    unsigned largest,
        second; /* the largest dimensions, for rank 2 and above; of equal ones the later */
};

struct optimizer_param {
    const char *name;
    size_t len;
    const struct optimizer_shape *shape; /* NULL: not known */
    const char *dtype;                   /* NULL: not known */
};

/* Initialise `arena` (and `root`) only. Equal shapes are stored once. Release it before the
 * arena. */
struct optimizer_params {
    struct arena *arena;
    /* Where Optax's state for them is; NULL: T5X's "state/param_states", with a
     * state/step beside it */
    const char *root;
    struct optimizer_param *at;
    size_t count, space;
    struct strmap shapes, dtypes;
};

/* Strings are copied; `shape` and `dtype` may be NULL. */
void optimizer_add_param(struct optimizer_params *, const char *name, size_t len, const char *shape,
                         const char *dtype);
void optimizer_release_params(struct optimizer_params *);

/* A leaf of the state: its name in pieces, and what it is. Without shape, dtype and error it is
 * null. */
struct optimizer_row {
    const char *path; /* "state/param_states/0/mu"; NULL: an error without a name */
    const struct optimizer_param *param; /* whose name follows; NULL: none */
    const char *slot;                    /* "/v_row", after that; NULL: nothing */
    const char *shape, *dtype, *axes, *error;
};

struct optimizer_rows {
    struct arena *arena;
    struct optimizer_row *at;
    size_t count, space;
};

bool optimizer_row_name(const struct optimizer_row *, struct text *out);

/*
 * The tables, each a view of schema/50_optimizer.sql, with its columns in their order. All are
 * texts; NULL if absent. A `when` is "ARGUMENT IS {and ARGUMENT IS}", where IS is one of given,
 * null, true, false and schedule; a chain is "NAME[(TO=FROM …)][ if WHEN], …".
 */
struct optax_function {
    const char *name, *kind; /* "optimizer" or "transformation" */
    const char *chain;       /* what an optimizer is made of */
    const char *arguments;   /* JSON, with their defaults; what must be given: 0.0 */
};
struct optax_slot {
    const char *of, *slot;
    const char *scope; /* "one" row, or one a "param" */
    /* "same" as the parameter's, "dimensions": a vector for each; "rows", "columns",
     * "unfactored" of a factored moment; or itself, "[]" */
    const char *shape;
    /* "@": the parameter's; "@mu_dtype": that argument, or the parameter's */
    const char *dtype;
    const char *when;
};
struct optax_unregistered {
    const char *of, *state, *when;
};
struct adafactor_argument {
    const char *name;
};
struct adafactor_axis {
    const char *axis, *word;
};

struct optimizer_tables {
    const struct optax_function *function;
    const struct optax_slot *slot;
    const struct optax_unregistered *unregistered;
    const struct adafactor_argument *argument;
    const struct adafactor_axis *axis;
    size_t functions, slots, unregistereds, arguments, axes;
};

/* Where the parameters have a root, T5X's own optimizers have no rows at all. */
enum status optimizer_state(struct bytes spec, const struct optimizer_params *,
                            const struct optimizer_tables *, struct optimizer_rows *out);

/* The parameters that each filter of a JSON list selects: rows whose `path` is the filter's place in the list,
 * in digits, with a parameter or an error. */
void optimizer_filter(struct bytes filters, const struct optimizer_params *,
                      struct optimizer_rows *out);

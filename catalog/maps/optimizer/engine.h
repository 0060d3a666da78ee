/*
 * engine.h - what the files of the engine share while they answer one question. Failures are sticky
 * (arena.h): the first is in run->err, and later answers mean nothing. An error in a
 * spec is a row, not a failure.
 */
#pragma once

#include "catalog/base/json.h"
#include "catalog/base/strmap.h"
#include "catalog/maps/optimizer/optimizer.h"
#include "catalog/maps/regex/regex.h"

struct run {
    struct arena *arena;
    const struct optimizer_params *params;
    const struct optimizer_tables *tables;
    const struct json_value *spec;
    struct optimizer_rows *rows;
    struct regex **regex; /* all that were compiled; run_end() frees them */
    size_t regexes, regex_space;
    const struct json_value *indexed; /* axes_of() asked this object last: */
    struct strmap axes;               /* its members by key */
    struct error *err;                /* the arena's */
};

/* Some of the parameters, in their order. */
struct members {
    const struct optimizer_param **at;
    size_t count;
};

/* Release what is not in the arena. */
void run_end(struct run *);

void run_add(struct run *, struct optimizer_row row);
/* Add a row that is only an error. */
void run_fault(struct run *, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* Texts in the arena. */
const char *run_textf(struct run *, const char *fmt, ...) PRINTF_LIKE(2, 3);
const char *run_json(struct run *, const struct json_value *);  /* as JSON */
const char *run_plain(struct run *, const struct json_value *); /* strings unquoted */
const char *run_repr(struct run *, const char *text);           /* as Python prints a str */

/* The text of a shape without the dimensions for which `drop` is true. */
const char *run_shape(struct run *, const struct optimizer_shape *, const bool *drop);
/* The same without dimension `one`. */
const char *run_shape_without(struct run *, const struct optimizer_shape *, unsigned dimension);

/* Compile a pattern for re.search. NULL if Python would refuse it: *error says why. */
struct regex *run_regex(struct run *, const struct json_value *pattern, const char **error);

/* All parameters. */
struct members members_all(struct run *);

/* --- values of a spec ----------------------------------------------------------------------- */

/* A number; 0 or 1 for false or true; `otherwise` for anything else. */
double value_number(const struct json_value *, double otherwise);
/* Python's truth of a value: not false, zero or empty; `otherwise` for null. */
bool value_true(const struct json_value *, bool otherwise);
static inline bool value_null(const struct json_value *v)
{
    return json_type_of(v) == JSON_NULL;
}
/* The dtype that an argument names, "bfloat16"; NULL: none. T5X has no float64: it
 * becomes float32. */
const char *value_dtype(struct run *, const struct json_value *);
/* The axes of a parameter, a JSON list; NULL: none are given. */
const struct json_value *axes_of(struct run *, const struct json_value *axes,
                                 const struct optimizer_param *);

/* --- filters: which parameters a part of a spec is for --------------------------------------- */

/* Check a filter; for anything else add a fault, and return false. */
bool filter_check(struct run *, const struct json_value *);
/* The members of `from` for which a (checked) filter yields `wanted`. */
struct members filter_members(struct run *, const struct json_value *, bool wanted,
                              const struct members *from);

/* --- the kinds of optimizers ----------------------------------------------------------------- */

/* The whole answer for {"adafactor": …} and {"multi": …}. */
void adafactor_state(struct run *);
/* The whole answer for {"optax": …}. */
void optax_state(struct run *);
/* Add faults for what Optax refuses about a transformation whatever the parameters are. */
void optax_faults(struct run *, const struct json_value *tx);
/* Add faults for what it refuses with these parameters. */
void optax_late_faults(struct run *, const struct json_value *tx, const struct members *);

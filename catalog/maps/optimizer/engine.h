/*
 * engine.h - what the files of the engine share while they answer one question. Functions that return
 * bool return false after a failure, which is in run->err; an error in a spec is a row, not a
 * failure.
 */
#ifndef CKPTDB_ENGINE_H
#define CKPTDB_ENGINE_H

#include "catalog/base/json.h"
#include "catalog/base/strmap.h"
#include "catalog/maps/optimizer/optimizer.h"
#include "catalog/maps/regex/regex.h"

#define STATE_ROOT "state/param_states"

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
    struct error *err;
};

/* Some of the parameters, in their order. */
struct members {
    const struct optimizer_param **at;
    size_t count;
};

void run_end(struct run *);
bool run_no_memory(struct run *); /* false */

bool run_add(struct run *, struct optimizer_row row);
/* Add a row that is only an error. */
bool run_fault(struct run *, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* Texts in the arena. NULL: no memory. */
const char *run_textf(struct run *, const char *fmt, ...) PRINTF_LIKE(2, 3);
const char *run_json(struct run *, const struct json_value *);  /* as JSON */
const char *run_plain(struct run *, const struct json_value *); /* strings unquoted */
const char *run_repr(struct run *, const char *text);           /* as Python prints a str */

/* The text of a shape without the dimensions for which `drop` is true. */
const char *run_shape(struct run *, const struct optimizer_shape *, const bool *drop);
/* The same without one of them. */
const char *run_shape_without(struct run *, const struct optimizer_shape *, unsigned dimension);

/* Compile a pattern for re.search. If Python would refuse it, *out is NULL and *error says why. */
bool run_regex(struct run *, const struct json_value *pattern, struct regex **out,
               const char **error);

/* All parameters. */
bool members_all(struct run *, struct members *out);

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

/* Check a filter; if it is none, *good is false and a fault was added. */
bool filter_check(struct run *, const struct json_value *, bool *good);
/* Those of `from` for which a (checked) filter yields `wanted`. */
bool filter_members(struct run *, const struct json_value *, bool wanted,
                    const struct members *from, struct members *out);

/* --- the kinds of optimizers ----------------------------------------------------------------- */

/* The whole answer for {"adafactor": …} and {"multi": …}. */
bool adafactor_state(struct run *);
/* The whole answer for {"optax": …}. */
bool optax_state(struct run *);
/* Add faults for what Optax refuses about a transformation whatever the parameters are. */
bool optax_faults(struct run *, const struct json_value *tx);
/* Add faults for what it refuses with these parameters. */
bool optax_late_faults(struct run *, const struct json_value *tx, const struct members *);

#endif

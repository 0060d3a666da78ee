/* optax_args.h - the arguments of Optax's functions, and the small language of the tables
 * (optimizer.h). */
#pragma once

#include "catalog/maps/optimizer/engine.h"

/* Arguments by name, in the order of the signature. */
struct arg {
    const char *name;
    const struct json_value *value; /* NULL or null: None */
};
struct args {
    struct arg *at;
    size_t count;
};

/* NULL: there is no such function. `name` may be NULL. */
const struct optax_function *optax_function_called(const struct run *, const char *name);

/* The function's arguments: the defaults, overridden by `given` (an object, or NULL). */
struct args args_of(struct run *, const struct optax_function *, const struct json_value *given);
/* NULL: there is no such argument. */
const struct json_value *args_get(const struct args *, const char *name, size_t len);
/* Replace an argument, or append it. */
void args_set(struct run *, struct args *, const char *name, size_t len,
              const struct json_value *value);

bool is_schedule(const struct json_value *);

/* Whether a condition such as "momentum given and mask null" holds. NULL and "" always hold. */
bool args_when(const struct args *, const char *when, size_t len);

/* The next link of a chain whose condition holds (NULL: no more), and its arguments, which are the
 * optimizer's, renamed where the chain says so. Advances *chain. */
const struct optax_function *chain_next(struct run *, const char **chain, const struct args *args,
                                        struct args *out);

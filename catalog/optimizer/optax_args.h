/* optax_args.h - the arguments of Optax's functions, and the small language of the tables. */
#ifndef CKPTDB_OPTIMIZER_OPTAX_ARGS_H
#define CKPTDB_OPTIMIZER_OPTAX_ARGS_H

#include "catalog/optimizer/run.h"

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

/* The function's arguments with their defaults; `given`, an object or NULL, in their places. */
bool args_of(struct run *, const struct optax_function *, const struct json_value *given,
             struct args *out);
/* NULL where there is none. */
const struct json_value *args_get(const struct args *, const char *name, size_t len);
/* Set one, in its place or at the end. (args_of() leaves room for `count` more of each.) */
bool args_set(struct run *, struct args *, const char *name, size_t len,
              const struct json_value *value);

bool is_schedule(const struct json_value *);

/* Whether "momentum given and mask null" is so. NULL and "" are always so. */
bool args_when(const struct args *, const char *when, size_t len);

/* The next link of a chain whose condition holds: its function's name, and its arguments, those of
 * the optimizer and the renamed ones. *chain moves on; false in *found: no more. */
bool chain_next(struct run *, const char **chain, const struct args *args,
                const struct optax_function **link, struct args *out, bool *found);

#endif

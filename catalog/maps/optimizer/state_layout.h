/*
 * state_layout.h - finds where a checkpoint keeps optimizer state, and for which parameters:
 *
 *   T5X                     state/step, state/param_states/…    for target/…
 *   Flax TrainState, Orbax  opt_state/0/mu/…                    for params/…, or a like folder
 *   NNX                     opt_state/0/mu/…/value              for …/value
 *   Optax's state alone     0/mu/…                              for the parameters named in it
 *
 * Combinators (chains, named chains, masks, labels, MultiSteps, injected hyperparameters, …) are
 * entered: each state inside (one per label for multi_transform) becomes a place of its own. A
 * chain of more links than are looked at is a place with an error.
 */
#pragma once

#include "catalog/maps/optimizer/difference.h"

struct optimizer_place {
    /* With its root, "opt_state/1"; "" is "", and its names begin with '/'; NULL: T5X's */
    struct optimizer_params params;
    struct optimizer_held held;
    /* Why the folder is not looked at (no parameters, nothing held); or NULL */
    const char *error;
};

struct optimizer_layout {
    struct arena *arena;
    struct optimizer_place *at;
    size_t count, space;
};

/* `leaves` are all of a checkpoint's, in its order; `t5x_params` its parameters where it is
 * T5X's. If there is no place, there is no state, or no parameters that it could belong to (and any
 * optimizer would fit). The names in both must outlive the layout. */
enum status optimizer_find_layout(const struct optimizer_held *leaves,
                                  const struct optimizer_params *t5x_params,
                                  const struct optimizer_tables *, struct optimizer_layout *out);
void optimizer_release_layout(struct optimizer_layout *);

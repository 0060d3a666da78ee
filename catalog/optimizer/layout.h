/*
 * layout.h - where a checkpoint keeps an optimizer's state, and of which parameters:
 *
 *   T5X                     state/step, state/param_states/…       of target/…
 *   Flax TrainState, Orbax  opt_state/0/mu/…                       of params/…, or what has such names
 *   NNX                     opt_state/0/mu/…/value                 of …/value
 *   Optax's state alone     0/mu/…                                 of what is in it
 *
 * Inside, combinators (chains, also named ones, masks, labels, MultiSteps, injected hyperparameters,
 * …) are gone into as far as they have one state inside, or one a label: each is a place by itself.
 */
#ifndef CKPTDB_OPTIMIZER_LAYOUT_H
#define CKPTDB_OPTIMIZER_LAYOUT_H

#include "catalog/optimizer/compare.h"

struct optimizer_place {
    struct optimizer_params
        params; /* with its root, "opt_state/1"; "" is "", and its names begin
                                       with '/'; NULL: T5X's */
    struct optimizer_held held;
};

struct optimizer_layout {
    struct arena *arena;
    struct optimizer_place *at;
    size_t count, space;
};

/* `leaves` are all of a checkpoint's, in its order; `t5x_params` its parameters where it is T5X's.
 * No place: there is no state, or no parameter that it could be of: every optimizer would fit. Names that both are of must outlive the layout. */
enum status optimizer_find_layout(const struct optimizer_held *leaves,
                                  const struct optimizer_params *t5x_params,
                                  const struct optimizer_tables *,
                                  struct optimizer_layout *out, struct error *err);
void optimizer_release_layout(struct optimizer_layout *);

#endif

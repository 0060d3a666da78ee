/*
 * chain.h - chains that people build themselves: finds bare transformations whose state is what a
 * place of a checkpoint (state_layout.h) holds.
 *
 *   1/count, 1/mu/…, 1/nu/…, 3/count     identity, scale_by_adam, identity, scale_by_schedule
 */
#pragma once

#include "catalog/maps/optimizer/state_layout.h"

struct optimizer_chain {
    const char *label; /* "optax.chain(scale_by_adam, scale_by_schedule)" */
    const char *spec;  /* NULL: a link holds what no transformation keeps */
};

/* If several transformations keep the same state, the first of the table is named. Links
 * without state are taken for identity. Texts are in the arena,
 * whose `err` gets a failure. */
enum status optimizer_chain_of(const struct optimizer_place *, const struct optimizer_tables *,
                               struct arena *, struct optimizer_chain *out);

/*
 * chain.h - chains that people make themselves: of a place with a state (layout.h), the bare
 * transformations that keep what its links hold.
 *
 *   1/count, 1/mu/…, 1/nu/…, 3/count     identity, scale_by_adam, identity, scale_by_schedule
 */
#ifndef CKPTDB_OPTIMIZER_CHAIN_H
#define CKPTDB_OPTIMIZER_CHAIN_H

#include "catalog/optimizer/layout.h"

struct optimizer_chain {
    const char *label; /* "optax.chain(scale_by_adam, scale_by_schedule)" */
    const char *spec;  /* NULL: a link holds what no transformation keeps */
};

/* Where several keep the same, the first of the table stands for them. Links that hold nothing are
 * taken for identity. Texts are in the arena. */
enum status optimizer_chain_of(const struct optimizer_place *,
                               const struct optimizer_tables *, struct arena *,
                               struct optimizer_chain *out, struct error *err);

#endif

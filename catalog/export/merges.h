/*
 * merges.h - the adapters that an export merges into its tensors.
 *
 * A query asks once what they change (schema/function/merged.sql). From then on a look-up of one
 * of these tensors gives the merged one (catalog/data/compose/merge_recipe.h), alone or as a part of what a
 * map makes, and nothing else in an export needs to know.
 */
#pragma once

#include "catalog/ckptdb.h"
#include "catalog/data/compose/compose.h"
#include "catalog/export/select.h"

struct merge_steps {
    int64_t id; /* of the base's tensor */
    const char *steps;
};

/* A tensor that only an adapter has: a classifier's head, say. */
struct merge_own {
    int64_t id;
    const char *name, *adapter;
};

struct merges {
    struct arena arena; /* of all below: the caller releases it */
    const struct ckptdb_merge *adapter;
    size_t adapters;
    bool wide;                /* there will be a cast: nothing is rounded before that */
    struct merge_steps *list; /* by id */
    size_t count, space;
    struct merge_own *own;
    size_t own_count, own_space;
    struct composer catalog; /* finds what is stored */
    const char *described;   /* paths and factors; NULL: not known yet */
};

/* Before the selection: query what the adapters change in its checkpoint. What cannot be merged becomes
 * refusals of the plan. */
enum status merges_find(struct merges *, sqlite3 *, const struct selection *, struct export_plan *,
                        struct error *err);
/* After it: add to the plan the tensors that only the adapters have, and the adapters as inputs. */
void merges_finish(struct merges *, sqlite3 *, const struct selection *, struct export_plan *,
                   struct error *err);

/* Find a tensor, or what a recipe (NULL: none) makes, as merged; `out` lives in `arena`. */
enum status merges_load(const struct merges *, int64_t id, const char *recipe, struct arena *arena,
                        struct stored_tensor *out, struct error *err);

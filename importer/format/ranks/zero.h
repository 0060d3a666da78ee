/*
 * zero.h - the float32 weights and moments that DeepSpeed's ZeRO flattens: each rank has a run of
 * elements of every group of parameters. A parameter becomes a row with pieces from each run that
 * it is in.
 *
 *   stages 1, 2   join the runs of all ranks: a group's parameters follow one another in it, then
 *                 padding. Of [2,3] and [4] in 2 ranks, rank 0 has 0 to 4 of the first, rank 1 its
 *                 element 5 and 0 to 3 of the second
 *   stage 3       each rank has ceil(elements / ranks) elements of every parameter, of all groups
 *                 joined. Of the same in 2 ranks, each has 3 of the first and 2 of the second
 *
 * Source: deepspeed/utils/zero_to_fp32.py (_zero3_merge_frozen_params too), runtime/engine.py.
 */
#pragma once

#include "catalog/base/strmap.h"
#include "importer/job/job.h"

/* Another name of a parameter, as of tied weights. */
struct zero_alias {
    const char *name;
    size_t len;
    struct zero_alias *next; /* NULL: the last one */
};

struct zero_param {
    const char *name;
    struct zero_alias *aliases;
    size_t len;
    unsigned group;
    unsigned rank;
    uint64_t *shape;
    uint64_t elements;
};

/* A rank's run of a group. */
struct zero_run {
    const char *slot; /* "fp32", "exp_avg" */
    unsigned group, rank;
    uint32_t file;
    uint64_t offset, elements;
    const char *dtype;
};

/* Everything lives in the job's arena. */
struct zero {
    struct job *job;
    const char *prefix; /* of all names: "zero." */
    unsigned stage, ranks;
    bool lost;         /* a rank's file is missing or unreadable: rows have no data */
    bool without_slot; /* names are PREFIX NAME, without a slot */
    struct zero_param *params;
    size_t param_count, param_space;
    struct zero_run *runs;
    size_t run_count, run_space;
    uint64_t alias_pieces; /* of rows of aliases so far */
};

void zero_add_param(struct zero *, const char *name, size_t len, unsigned group,
                    const uint64_t *shape, unsigned rank);
void zero_add_run(struct zero *, const struct zero_run *);

/* Give a parameter of `z` another name, under which it has the slot fp32, as in zero_to_fp32.py. */
void zero_add_alias(struct zero *, struct zero_param *, const char *name, size_t len);

/* Emit PREFIX NAME.SLOT for every parameter and slot. Runs that do not fit are issues. */
void zero_emit(struct zero *);

/* Parameters that are not trained: stage 3 stores a fragment of each in every rank's model states,
 * ceil(elements / ranks) elements, padded in the last ranks. */
struct zero_frozen {
    struct job *job;
    const char *prefix;
    struct zero *params;
    size_t count, space;
    struct strmap index; /* name -> position */
};
/* If a name is added twice, its first shape counts. */
void zero_frozen_add(struct zero_frozen *, const char *name, size_t len, const uint64_t *shape,
                     unsigned rank);
/* For zero_add_run(), as group 0; NULL if absent. */
struct zero *zero_frozen_find(const struct zero_frozen *, const char *name, size_t len);
void zero_frozen_emit(struct zero_frozen *, unsigned ranks, bool lost);

/*
 * cmd_map.h - the verbs of `map` that have files of their own, and its options.
 */
#pragma once

#include "shell/command/command.h"

/* Indexes of args->value. */
enum {
    TARGET,
    SET,
    MAP,
    FORMAT,
    NAME,
    OUT,
    NAMES,
    JOBS,
};

/* map infer A B: the rules that make B's names of A's. A status: 1 if a tensor of one side has no
 * match on the other; 2 if one could not be read. */
int map_infer(struct session *, const struct args *);
/* map why CHECKPOINT NAME: the rule and map that make a name, and what maps turn it into. A status:
 * 1 if no rule takes part. */
int map_why(struct session *, const struct args *);

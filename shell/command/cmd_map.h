/*
 * cmd_map.h - the verbs of `map` that have files of their own, and its options.
 */
#ifndef CKPTDB_CMD_MAP_H
#define CKPTDB_CMD_MAP_H

#include "shell/command/command.h"

/* Indexes of args->value. */
enum {
    TARGET,
    SET,
    MAP,
    FORMAT,
    NAME,
    OUT,
    JOBS,
};

/* map infer A B: the rules that make B's names of A's. A status: 1 where a tensor of one side has none on
 * the other; 2 where one could not be read. */
int map_infer(struct session *, const struct args *);
/* map why CHECKPOINT NAME: which rule of which map makes a name, and what maps make of it. A status: 1
 * where no rule takes part. */
int map_why(struct session *, const struct args *);

#endif

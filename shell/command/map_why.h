/*
 * map_why.h - map why CHECKPOINT NAME: which rule of which map makes a name, and what maps make of it.
 */
#ifndef CKPTDB_MAP_WHY_H
#define CKPTDB_MAP_WHY_H

#include "shell/command/command.h"

/* `map` and `target` NULL: all maps, no model. A status: 1 where no rule takes part. */
int map_why(struct session *, const struct args *, const char *map, const char *target);

#endif

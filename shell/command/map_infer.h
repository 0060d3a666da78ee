/*
 * map_infer.h - map infer A B: the rules that make B's names of A's.
 */
#ifndef CKPTDB_MAP_INFER_H
#define CKPTDB_MAP_INFER_H

#include "shell/command/command.h"

struct map_infer {
    const char *a, *b;
    const char *name;    /* keep the rules as this set; NULL: do not */
    const char *file;    /* write them to this file; NULL: do not */
    const char *threads; /* --jobs; NULL: one per core */
};

/* A status: 1 where a tensor of one side has none on the other; 2 where one could not be read. */
int map_infer(struct session *, const struct map_infer *);

#endif

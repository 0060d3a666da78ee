/*
 * map_load.h - a rule set from a file, SQL or JSON (schema/rules/README.md), into the catalog.
 */
#ifndef CKPTDB_SHELL_MAP_LOAD_H
#define CKPTDB_SHELL_MAP_LOAD_H

#include "shell/session/session.h"

/* In place of any set called `name`. `path` "-" is stdin. Says what is wrong and changes
 * nothing then; an exit status. */
int map_load(struct session *, const char *name, const char *path);

/* Whether the views run rules of this dialect. */
bool map_dialect_known(const char *dialect);

/* Whether maps of a dialect fill the names of a model, rather than making new ones. */
bool map_dialect_assigns(const char *dialect);

#endif

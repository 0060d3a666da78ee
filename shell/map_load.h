/*
 * map_load.h - a rule set from a file, SQL or JSON (schema/rules/README.md), into the catalog.
 */
#ifndef CKPTDB_SHELL_MAP_LOAD_H
#define CKPTDB_SHELL_MAP_LOAD_H

#include "shell/session/session.h"

/* In place of any set called `name`. `path` "-" is stdin. Says what is wrong and changes
 * nothing then; an exit status. */
int map_load(struct session *, const char *name, const char *path);

#endif

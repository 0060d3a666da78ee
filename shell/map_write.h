/*
 * map_write.h - a rule set as a file that `map load` reads (catalog/map/form.h).
 */
#ifndef CKPTDB_SHELL_MAP_WRITE_H
#define CKPTDB_SHELL_MAP_WRITE_H

#include "shell/session/session.h"

/* Print the set called `name` in the form `format`; an exit status. STATUS_TROUBLE, after
 * saying why and which form would do, where that form cannot hold it. */
int map_write(struct session *, const char *name, const char *format);

#endif

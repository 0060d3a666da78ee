/*
 * unheld.h - commands on files that no catalog holds. Such a file is imported into a catalog in memory,
 * which has the user's maps, optimizers and known classes; the command is run again on that one, and
 * finds the named files there. The user's catalog is not written.
 */
#pragma once

#include "shell/command/command.h"

/* session_open(); where the user has no catalog, but an argument is a file, one in memory. */
bool unheld_open(struct session *, enum ckptdb_mode, const struct args *);

/* Run a command whose catalog is open, and again after each import that it wants. The status is at least
 * STATUS_NO if an import had issues. */
int unheld_run(struct session *, const struct command *, const struct args *);

/* The user's catalog is back in its place. */
void unheld_end(struct session *);

/*
 * repl.h - the shell on a terminal: prompts, line editing, history, completion.
 */
#ifndef CKPTDB_REPL_H
#define CKPTDB_REPL_H

#include "shell/session/session.h"

/* Until .quit or Ctrl-D, after the user's own commands (`rc`). Returns the exit status. */
int repl_run(struct session *, bool rc);

#endif

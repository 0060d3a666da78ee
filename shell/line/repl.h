/*
 * repl.h - the shell on a terminal: prompts, line editing, history, completion.
 */
#ifndef CKPTDB_SHELL_REPL_H
#define CKPTDB_SHELL_REPL_H

#include "shell/session/session.h"

/* Until .quit or Ctrl-D. Returns the exit status. */
int repl_run(struct session *);

#endif

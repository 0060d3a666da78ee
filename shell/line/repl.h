/*
 * repl.h - the shell on a terminal: prompts, line editing, history, completion.
 */
#pragma once

#include "shell/session/session.h"

/* Until .quit or Ctrl-D, after the user's own commands (`rc`). Returns the exit status. */
int repl_run(struct session *, bool rc);

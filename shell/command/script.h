/*
 * script.h - running statements and dot-commands, wherever they come from.
 */
#pragma once

#include "shell/command/command.h"
#include "shell/command/statements.h"

/* Run all units of a stream or of a text. `name` is where they come from, for messages; NULL: the
 * command line. Stops at the first error unless told to go on; returns the worst status seen. */
int script_run_stream(struct session *, FILE *, const char *name);
int script_run_text(struct session *, const char *text);
/* A file; "-" is stdin. STATUS_TROUBLE when it cannot be read. */
int script_run_file(struct session *, const char *path);

/* Run the unit that the splitter holds. */
int script_run_unit(struct session *, enum unit, struct splitter *, const char *name);

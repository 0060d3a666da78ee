/*
 * history.h - the statements and commands of earlier sessions: a plain file, one line each, for
 * nobody else's eyes (mode 0600). A newline inside a statement is the byte 1, as psql has it.
 */
#pragma once

#define HISTORY_LINES 2000 /* entries kept; the file is cut back when it has twice as many */

/* $XDG_STATE_HOME/ckptdb/history, malloc'ed, its folder made; NULL if there is no place. */
char *history_path(void);
/* Call `take` for each of the last entries, oldest first. */
void history_load(const char *path, void (*take)(void *context, const char *entry), void *context);
/* Add an entry, without its last newline. */
void history_append(const char *path, const char *entry);

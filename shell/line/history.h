/*
 * history.h - the lines typed in earlier sessions: a plain file, one line each, for nobody
 * else's eyes (mode 0600).
 */
#ifndef CKPTDB_SHELL_HISTORY_H
#define CKPTDB_SHELL_HISTORY_H

#define HISTORY_LINES 2000 /* kept; the file is cut back when it has twice as many */

/* $XDG_STATE_HOME/ckptdb/history, malloc'ed, its folder made; NULL: there is no place. */
char *history_path(void);
/* Call `take` for each of the last lines, oldest first. */
void history_load(const char *path, void (*take)(void *context, const char *line),
                  void *context);
/* Add a line, without its newline. */
void history_append(const char *path, const char *line);

#endif

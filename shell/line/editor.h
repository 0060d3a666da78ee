/*
 * editor.h - a line from the terminal: editing, history and completion through libedit,
 * which is loaded when the first line is asked for, so that a program that only runs a
 * statement never pays for it. Without the library, plain lines.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "shell/session/session.h"

struct editor;

enum line_end {
    LINE_READ,
    LINE_DROPPED, /* Ctrl-C */
    LINE_EOF,     /* Ctrl-D */
};

struct editor *editor_open(struct session *); /* NULL without memory */
void editor_close(struct editor *);

/* Into the history: a whole statement, of as many lines as it has, or a command. */
void editor_keep(struct editor *, const char *text);

/* What was entered, with its newline: a line, or a statement of several that was recalled; valid
 * until the next call. `continued`: it goes on with a statement, that ends `inside` a quote
 * or a comment (splitter.inside). */
enum line_end editor_line(struct editor *, bool continued, char inside, const char **line,
                          size_t *len);

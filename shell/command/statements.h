/*
 * statements.h - a script in units: SQL up to a line that ends it, or one dot-command.
 *
 *   struct splitter p = {0};
 *   while (a line is read)
 *       if (splitter_line(&p, line, len) != UNIT_MORE) {
 *           run(splitter_text(&p)); splitter_next(&p);
 *       }
 *   if (splitter_end(&p) != UNIT_MORE) ...   a last statement without its ';'
 *   splitter_release(&p);
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "catalog/base/text.h"

enum unit {
    UNIT_MORE, /* not complete yet, or nothing at all */
    UNIT_SQL,  /* one statement or more */
    UNIT_DOT,  /* a line that begins with '.', or with help, quit, exit or \q, or a `command` */
    UNIT_BAD,  /* no text: a NUL byte, or too long for memory */
};

struct splitter {
    /* For lines that people type: whether one begins with a command, dot or not. NULL: never. */
    bool (*command)(const char *line, size_t len);
    struct text pending;
    char inside;    /* what the end of the text is in: 0, a quote, ']', '-' or '*' */
    bool ended;     /* the last token is ';' */
    bool begun;     /* there is something but blanks and comments */
    unsigned line;  /* lines taken so far */
    unsigned first; /* the line where the unit begins, from 1 */
};

/* Take one line, with or without its newline. */
enum unit splitter_line(struct splitter *, const char *line, size_t len);
enum unit splitter_end(struct splitter *);
/* The unit, without a dot-command's newline; valid until splitter_next(). */
const char *splitter_text(struct splitter *);
void splitter_next(struct splitter *);
/* Also drops an unfinished statement. */
void splitter_release(struct splitter *);

/* Split a dot-command's line at blanks, in place. 'single' quotes hold all but themselves,
 * "double" ones know \n, \t, \" and \\. Returns the number of words, -1 when a quote is left
 * open, -2 when there are more than `max`. */
int split_words(char *line, char **words, int max);

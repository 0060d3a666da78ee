/*
 * complete.h - what a word on the shell's line could become. Knows no terminal.
 */
#ifndef CKPTDB_SHELL_COMPLETE_H
#define CKPTDB_SHELL_COMPLETE_H

#include <stdbool.h>
#include <stddef.h>

#include "shell/session/session.h"

#define COMPLETION_SHOWN 120 /* items kept for showing */

struct completion {
    size_t word; /* where in the line the word begins that is completed */
    char *items[COMPLETION_SHOWN];
    size_t count; /* of items, sorted, each once */
    bool more;    /* there are others; they count in `common` */
    char *common; /* what all begin with; NULL: there are none */
    char after;   /* to add after the only one: a blank, a quote; 0: nothing */
};

/* Complete the word that ends at the end of `line` (`len` bytes). `continued`: the line goes
 * on with a statement, so it is no dot-command. */
void complete_line(struct session *, const char *line, size_t len, bool continued,
                   struct completion *out);
void completion_release(struct completion *);

#endif

/*
 * complete.h - what a word could become, on the shell's line or in bash, zsh or fish. The table of
 * commands says what may be where. Knows no terminal.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "shell/command/command.h"
#include "shell/session/session.h"

#define COMPLETION_SHOWN 120 /* items kept for showing */

struct completion {
    size_t word; /* where in the line the word begins that is completed */
    char *items[COMPLETION_SHOWN];
    size_t count; /* of items, sorted, each once */
    bool more;    /* there are others; they count in `common` */
    char *common; /* what all candidates begin with; NULL if absent */
    char after;   /* to add after the only one: a blank, a quote; 0: nothing */
    char quote;   /* to add before it, and before what is common; 0: nothing */
    bool outside; /* for another shell: it completes files better, */
    bool files;   /* and has them here */
};

/* Complete the word that ends at the end of `line` (`len` bytes). `continued`: the line goes
 * on with a statement, so it is not a dot-command. */
void complete_line(struct session *, const char *line, size_t len, bool continued,
                   struct completion *out);
/* Complete the last of the words after the program's name; `options` are its own. */
void complete_words(struct session *, const struct option_spec *options, const char *const *words,
                    int count, struct completion *out);
void completion_release(struct completion *);

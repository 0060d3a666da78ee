/*
 * highlight.h - which bytes of a line are a keyword, a string, a comment: for colours. Knows no
 * terminal.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum highlight {
    HIGHLIGHT_NONE,
    HIGHLIGHT_KEYWORD,
    HIGHLIGHT_STRING, /* quoted names, too */
    HIGHLIGHT_NUMBER,
    HIGHLIGHT_COMMENT,
    HIGHLIGHT_COMMAND, /* a dot-command that there is */
};

/* Say of each of `len` bytes what it is. `inside`: what the lines before end in, as splitter.inside
 * has it; `continued`: they have begun a statement. */
void highlight(const char *line, size_t len, char inside, bool continued, unsigned char *out);

/*
 * paint.h - colours on the line that libedit has drawn. It knows of none, so the same characters are
 * written over it while it waits for a key, and the cursor is put back.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "catalog/base/text.h"

/* What is on the screen: a prompt of N columns, and a line after it. */
struct painting {
    const char *line;
    size_t len, cursor;        /* bytes; where the cursor is */
    size_t prompt;             /* columns */
    size_t rows, columns;      /* of the screen */
    const unsigned char *what; /* of highlight(), a byte each */
};

/* What to write for it. Nothing where it is not certain what libedit has drawn where: characters that
 * are not one column wide, more rows than the screen has. */
void paint(const struct painting *, struct text *out);

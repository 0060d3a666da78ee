/*
 * fold.h - text for people, broken at blanks where a line of the terminal ends.
 */
#pragma once

#include <stdio.h>

/* The columns of the terminal that `to` is; 0: it is none. */
size_t fold_columns(FILE *to);

/* Print text of whole lines. A paragraph with a line that is longer than `columns` (0: none is) is filled anew; what
 * is indented goes on where its text began: below the second column of a table, or its own indentation. */
void fold_print(FILE *to, const char *text, size_t columns);

/* Print one line, whose further ones are indented by `indent` blanks. */
void fold_line(FILE *to, const char *line, size_t len, size_t columns, size_t indent);

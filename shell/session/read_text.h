/*
 * read_text.h - a small file as one text: rules, specs.
 */
#ifndef CKPTDB_SHELL_READ_TEXT_H
#define CKPTDB_SHELL_READ_TEXT_H

#include <stdbool.h>

#include "catalog/base/text.h"

/* All of a file into an empty text; "-" is stdin. Says what is wrong. */
bool read_text(const char *path, struct text *out);

#endif

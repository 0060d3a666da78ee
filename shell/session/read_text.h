/*
 * read_text.h - a file as one text: rules, specs, manifests.
 */
#pragma once

#include <stdbool.h>

#include "catalog/base/text.h"

/* All of a file into an empty text; "-" is stdin. At most 16 MiB, or the text's limit where it has
 * one. Says what is wrong. */
bool read_text(const char *path, struct text *out);

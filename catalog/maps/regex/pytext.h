/*
 * pytext.h - functions of Python's str and int on which the errors and the group names of `re`
 * depend. All text here is valid UTF-8.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "catalog/base/text.h"

/* The code point at `at`; *len is its number of bytes. */
uint32_t pytext_decode(const char *at, size_t *len);
/* Append a code point as UTF-8. */
bool pytext_encode(struct text *out, uint32_t c);

bool pytext_isidentifier(const char *at, size_t len);
bool pytext_isalpha(const char *at, size_t len);

/* Python's int(text): appends the number in decimal, as str() would print it; false if int() raises
 * ValueError. Accepts spaces around it, a sign, single underscores and the digits of any script. */
bool pytext_int(const char *at, size_t len, struct text *out);

/* Append repr(text). */
bool pytext_repr(struct text *out, const char *at, size_t len);

/*
 * utf8.h - checks and makes UTF-8.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Length in bytes (1..4) of the valid UTF-8 sequence at `at`, 0 if absent. Surrogates, overlong
 * forms and values above U+10FFFF are not valid. */
int utf8_length(const unsigned char *at, size_t left);
bool utf8_valid(const char *bytes, size_t len);
/* Write the UTF-8 of a code point up to U+10FFFF, surrogates too: 1 to 4 bytes. */
size_t utf8_put(void *to, uint32_t code);

/* Make the first character of `left` (1 or more) bytes safe for a terminal: control characters and
 * bytes that are not UTF-8 as \xHH. Returns its bytes; *written are the bytes in `out`. */
#define UTF8_SAFE_MAX 16
size_t utf8_safe(const char *bytes, size_t left, char out[UTF8_SAFE_MAX], size_t *written);

/*
 * human.h - numbers and text as people read them on a terminal. Machine modes use nothing here.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define HUMAN_MAX 16 /* bytes of the longest result, NUL included */

/* "512 B", "4.19 MB" (powers of 1000); returns `out`. */
char *human_bytes(uint64_t bytes, char out[HUMAN_MAX]);
/* "512", "7.24 B" (K, M, B for 10^9, T). */
char *human_count(uint64_t count, char out[HUMAN_MAX]);
/* "0:42", "1:02:03" */
char *human_time(uint64_t seconds, char out[HUMAN_MAX]);

/* Columns that UTF-8 text takes on a terminal: East Asian wide characters two, combining
 * marks none, a byte that is not UTF-8 one. */
size_t text_width(const char *text, size_t len);
/* Where the text begins whose width is at most `columns`, counted from its end. */
size_t text_tail(const char *text, size_t len, size_t columns);
/* Where the text ends whose width is at most `columns`, counted from its beginning. */
size_t text_head(const char *text, size_t len, size_t columns);

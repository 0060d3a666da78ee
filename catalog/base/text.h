/*
 * text.h - a string that grows, up to a ceiling it was born with.
 *
 *   struct text t = {.limit = 4096};
 *   text_add(&t, "a", 1); text_addf(&t, "%d", 7);
 *   use(text_str(&t)); text_release(&t);
 *
 * Fails once and stays failed (past the limit, or no memory): a writer is a
 * straight line, and text_str() is NULL at the end if anything went wrong.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "catalog/base/error.h"
#include "catalog/base/utf8.h"

struct arena;

struct text {
    char *at;     /* malloc'ed, NUL-terminated once something was added; NULL before */
    size_t len;   /* bytes, without the NUL */
    size_t space; /* bytes allocated */
    size_t limit; /* most bytes of len; 0 means 1 GiB */
    bool failed;
};

bool text_add(struct text *t, const void *bytes, size_t len);
bool text_adds(struct text *t, const char *string);
bool text_addc(struct text *t, char c);
bool text_varint(struct text *t, uint64_t value); /* LEB128 */
/* The low `bytes` bytes (at most 8) of a number, little-endian. */
bool text_le(struct text *t, uint64_t value, size_t bytes);
bool text_addf(struct text *t, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* Add `len` bytes as a JSON string with its quotes. Bytes that are not UTF-8 become U+FFFD. */
bool text_json(struct text *t, const char *bytes, size_t len);

/* Add bytes in base 64; `url`: in the alphabet for URLs, and without padding. */
void text_base64(struct text *t, const uint8_t *bytes, size_t len, bool url);

/* Add text made safe for a terminal: control characters and bytes that are not UTF-8 as \xHH. */
bool text_escape(struct text *t, const char *bytes, size_t len);

/* The text so far ("" when empty), or NULL after a failure. Owned by t. */
const char *text_str(struct text *t);

/* A copy in the arena, t->len bytes with a NUL after them; "" and a failed arena (arena.h) after a
 * failure of either. */
char *text_keep(struct text *t, struct arena *);

/* Give the malloc'ed string away (free() it) and empty t; NULL after a failure. */
char *text_steal(struct text *t);

void text_reset(struct text *t); /* len 0, memory kept */
void text_release(struct text *t);

/* Whether `text`, of `len` bytes, ends in `suffix`. */
bool text_ends_in(const void *text, size_t len, const char *suffix);

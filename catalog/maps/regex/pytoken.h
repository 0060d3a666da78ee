/*
 * pytoken.h - splits a pattern or a template into tokens as Python's `re` does: code points, and
 * pairs of a backslash and a code point. One token of look-ahead; errors with their positions.
 *
 * The first error stays in *err, so callers may continue and check once. Positions count code
 * points from 0.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "catalog/base/error.h"

struct token {
    size_t at, len; /* bytes of the source */
    size_t pos;     /* position */
    unsigned chars; /* 1, with a backslash 2; 0 at the end of the source */
    uint32_t c;     /* the code point, without the backslash */
};

struct tokens {
    const char *source;
    size_t len;
    struct token next;
    struct error *err;
};

/* A part of the source. */
struct name {
    const char *at;
    size_t len, pos;
};

/* `source` is valid UTF-8 and outlives the tokens. */
void tokens_open(struct tokens *, const char *source, size_t len, struct error *err);

/* Returns `next` and moves on. */
struct token tokens_take(struct tokens *);

/* The token is this unescaped ASCII character. */
static inline bool token_is(struct token t, char c)
{
    return t.chars == 1 && t.c == (unsigned char)c;
}
/* The token is one of these unescaped ASCII characters. */
bool token_in(struct token t, const char *set);

/* A backslash and an ASCII letter: an error if it has no meaning. */
static inline bool token_escapes_letter(struct token t)
{
    return t.chars == 2 && ((t.c >= 'A' && t.c <= 'Z') || (t.c >= 'a' && t.c <= 'z'));
}
static inline bool token_escapes_digit(struct token t)
{
    return t.chars == 2 && t.c >= '0' && t.c <= '9';
}

/* Takes the next token if it is `c`. */
bool tokens_match(struct tokens *, char c);

/* Take up to `most` digits that are in `set`, and append them to the number *value (which stops at
 * UINT32_MAX). Returns how many. */
unsigned tokens_number(struct tokens *, unsigned most, const char *set, unsigned base,
                       uint32_t *value);

/* Take everything up to and including `end`; *out is what comes before it. An empty or unterminated
 * name is an error. */
bool tokens_until(struct tokens *, char end, const char *what, struct name *out);

/* The source from the start of `t` to the next token. */
struct name tokens_since(const struct tokens *, struct token t);

/* Record "MESSAGE at position N (line L, column C)" as a re.error. */
void tokens_error(struct tokens *, size_t pos, const char *fmt, ...) PRINTF_LIKE(3, 4);

/* Record "MESSAGE 'NAME' at position N" as a re.error, or "MESSAGE 'NAME'" as an IndexError. */
void tokens_name_error(struct tokens *, const char *message, struct name name);
void tokens_index_error(struct tokens *, const char *message, struct name name);

/* The character that \a \b \f \n \r \t \v or \\ means; 0 for any other letter. */
uint32_t escape_control(uint32_t letter);

#define DIGITS     "0123456789"
#define OCT_DIGITS "01234567"
#define HEX_DIGITS "0123456789abcdefABCDEF"

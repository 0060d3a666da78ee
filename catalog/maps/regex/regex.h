/*
 * regex.h - regular expressions with Python's meaning, on PCRE2.
 *
 * A pattern is parsed as Python's `re` parses a str pattern, checked, rewritten where
 * PCRE2 differs, then compiled with JIT and limits. Errors have
 * Python's own text ("missing ), unterminated subpattern at position 0"). Independent of
 * SQLite. A struct regex may be used by one thread at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "catalog/base/arena.h"
#include "catalog/base/error.h"
#include "catalog/base/text.h"

enum regex_how {
    REGEX_SEARCH,    /* re.search */
    REGEX_MATCH,     /* re.match: anchored at the start */
    REGEX_FULLMATCH, /* re.fullmatch: the whole text */
};

struct regex;

/* `pattern` is UTF-8. On failure err->message is Python's and err->code the class of its
 * exception ("error", "OverflowError", "ValueError"): ERR_ARGUMENT for a bad pattern.
 * ERR_UNSUPPORTED, without these, for a pattern that is valid in Python but not supported here
 * (listed in pysyntax.h). */
enum status regex_compile(const char *pattern, size_t len, enum regex_how how, struct regex **out,
                          struct error *err);
void regex_free(struct regex *);

/*
 * Literals, for an index of many patterns: a text that the pattern matches contains one literal of
 * each set. REGEX_BEGIN and REGEX_END, which are no part of UTF-8, stand for its ends: `encoder/\d+$`
 * has the literal BEGIN encoder/. A text that ends in a newline also has an end before it. A part that
 * is not understood, and a wrong pattern, have no sets.
 */
#define REGEX_BEGIN    '\xFE'
#define REGEX_END      '\xFF'
#define REGEX_LITERALS 8 /* most in a set */
struct regex_literal {
    const char *at;
    size_t len;
};
struct regex_literals {
    const struct regex_literal *at;
    size_t count;
};
struct regex_keys {
    const struct regex_literals *set;
    size_t count;
};
/* The keys live in the arena. False: no memory. */
bool regex_find_keys(const char *pattern, size_t len, enum regex_how how, struct arena *,
                     struct regex_keys *out);

/* Number of groups, without group 0. */
unsigned regex_groups(const struct regex *);
/* Number of the group called `name`; -1: none. */
int regex_group_named(const struct regex *, const char *name, size_t len);

/* 1: matched; 0: no match; -1: error (a match limit was hit: ERR_LIMIT; text that is not UTF-8:
 * ERR_ARGUMENT). `start` is the byte at which to begin; look-behinds see the text before it. */
int regex_exec(struct regex *, const char *text, size_t len, size_t start, struct error *err);
/* The same from the start of a text that is known to be UTF-8, for instance one that regex_exec()
 * has accepted before. */
int regex_exec_known(struct regex *, const char *text, size_t len, struct error *err);
/* The next match in the same text, as in re.finditer and re.sub: from the end of the last match;
 * if that was empty, an empty match at the same place does not count. */
int regex_exec_next(struct regex *, const char *text, size_t len, struct error *err);
/* The span of a group in the last match, in bytes; false if the group took no part in it. */
bool regex_span(const struct regex *, unsigned group, size_t *begin, size_t *end);

/* A compiled replacement template, with the rules of Python's Match.expand. */
struct template;
/* err->message and err->code ("error", "IndexError") as for regex_compile(); *index_error is set
 * where Python raises IndexError (an unknown group name). `index_error` may be NULL. */
enum status template_compile(const char *text, size_t len, const struct regex *,
                             struct template **out, bool *index_error, struct error *err);
void template_free(struct template *);
/* Append the expansion for the last match of `re` over `text`. */
bool template_expand(const struct template *, const struct regex *re, const char *text,
                     struct text *out);

/* Append `text` with every match replaced, as re.sub does. Returns the number of matches; -1:
 * error. */
int regex_replace(struct regex *, const struct template *, const char *text, size_t len,
                  struct text *out, struct error *err);

/*
 * regex_cache.h - a cache of compiled regular expressions and templates, by their text.
 *
 * Patterns come from rows of `rule`, so sqlite3_get_auxdata(), which works for constant arguments
 * only, is of no use. A cache belongs to one connection (or one virtual table). Its size is
 * bounded; borrowed entries are never evicted.
 *
 *   struct cached_regex *e;
 *   if (regex_cache_borrow(cache, pattern, len, REGEX_FULLMATCH, &e, &err) == OK) {
 *       regex_exec(cached_regex(e), ...); cached_template(e, ...);
 *       regex_cache_return(e);
 *   }
 *
 * Two borrowers of the same pattern get the same struct regex: read the spans of a match
 * before anything else on the connection can run.
 */
#pragma once

#include "catalog/maps/regex/regex.h"
#include "catalog/sql/function.h"

struct cached_regex;

/* A set-associative cache of 256 patterns, more than all shipped rule sets have together; each
 * takes about 10 KB with JIT. */
#define REGEX_SETS 64
#define REGEX_WAYS 4

struct regex_cache {
    struct sql_shared shared; /* first */
    uint64_t seed, clock;
    struct cached_regex *places[REGEX_SETS][REGEX_WAYS];
};

/* NULL: out of memory. */
struct regex_cache *regex_cache_new(void);
/* Free it, which is also how it is released; all entries must have been returned. */
void regex_cache_free(void *cache);

/* Errors come from regex_compile(). */
enum status regex_cache_borrow(struct regex_cache *, const char *pattern, size_t len,
                               enum regex_how how, struct cached_regex **out, struct error *err);
void regex_cache_return(struct cached_regex *);

struct regex *cached_regex(const struct cached_regex *);

/* A template for this pattern, valid until the pattern is returned. Errors come from
 * template_compile(). */
enum status cached_template(struct cached_regex *, const char *text, size_t len,
                            const struct template **out, struct error *err);

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
#ifndef CKPTDB_REGEX_CACHE_H
#define CKPTDB_REGEX_CACHE_H

#include "catalog/maps/regex/regex.h"

struct regex_cache;
struct cached_regex;

/* With one owner. NULL: out of memory. */
struct regex_cache *regex_cache_new(void);
/* Add an owner; returns the cache. */
struct regex_cache *regex_cache_share(struct regex_cache *);
/* Remove an owner; the last one frees it, and must have returned all entries. */
void regex_cache_free(struct regex_cache *);

/* Errors are those of regex_compile(). */
enum status regex_cache_borrow(struct regex_cache *, const char *pattern, size_t len,
                               enum regex_how how, struct cached_regex **out, struct error *err);
void regex_cache_return(struct cached_regex *);

struct regex *cached_regex(const struct cached_regex *);

/* A template for this pattern, valid until the pattern is returned. Errors are those of
 * template_compile(). */
enum status cached_template(struct cached_regex *, const char *text, size_t len,
                            const struct template **out, struct error *err);

#endif

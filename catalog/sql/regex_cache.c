#include "catalog/sql/regex_cache.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "catalog/base/strmap.h"

#define TEMPLATES_KEPT 4 /* per pattern, while it is not borrowed */

struct stored_template {
    struct stored_template *next;
    struct template *compiled;
    size_t len;
    char text[];
};

struct cached_regex {
    struct regex *regex;
    struct stored_template *templates; /* most recently used first */
    uint64_t hash, used;               /* `used`: the cache's clock */
    enum regex_how how;
    unsigned borrowed;
    bool homeless; /* its set was full of borrowed entries: freed when it is returned */
    size_t len;
    char pattern[];
};

struct regex_cache *regex_cache_new(void)
{
    struct regex_cache *c = calloc(1, sizeof(*c));
    if (c)
        *c = (struct regex_cache){.shared.release = regex_cache_free, .seed = hash_seed()};
    return c;
}

/* Free the templates after the first `keep`. */
static void trim_templates(struct cached_regex *e, unsigned keep)
{
    struct stored_template **at = &e->templates;
    for (; *at && keep; keep--)
        at = &(*at)->next;
    while (*at) {
        struct stored_template *t = *at;
        *at = t->next;
        template_free(t->compiled);
        free(t);
    }
}

static void entry_free(struct cached_regex *e)
{
    if (!e)
        return;
    trim_templates(e, 0);
    regex_free(e->regex);
    free(e);
}

void regex_cache_free(void *cache)
{
    struct regex_cache *c = cache;
    for (size_t i = 0; c && i < REGEX_SETS; i++)
        for (size_t k = 0; k < REGEX_WAYS; k++)
            entry_free(c->places[i][k]);
    free(c);
}

static enum status entry_new(const char *pattern, size_t len, enum regex_how how,
                             struct cached_regex **out, struct error *err)
{
    struct cached_regex *e = calloc(1, sizeof(*e) + len);
    if (!e)
        return error_memory(err);
    e->how = how;
    e->len = len;
    if (len)
        memcpy(e->pattern, pattern, len);
    enum status status = regex_compile(pattern, len, how, &e->regex, err);
    if (status == OK)
        *out = e;
    else
        entry_free(e);
    return status;
}

/* Put an entry into an empty place of its set, or replace the least recently used one that is
 * not borrowed. */
static void regex_cache_settle(struct cached_regex **set, struct cached_regex *e)
{
    struct cached_regex **best = NULL;
    for (size_t k = 0; k < REGEX_WAYS; k++) {
        if (!set[k]) {
            best = &set[k];
            break;
        }
        if (!set[k]->borrowed && (!best || set[k]->used < (*best)->used))
            best = &set[k];
    }
    e->homeless = !best;
    if (!best)
        return;
    entry_free(*best);
    *best = e;
}

enum status regex_cache_borrow(struct regex_cache *c, const char *pattern, size_t len,
                               enum regex_how how, struct cached_regex **out, struct error *err)
{
    uint64_t hash = hash_bytes(pattern, len, c->seed) + how;
    struct cached_regex **set = c->places[hash % REGEX_SETS], *e = NULL;
    for (size_t k = 0; k < REGEX_WAYS && !e; k++)
        if (set[k] && set[k]->hash == hash && set[k]->how == how && set[k]->len == len &&
            (!len || memcmp(set[k]->pattern, pattern, len) == 0))
            e = set[k];
    if (!e) {
        enum status status = entry_new(pattern, len, how, &e, err);
        if (status != OK)
            return status;
        e->hash = hash;
        regex_cache_settle(set, e);
    }
    e->borrowed++;
    e->used = ++c->clock;
    *out = e;
    return OK;
}

void regex_cache_return(struct cached_regex *e)
{
    if (!e || --e->borrowed)
        return;
    if (e->homeless)
        entry_free(e);
    else
        trim_templates(e, TEMPLATES_KEPT);
}

struct regex *cached_regex(const struct cached_regex *e)
{
    return e->regex;
}

enum status cached_template(struct cached_regex *e, const char *text, size_t len,
                            const struct template **out, struct error *err)
{
    struct stored_template **at = &e->templates;
    while (*at && ((*at)->len != len || (len && memcmp((*at)->text, text, len) != 0)))
        at = &(*at)->next;
    struct stored_template *t = *at;
    if (t) {
        *at = t->next;
    } else {
        t = malloc(sizeof(*t) + len);
        if (!t)
            return error_memory(err);
        t->len = len;
        if (len)
            memcpy(t->text, text, len);
        enum status status = template_compile(text, len, e->regex, &t->compiled, NULL, err);
        if (status != OK) {
            free(t);
            return status;
        }
    }
    t->next = e->templates;
    e->templates = t;
    *out = t->compiled;
    return OK;
}

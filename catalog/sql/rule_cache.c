#include "catalog/sql/rule_cache.h"

#include <stdlib.h>
#include <string.h>

#include "catalog/base/text.h"
#include "catalog/sql/rule_load.h"

#define SETS_KEPT 16

struct rule_set {
    struct rule_set *next;
    unsigned holders;
    char *bound;
    char *rows; /* what it was compiled from */
    size_t rows_len;
    bool committed; /* the rows were committed, and the file had this data version */
    unsigned version;
    struct rules *rules;
};

struct rule_cache {
    unsigned holders;
    struct rule_set *first; /* most recently used first */
};

/* --- sets -------------------------------------------------------------------------------- */

struct rule_set *rule_set_hold(struct rule_set *set)
{
    set->holders++;
    return set;
}

void rule_set_drop(void *held)
{
    struct rule_set *set = held;
    if (!set || --set->holders > 0)
        return;
    rules_free(set->rules);
    free(set->bound);
    free(set->rows);
    free(set);
}

struct rules *rule_set_rules(const struct rule_set *set)
{
    return set->rules;
}

static struct rule_set *set_new(sqlite3 *db, const char *bound, struct text *rows, char **why)
{
    struct rule_set *set = calloc(1, sizeof(*set));
    if (!set)
        return NULL;
    set->holders = 1;
    set->rows_len = rows->len;
    set->rows = text_steal(rows);
    set->bound = strdup(bound);
    if (set->rows && set->bound)
        set->rules = rule_load(db, bound, why);
    if (set->rules)
        return set;
    rule_set_drop(set);
    return NULL;
}

/* --- the cache --------------------------------------------------------------------------- */

struct rule_cache *rule_cache_new(void)
{
    struct rule_cache *cache = calloc(1, sizeof(*cache));
    if (cache)
        cache->holders = 1;
    return cache;
}

struct rule_cache *rule_cache_hold(struct rule_cache *cache)
{
    cache->holders++;
    return cache;
}

void rule_cache_drop(void *held)
{
    struct rule_cache *cache = held;
    if (!cache || --cache->holders > 0)
        return;
    while (cache->first) {
        struct rule_set *set = cache->first;
        cache->first = set->next;
        rule_set_drop(set);
    }
    free(cache);
}

static struct rule_set *cache_take(struct rule_cache *cache, const char *bound)
{
    for (struct rule_set **at = &cache->first; *at; at = &(*at)->next)
        if (strcmp((*at)->bound, bound) == 0) {
            struct rule_set *set = *at;
            *at = set->next;
            return set;
        }
    return NULL;
}

/* Compile the set from its current rows, or return `was` (whose reference is taken over) if
 * they have not changed. NULL: see *why. */
static struct rule_set *renewed(sqlite3 *db, const char *bound, struct rule_set *was, char **why)
{
    struct text rows = {0};
    struct rule_set *set = NULL;
    bool read = rule_load_rows(db, bound, &rows);
    bool same = read && was && was->rows_len == rows.len &&
                memcmp(was->rows, text_str(&rows), rows.len) == 0;
    if (!read)
        *why = sqlite3_mprintf("%s", sqlite3_errmsg(db));
    else if (!same)
        set = set_new(db, bound, &rows, why);
    text_release(&rows);
    if (same)
        return was;
    rule_set_drop(was);
    return set;
}

struct rule_set *rule_cache_find(struct rule_cache *cache, sqlite3 *db, const char *bound,
                                 char **why)
{
    unsigned version = 0;
    bool committed =
        sqlite3_txn_state(db, "main") == SQLITE_TXN_READ &&
        sqlite3_file_control(db, "main", SQLITE_FCNTL_DATA_VERSION, &version) == SQLITE_OK;
    struct rule_set *set = cache_take(cache, bound);
    *why = NULL;
    if (!set || !committed || !set->committed || set->version != version)
        set = renewed(db, bound, set, why);
    if (!set)
        return NULL;
    set->committed = committed;
    set->version = version;
    /* Put a set at the front, and drop the last one if there are too many. */
    set->next = cache->first;
    cache->first = set;
    struct rule_set **at = &set->next;
    for (int kept = 1; *at && kept < SETS_KEPT; kept++)
        at = &(*at)->next;
    if (*at) {
        struct rule_set *oldest = *at;
        *at = NULL;
        rule_set_drop(oldest);
    }
    return rule_set_hold(set);
}

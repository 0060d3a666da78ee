/*
 * rule_cache.h - the rule sets that a connection has compiled, as long as their rows do not change.
 *
 *   struct rule_set *set = rule_cache_find(cache, db, "t5_to_t5x", &why);   looks whether it still holds
 *   if (set)
 *       result = rules_apply(rule_set_rules(set), name, len);
 *   rule_set_drop(set);
 *
 * A set is compiled from the rows of `ruleset` and `rule`. In a read transaction all rows are committed
 * ones, and the file's data version tells whether they have changed; else they are read again. Who
 * holds a set keeps it as it was when it was found. For one connection.
 */
#ifndef CKPTDB_SQL_RULE_CACHE_H
#define CKPTDB_SQL_RULE_CACHE_H

#include "catalog/db/sqlite.h"
#include "catalog/map/rules.h"

struct rule_cache;
struct rule_set;

/* With one holder; NULL: no memory. */
struct rule_cache *rule_cache_new(void);
struct rule_cache *rule_cache_hold(struct rule_cache *);
/* As SQLite destroys what it is given: of any holder, NULL too. */
void rule_cache_drop(void *);

/* The set as it is now, held by the caller too. `bound` is its name, or the name with settings
 * (catalog/map/setting.h). NULL, with the reason in *why, to be freed by sqlite3_free() (NULL: no
 * memory). */
struct rule_set *rule_cache_find(struct rule_cache *, sqlite3 *, const char *bound,
                                 char **why);
struct rule_set *rule_set_hold(struct rule_set *);
void rule_set_drop(void *);

/* Shared by all who hold the set: an answer lives until any of them asks again. */
struct rules *rule_set_rules(const struct rule_set *);

#endif

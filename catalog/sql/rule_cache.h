/*
 * rule_cache.h - a cache of the rule sets that a connection has compiled.
 *
 *   struct rule_set *set = rule_cache_find(cache, db, "t5_to_t5x", &why);   current rows
 *   if (set)
 *       result = rules_apply(rule_set_rules(set), name, len);
 *   rule_set_drop(set);
 *
 * A set is compiled from the rows of `ruleset` and `rule`. In a read transaction all rows are
 * committed, and the data version of the file shows whether they may have changed; otherwise they
 * are read again and compared. A set that is held does not change. For one connection.
 */
#pragma once

#include "catalog/db/sqlite.h"
#include "catalog/maps/map/rules.h"

struct rule_cache;
struct rule_set;

/* With one reference; NULL: out of memory. */
struct rule_cache *rule_cache_new(void);
struct rule_cache *rule_cache_hold(struct rule_cache *);
/* Drop a reference; NULL is allowed. A destructor for SQLite. */
void rule_cache_drop(void *);

/* The current set, with a reference for the caller. `bound` is its name, or the name with settings
 * (catalog/maps/map/setting.h). NULL: the reason is in *why, to be freed by sqlite3_free() (NULL: out of
 * memory). */
struct rule_set *rule_cache_find(struct rule_cache *, sqlite3 *, const char *bound, char **why);
struct rule_set *rule_set_hold(struct rule_set *);
void rule_set_drop(void *);

/* Shared by all holders: an answer is valid until any holder asks again. */
struct rules *rule_set_rules(const struct rule_set *);

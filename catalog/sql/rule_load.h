/*
 * rule_load.h - a rule set, from its rows to what applies it (rule_cache.h). `bound` is the set's name,
 * or the name with settings (catalog/map/setting.h).
 */
#ifndef CKPTDB_SQL_RULE_LOAD_H
#define CKPTDB_SQL_RULE_LOAD_H

#include <stdbool.h>

#include "catalog/base/text.h"
#include "catalog/db/sqlite.h"
#include "catalog/map/rules.h"

/* All rows of a set in one string, to see whether they have changed; empty: no such set. False:
 * the connection says why. */
bool rule_load_rows(sqlite3 *, const char *bound, struct text *out);

/* NULL, with the reason in *why, to be freed by sqlite3_free() (NULL: no memory). What is wrong
 * with a rule is no reason: it is an error of the names that reach it. */
struct rules *rule_load(sqlite3 *, const char *bound, char **why);

#endif

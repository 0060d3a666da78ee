/*
 * rule_load.h - compiles a rule set from its rows (for rule_cache.h). `bound` is the set's name,
 * or the name with settings (catalog/maps/map/setting.h).
 */
#pragma once

#include <stdbool.h>

#include "catalog/base/text.h"
#include "catalog/db/sqlite.h"
#include "catalog/maps/map/rules.h"

/* All rows of a set in one string, to detect changes; empty: there is no such set. False:
 * sqlite3_errmsg() says why. */
bool rule_load_rows(sqlite3 *, const char *bound, struct text *out);

/* NULL: the reason is in *why, to be freed by sqlite3_free() (NULL: out of memory). An error in
 * a rule is not a reason: it becomes the error of the names that reach the rule. */
struct rules *rule_load(sqlite3 *, const char *bound, char **why);

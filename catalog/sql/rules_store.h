/*
 * rules_store.h - rule sets (catalog/map/ruleset.h) out of a catalog and into it.
 */
#ifndef CKPTDB_SQL_RULES_STORE_H
#define CKPTDB_SQL_RULES_STORE_H

#include <stdbool.h>

#include "catalog/db/sqlite.h"
#include "catalog/map/ruleset.h"

/* The set called `name`, in set->arena. ERR_MISSING: there is none. */
enum status rules_fetch(sqlite3 *, const char *name, struct ruleset *set, struct error *);

/* In place of any set called `name`; all or nothing. */
enum status rules_store(sqlite3 *, const char *name, const struct ruleset *,
                        struct error *);

/* The set that a file of SQL makes: the one called `name`, or the only one. It runs in a database in
 * memory, where SQL from anywhere can do no harm. `path` is for messages. */
enum status rules_from_sql(const char *sql, const char *path, const char *name,
                           struct ruleset *set, struct error *);

#endif

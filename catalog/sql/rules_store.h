/*
 * rules_store.h - reads rule sets (catalog/maps/map/ruleset.h) from a catalog, and writes them.
 */
#pragma once

#include <stdbool.h>

#include "catalog/db/sqlite.h"
#include "catalog/maps/map/ruleset.h"

/* Read the set called `name` into set->arena. ERR_MISSING if absent. */
enum status rules_fetch(sqlite3 *, const char *name, struct ruleset *set, struct error *);

/* Write a set, replacing any set called `name`; all or nothing. */
enum status rules_store(sqlite3 *, const char *name, const struct ruleset *, struct error *);

/* Read the set that a file of SQL inserts: the one called `name`, or the only one. The file runs in
 * a separate in-memory database, where untrusted SQL can do no harm. `path` is for messages. */
enum status rules_from_sql(const char *sql, const char *path, const char *name, struct ruleset *set,
                           struct error *);

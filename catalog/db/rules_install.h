/*
 * rules_install.h - the shipped rule sets, schema/rules/NAME.sql, in a catalog.
 */
#ifndef CKPTDB_RULES_INSTALL_H
#define CKPTDB_RULES_INSTALL_H

#include "catalog/db/db.h"

/* Install every shipped set that is not there, and renew those that an older program
 * installed. A set of the user's own (`shipped` is 0), edited ones included, stays. Writes
 * nothing when all are as they should be. Works inside a transaction and without. */
enum status rules_install(sqlite3 *, struct error *err);

#endif

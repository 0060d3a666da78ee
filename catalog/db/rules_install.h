/*
 * rules_install.h - the shipped rule sets, schema/rules/NAME.sql, in a catalog.
 */
#ifndef CKPTDB_RULES_INSTALL_H
#define CKPTDB_RULES_INSTALL_H

#include "catalog/db/statement.h"

/* Install every shipped set that is missing, and renew those that an older version installed. A
 * user's own sets (`shipped` is 0), edited ones included, stay. Writes nothing if all are up to
 * date. Inside a transaction or outside. */
enum status rules_install(sqlite3 *, struct error *err);

#endif

/*
 * rules_install.h - the shipped rule sets (schema/rules/) in a catalog.
 */
#ifndef CKPTDB_RULES_INSTALL_H
#define CKPTDB_RULES_INSTALL_H

#include "catalog/db.h"

/* Install or renew every shipped set; a user's own set of the same name stays. Inside the
 * caller's transaction. */
enum status rules_install(sqlite3 *, struct error *err);

#endif

/*
 * keeper.h - what SQL functions keep with their connection: a lookup (db.h), whose prepared
 * statements would otherwise be made again at every call.
 *
 * SQLite refuses to close a connection that has statements left, and destroys functions
 * only after that. It does disconnect virtual tables first. So the keeper is a virtual table
 * that nobody ever asks, and lets go when it is disconnected.
 */
#ifndef CKPTDB_SQL_KEEPER_H
#define CKPTDB_SQL_KEEPER_H

#include "catalog/db/db.h"

struct keeper;

/* `name`: of the virtual table; one a keeper. NULL without memory. */
struct keeper *keeper_new(sqlite3 *, const char *name);
/* Every function that has it as its user data holds it; keeper_drop() is its destructor. */
struct keeper *keeper_hold(struct keeper *);
void keeper_drop(void *keeper);

sqlite3 *keeper_db(const struct keeper *);
/* The connection's lookup; NULL after an error. */
struct lookup *keeper_lookup(struct keeper *, struct error *err);

/* Make an error the result of a function, "what: " before it if that is not NULL. */
void keeper_result_error(sqlite3_context *, const char *what, const struct error *);

/* A function that reads much asks now and then whether its statement is to end, which SQLite does only
 * between the steps of one: after this many bytes, *since the last time. ERR_INTERRUPTED. */
enum status keeper_ask(sqlite3 *, uint64_t bytes, uint64_t *since, struct error *err);

#endif

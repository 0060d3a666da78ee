/*
 * keeper.h - keeps a lookup (db.h) for SQL functions for as long as their connection is open, so
 * that its statements are prepared once, not at every call.
 *
 * SQLite refuses to close a connection that has unfinalized statements, and destroys functions
 * only afterwards. But it disconnects virtual tables first. So the keeper is a virtual table that
 * cannot be queried; when it is disconnected, it closes the lookup.
 */
#pragma once

#include "catalog/db/db.h"
#include "catalog/sql/function.h"

struct keeper {
    struct sql_shared shared; /* first */
    sqlite3 *db;
    struct lookup *lookup;
    bool connected;
};

/* Make a connection's keeper, which the caller holds. Returns an SQLite code. */
int keeper_new(sqlite3 *, struct keeper **out);
/* The connection's lookup; NULL after an error. */
struct lookup *keeper_lookup(struct keeper *, struct error *err);

/* Whether the statement that runs has been interrupted, by sqlite3_interrupt() or a progress
 * handler. Takes some 0.1 ms. Only in the thread that runs it. */
bool keeper_interrupted(sqlite3 *);

/* Called by functions that read much, after every `bytes` read: checks from time to time
 * whether the statement has been interrupted, which SQLite itself does only between rows.
 * *since, 0 at first, counts bytes since the last check. ERR_INTERRUPTED. */
enum status keeper_ask(sqlite3 *, uint64_t bytes, uint64_t *since, struct error *err);

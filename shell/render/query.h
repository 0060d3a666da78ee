/*
 * query.h - a query's rows, printed in the session's mode.
 */
#pragma once

#include "catalog/base/text.h"
#include "shell/session/session.h"

/* Run a prepared statement to its end and print its rows. Finalizes it. Returns STATUS_FINE,
 * STATUS_NO (with the message printed), STATUS_TROUBLE when the output cannot be written, or
 * STATUS_INTERRUPTED. */
int render_statement(struct session *, sqlite3_stmt *);

/* The same for the rows of a command: on a terminal, box and table show columns called nbytes, wasted,
 * stored or size as "4.2 GB", parameters and elements as "8.03 B", and shorten `path` from the
 * left to fit. Where that is not enough, messages and the names that are made go below their row,
 * and the last columns are left out, with a word on stderr. */
int render_listing(struct session *, sqlite3_stmt *);
/* The same, prepared and bound as session_prepare() does. */
int render_query(struct session *, const char *sql, const char *types, ...);
/* The same for few rows where every value counts: lines if the screen is too narrow. */
int render_facts(struct session *, const char *sql, const char *types, ...);
/* The same for rows that are in no catalog: a SELECT over json_each(?1). */
int render_json(struct session *, const char *sql, const char *json);
/* What a command did that lists nothing: a JSON object, where --json or --jsonl was asked for; in other
 * modes that print rows its members, but lists; nothing where no mode was asked for. */
int render_report(struct session *, struct text *object);
/* The same for --json and --jsonl alone, of a query with the parameter ?1 that gives the object. */
int render_report_of(struct session *, const char *sql, const char *name);

/*
 * sql_hint.h - hints: what a statement that SQLite refused may have meant, which results a statement needs that
 * are not computed yet, and the catalog's name of a dtype.
 */
#pragma once

#include "shell/session/session.h"

/* Names near the table, column or function that SQLite's message reports missing; that a
 * function is a table. Says nothing where nothing is near. */
void sql_hint(struct session *, const char *message);

/* That statistics, hashes or damage that a statement needs are not known for all checkpoints
 * (schema/function/not_known.sql): no rows would be taken for none. */
void sql_not_known(struct session *, const char *statement);

/* That a statement compares `dtype` with another program's name for a dtype:
 * WHERE dtype = 'bf16' finds nothing. */
void sql_dtype_hint(const char *statement);

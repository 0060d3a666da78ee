/*
 * sql_hint.h - what may have been meant by a statement that SQLite refused, what one asks for that
 * was not worked out yet, and what a dtype is called.
 */
#pragma once

#include "shell/session/session.h"

/* Names near to the table, column or function that SQLite's message says there is not; that a
 * function is a table. Says nothing where nothing is near. */
void sql_hint(struct session *, const char *message);

/* That statistics, hashes or damage that a statement asks for are not known of all checkpoints
 * (schema/function/not_known.sql): no rows would be taken for none. */
void sql_not_known(struct session *, const char *statement);

/* That no dtype is called what a statement compares `dtype` with, but what other programs call so is:
 * WHERE dtype = 'bf16' finds nothing. */
void sql_dtype_hint(const char *statement);

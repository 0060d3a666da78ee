/*
 * resolve.h - what the files that find what a user means have in common.
 */
#pragma once

#include <sqlite3.h>
#include <stdbool.h>

/* Suggest similar names from the first column of a statement, which is finalized (NULL: no
 * names); a second column, if present, is shown instead. Paths are compared by their last
 * component if that is all that was typed. */
void say_near(sqlite3_stmt *names, const char *wanted, bool paths);

/* Say that the dtype is unknown, and our name for it if other programs use this one (fp16). */
void say_unknown_dtype(const char *option, const char *name);

/*
 * resolve.h - what the files that find what a user means have in common.
 */
#ifndef CKPTDB_RESOLVE_H
#define CKPTDB_RESOLVE_H

#include <sqlite3.h>
#include <stdbool.h>

/* Say what is called nearly so, of the texts in the first column of a statement, which is
 * finalized (NULL: none); the second column, if there is one, is what is shown instead. Paths are
 * compared by their last component where that is all that was typed. */
void say_near(sqlite3_stmt *names, const char *wanted, bool paths);

/* Say that there is no such dtype, and which is meant by what other programs call so (fp16). */
void say_unknown_dtype(const char *option, const char *name);

#endif

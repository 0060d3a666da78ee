/*
 * facts.h - a JSON value as facts of a checkpoint (view `metadata`).
 *
 * Members of objects become facts of their own, their keys joined; numbers stay numbers
 * (integers that 64 bits do not hold: decimal text), booleans are "true" and "false", lists
 * and empty objects are JSON text without white space.
 */
#ifndef CKPTDB_IMPORTER_FACTS_H
#define CKPTDB_IMPORTER_FACTS_H

#include "catalog/base/json.h"
#include "importer/job/job.h"

/* State the value that comes next in `j`. `key` is its key, or, for an object, what is
 * before its members' keys: `key` itself is used as it is, `separator` is between the
 * members' keys below it. Errors go to the job or to j->err, whoever noticed. */
bool facts_state(struct job *, struct json *j, const char *key, char separator);

#endif

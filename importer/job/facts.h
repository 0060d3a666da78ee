/*
 * facts.h - a JSON value as facts of a checkpoint (view `metadata`).
 *
 * Members of objects become facts of their own, their keys joined; numbers stay numbers
 * (integers of more than 64 bits: decimal text), booleans are "true" and "false", lists and
 * empty objects are JSON text without white space.
 */
#pragma once

#include "catalog/base/json.h"
#include "catalog/data/convert/convert.h"
#include "importer/job/job.h"

/* Add the next value in `j` as a fact. Its key is `key`; if the value is an object, `key`
 * is the prefix of its members' keys, which has no separator after it, while `separator`
 * joins the keys of nested objects. Errors go to the job or to j->err. */
bool facts_state(struct job *, struct json *j, const char *key, char separator);

/* The number that an element of `len` bytes is; `swapped`: they are stored in reverse order. ELEMENT_NONE
 * if it becomes no fact: complex numbers, times, floats of 8 bits or fewer, non-numbers. */
enum element_type facts_number(const char *dtype, const uint8_t *at, size_t len, bool swapped,
                               struct element *out);

/*
 * classes.h - the table `known_class`: whether a class or function named by a pickle is safe or dangerous.
 * Read-only once loaded: any number of threads may ask.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "catalog/base/error.h"

struct sqlite3;
struct classes;

enum class_verdict { CLASS_UNKNOWN, CLASS_SAFE, CLASS_DANGEROUS };

/* A catalog without this table knows nothing. NULL: it could not be read. */
struct classes *classes_load(struct sqlite3 *, struct error *err);
void classes_free(struct classes *);

/* The verdict on a name whose first `module_len` bytes are its module; *why is the row's, or
 * "". `classes` NULL: nothing is known. A name may reach a module through another
 * ("torch.serialization", "os.system"): that is as dangerous as the plain one. */
enum class_verdict classes_judge(const struct classes *, const char *name, size_t len,
                                 size_t module_len, const char **why);

/* A digest of all rows: files read under other rows have to be read anew. */
uint64_t classes_digest(const struct classes *);

/* Put the shipped rows into a catalog that has none or another program's; what a user wrote or
 * edited stays. Writes nothing if all are up to date. Inside a transaction or outside. */
void classes_install(struct sqlite3 *, struct error *err);

/*
 * schema.h - the SQL of schema/, embedded at build. Ordered by name.
 */
#pragma once

#include "catalog/db/statement.h"

struct schema_file {
    const char *path; /* "schema/00_core.sql"; NULL ends the table */
    const char *text;
};

extern const struct schema_file schema_files[];

/* The text of a file, by its path; NULL if absent. */
const char *schema_text(const char *path);
/* Whether it is a schema/NN_*.sql with NN at or after `first`. */
bool schema_is_from(const struct schema_file *, const char *first);

/* The first file; the first that an older catalog gets, too (its tables are made IF NOT EXISTS);
 * the first that a scratch catalog does not need; and the number of those whose tables came
 * after version 9 did. */
#define SCHEMA_FIRST "00"
#define SCHEMA_LATER "02"
#define SCHEMA_ADDED "04"
#define SCHEMA_MORE  "11"

/* What the numbered files create, one after the other: begin with {0}. False: there is no more. `text`
 * begins with the statement, which a ';' ends. */
struct schema_object {
    const struct schema_file *file;
    const char *text, *name;
    size_t len; /* of the name */
    enum {
        SCHEMA_OTHER, /* an index: schema_next() passes over it */
        SCHEMA_TABLE,
        SCHEMA_VIEW,
        SCHEMA_TRIGGER
    } kind;
};
bool schema_next(struct schema_object *);
/* Whether they create something of this name, in capitals or not. */
bool schema_makes(const char *name);

/* The purpose for which a catalog is opened: to be written, to be read, or only its tables. */
enum schema_use { SCHEMA_WRITE, SCHEMA_READ, SCHEMA_TABLES };

/* Whether a catalog of the connection ("main") has everything. *differs: a view or trigger is not as these files create it,
 * so all should be made anew, or a table is not there yet. ERR_ARGUMENT: a table is gone, or, to read it, a view. */
void schema_check(sqlite3 *, const char *schema, enum schema_use, bool *differs, struct error *err);

/* Install every shipped rule set (schema/rules/NAME.sql) that is missing, and renew those that an older
 * version installed. A user's own sets (`shipped` is 0), edited ones included, stay. Writes nothing if all
 * are up to date. Inside a transaction or outside. */
enum status rules_install(sqlite3 *, struct error *err);

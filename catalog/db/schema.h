/*
 * schema.h - the SQL of schema/, embedded at build. Ordered by name.
 */
#ifndef CKPTDB_SCHEMA_H
#define CKPTDB_SCHEMA_H

#include <stdbool.h>

struct schema_file {
    const char *path; /* "schema/00_core.sql"; NULL ends the table */
    const char *text;
};

extern const struct schema_file schema_files[];

/* The text of a file, by its path; NULL: there is none. */
const char *schema_text(const char *path);
/* Whether it is a schema/NN_*.sql with NN at or after `first`. */
bool schema_is_from(const struct schema_file *, const char *first);

/* The first file; the first that an older catalog gets, too (its tables are made IF NOT EXISTS);
 * and the first that a scratch catalog does not need. */
#define SCHEMA_FIRST "00"
#define SCHEMA_LATER "02"
#define SCHEMA_MORE  "11"

#endif

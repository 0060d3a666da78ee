/*
 * schema.h - the SQL of schema/, embedded at build. Ordered by name.
 */
#ifndef CKPTDB_SCHEMA_H
#define CKPTDB_SCHEMA_H

struct schema_file {
    const char *path; /* "schema/00_core.sql"; NULL ends the table */
    const char *text;
};

extern const struct schema_file schema_files[];

#endif

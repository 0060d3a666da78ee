/*
 * select.h - selects and names the tensors of an export, from the catalog.
 */
#pragma once

#include "catalog/db/sqlite.h"
#include "catalog/export/export.h"
#include "catalog/export/metadata.h"

/* In place of a tensor's id: a value that a restore fills in, the float32 0. */
#define EXPORT_ZEROS (-1)

/* The recipe in a row of a map: of one tensor and its operations. */
#define RECIPE_OF_ONE                                                                              \
    "iif(ops IS NULL, NULL,"                                                                       \
    " json_array(json_array(json_array(tensor_id, json(ops))), NULL, NULL)) "

/* What the user asked for; NULL (or 0): nothing. */
struct selection {
    int64_t checkpoint;
    const char *names; /* regular expression, searched in the source's names */
    const char *where; /* expression over the columns of `tensor` */
    const char *map;   /* rule set */
    int64_t target;    /* checkpoint that an assignment fills */
    /* SELECT of tensor_id, new_name [, dtype]; all others are then unset */
    const char *sql;
};

/* How many, and the first. */
struct selection_note {
    uint64_t count;
    char first[200];
};

/* Notes for the user that are no reason to refuse the plan. */
struct selection_notes {
    bool dropped;                 /* some tensor, by the map */
    uint64_t leaves;              /* left out: empty leaves of a tree, which are not tensors */
    struct selection_note absent; /* left out: names of the target that have no source */
    struct selection_note extra;  /* in the plan: names that the target does not have */
};

/* Fill the plan and the refusals, and add to the notes. Errors in the user's own SQL, pattern or rule set are
 * ERR_ARGUMENT, worded as the user's. */
void selection_run(sqlite3 *, const struct selection *, struct export_plan *,
                   struct selection_notes *, struct error *err);

/* The checkpoint's own metadata: what it carries is in schema/function/carried.sql. */
void selection_metadata(sqlite3 *, int64_t checkpoint, const struct export_plan *,
                        struct export_metadata *, struct error *err);
/* The export's origin: ckptdb_source (the path; a JSON list of several), ckptdb_hash (of one, if
 * known), ckptdb_map. */
void selection_provenance(sqlite3 *, const struct selection *, const struct export_plan *,
                          struct export_metadata *, struct error *err);

/* ERR_ARGUMENT if writing to `path` would destroy a file of a checkpoint in the plan. */
enum status selection_guard(sqlite3 *, const struct export_plan *, const char *path,
                            struct error *err);

/*
 * export_select.h - which tensors, under which names: the catalog's side of a plan.
 */
#ifndef CKPTDB_SHELL_EXPORT_SELECT_H
#define CKPTDB_SHELL_EXPORT_SELECT_H

#include "shell/export.h"
#include "shell/session.h"

/* What the user asked for; NULL (or 0): nothing. */
struct selection {
    int64_t checkpoint;
    const char *names; /* regular expression, searched in the source's names */
    const char *where; /* expression over the columns of `tensor` */
    const char *map;   /* rule set */
    int64_t target;    /* checkpoint that an assignment fills */
    const char
        *sql; /* SELECT of tensor_id, new_name [, dtype]; all others are then unset */
};

/* What is not in the plan and yet no reason to refuse it. */
struct selection_notes {
    uint64_t leaves; /* empty leaves of a tree, which are not tensors */
    uint64_t absent; /* names that the target has and the result, as in T5X, has not */
    char first_absent[200];
};

/* Fill plan->tensors and the refusals. Errors in the user's own SQL, pattern or rule set are
 * ERR_ARGUMENT, worded as the user's. */
enum status selection_run(sqlite3 *, const struct selection *, struct export_plan *,
                          struct selection_notes *, struct error *err);

/* ERR_ARGUMENT where writing to `path` would destroy a file of a checkpoint in the plan. */
enum status selection_guard(sqlite3 *, const struct export_plan *, const char *path,
                            struct error *err);

#endif

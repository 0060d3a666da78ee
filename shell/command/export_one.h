/*
 * export_one.h - the exports of a command line: one output, or with --all one a checkpoint.
 */
#pragma once

#include "catalog/base/text.h"
#include "shell/command/command.h"

struct export_result {
    bool listed; /* a dry run prints the plan's rows */
    struct ckptdb_exported done;
    double seconds;
    char error[512]; /* "": none */
};

/* Write one output, with a bar, and say what was written or why not; returns the exit status. */
int export_one(struct session *, const char *path, struct ckptdb_export_options *,
               struct export_result *);
/* Append members of a JSON object: "path":...,"seconds":... */
void export_report(struct text *, const char *path, const struct export_result *);

/* Write what the glob means into a folder, named by `name`; what fails does not keep the rest from it. `o`: of each. */
int export_all(struct session *, const struct args *, const char *glob, const char *folder,
               struct ckptdb_export_options *o);

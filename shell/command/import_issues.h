/*
 * import_issues.h - what is wrong with what was imported, as lines on stderr: the first ones, and
 * what is no longer there in one line a folder.
 */
#ifndef CKPTDB_SHELL_IMPORT_ISSUES_H
#define CKPTDB_SHELL_IMPORT_ISSUES_H

#include "importer/walk/walk.h"
#include "shell/session/session.h"

struct import_counts {
    sqlite3_int64 issues;  /* of what was asked for, found now or before */
    sqlite3_int64 refused; /* files among them that became no checkpoint */
};

/* False on trouble with the catalog. */
bool import_issues(struct session *, const struct walk *, struct import_counts *out);

#endif

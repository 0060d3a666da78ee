/*
 * import_issues.h - what is wrong with what was imported, as lines on stderr: the first ones, and
 * what is no longer there in one line a folder.
 */
#ifndef CKPTDB_SHELL_IMPORT_ISSUES_H
#define CKPTDB_SHELL_IMPORT_ISSUES_H

#include "catalog/base/text.h"
#include "shell/session/session.h"

/* All zeros at first. */
struct import_issues {
    uint64_t shown, left; /* lines said, and not */
    struct text folder;   /* what is left of the place of checkpoints that are gone, */
    struct text first;    /* the first of these below it, */
    uint64_t gone;        /* and how many there are */
};

/* In order of their paths; then the end, which says what is still to be said and frees. */
void import_issues_add(struct import_issues *, const struct ckptdb_issue *);
void import_issues_end(struct import_issues *);

#endif

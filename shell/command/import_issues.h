/*
 * import_issues.h - the issues of an import, as lines on stderr: the first ones, one line for many
 * files of a folder with the same issue (pointers of git-lfs), one line a folder for files that
 * are gone, and one line for each unknown class, whatever the number of pickles that name it.
 */
#pragma once

#include "catalog/base/strmap.h"
#include "catalog/base/text.h"
#include "shell/session/session.h"

#define ALIKE_NAMED 3 /* files that are listed one by one; further files share a line */

struct alike_issues {
    struct text cause;      /* severity, folder and message, each with its NUL */
    size_t folder, message; /* where these begin */
    struct text name[ALIKE_NAMED];
    uint64_t count;
};

/* The files whose pickles name the same unknown class, or something dangerous. */
struct class_issues {
    bool error;
    struct text path, line; /* of the first issue; with its message */
    uint64_t more;          /* files that it has been in since, */
    struct text last;       /* and the last of all */
};

/* All zeros at first. */
struct import_issues {
    uint64_t shown, left;      /* lines printed, and issues that were not */
    struct alike_issues alike; /* held back */
    struct strmap by_class;    /* the name of a class -> place in classes */
    struct class_issues *classes;
    size_t class_count, class_space;
    struct arena arena; /* of the two */
    struct text folder; /* what is left of the place of checkpoints that are gone, */
    struct text first;  /* the first of these below it, */
    uint64_t gone;      /* and how many there are */
};

/* In order of their paths; then the end, which prints the rest and frees. */
void import_issues_add(struct import_issues *, const struct ckptdb_issue *);
void import_issues_end(struct import_issues *);

/*
 * rename.h - renaming in passing: re.sub of one pattern after the other, in names.
 */
#pragma once

#include "catalog/maps/regex/regex.h"

struct rename {
    const char *pattern;
    struct regex *regex;
    struct template *template;
};

struct renames {
    struct rename *at;
    size_t count;
    struct arena arena;
};

/* From [["REGEX", "TEMPLATE"], ...]. ERR_ARGUMENT: it has another form, or one is wrong. Also after
 * an error renames_release() it. */
enum status renames_read(const char *json, size_t len, struct renames *out, struct error *err);
void renames_release(struct renames *);

/* Append a name, renamed by one. ERR_ARGUMENT: the new name would hold a NUL. */
enum status rename_one(const struct rename *, const char *name, size_t len, struct text *out,
                       struct error *err);

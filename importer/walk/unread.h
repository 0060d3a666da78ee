/*
 * unread.h - files that are checkpoints, or similar to them, of kinds that this program
 * does not read.
 */
#pragma once

#include "catalog/base/text.h"
#include "catalog/data/store/source.h"
#include "importer/job/format.h"

struct walk;

struct unread_kind {
    const char *name; /* as people write it: "TFLite" */
    const char *what; /* description; NULL: of the same kind as the line before */
};

/* The lines of unread.def, ended by a NULL name. */
extern const struct unread_kind unread_kinds[];

/* The kind of a file that no format recognises; NULL: none of these. Only for archives is more
 * than the head read: at most LIMIT_TAR_MEMBERS headers. If that fails, *err says why. */
const char *unread_kind_of(const struct probe *, const struct source *, struct error *err);

/* The same name with static storage; NULL if it is not one of the kinds. */
const char *unread_kind_named(const char *name);

/* "2 TFLite, 1 HDF5 files are not read"; nothing without such files. */
void unread_summary(const struct walk *, struct text *out);

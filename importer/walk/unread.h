/*
 * unread.h - files that are checkpoints, or much like them, of kinds that nothing here reads.
 */
#ifndef CKPTDB_IMPORTER_WALK_UNREAD_H
#define CKPTDB_IMPORTER_WALK_UNREAD_H

#include "catalog/base/text.h"
#include "catalog/store/source.h"
#include "importer/job/format.h"

struct walk;

struct unread_kind {
    const char *name; /* as people write it: "TFLite" */
    const char *what; /* one line; NULL: the line before is of the same kind */
};

/* The lines of unread.def; ends in a NULL name. */
extern const struct unread_kind unread_kinds[];

/* The kind of a file that no format recognises, NULL: none. Only of archives is more read than
 * the head, at most LIMIT_TAR_MEMBERS headers. Trouble with the file is in `err`. */
const char *unread_kind_of(const struct probe *, const struct source *,
                           struct error *err);

/* The same name with static storage; NULL: none of the kinds. */
const char *unread_kind_named(const char *name);

/* "2 TFLite, 1 HDF5 files are not read"; nothing where there are none. */
void unread_summary(const struct walk *, struct text *out);

#endif

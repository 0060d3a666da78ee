/*
 * stray.h - files that are not what their name says: the commonest "corrupt checkpoints".
 */
#ifndef CKPTDB_IMPORTER_STRAY_H
#define CKPTDB_IMPORTER_STRAY_H

#include "catalog/store/source.h"
#include "importer/job/format.h"

/* What a file that no format recognises turns out to be: "git-lfs-pointer", "html-page",
 * "error-page" (what servers answer instead of a file), "empty-file", or NULL for nothing in
 * particular. */
const char *stray_kind(const struct probe *);

/* Whether a git-lfs pointer lies in the place of a part of a checkpoint; *err is then set
 * (ERR_MISSING). False with an error where it cannot be read. */
bool stray_is_pointer(const struct source *, struct error *err);

#endif

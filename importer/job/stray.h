/*
 * stray.h - files that are not what their name says: the commonest "corrupt checkpoints".
 */
#pragma once

#include "catalog/data/store/source.h"
#include "importer/job/format.h"

/* The kind of a file that no format recognises: "git-lfs-pointer", "html-page", "error-page" (a
 * server's answer in place of the file), "empty-file", or NULL. */
const char *stray_kind(const struct probe *);

/* Whether a part of a checkpoint is only a git-lfs pointer; *err is then set (ERR_MISSING).
 * False with an error if the file cannot be read. */
bool stray_is_pointer(const struct source *, struct error *err);

/*
 * labels.h - the names of checkpoints: the shortest that a person would use, each once in the
 * catalog.
 *
 *   org/repo@REV7          in a Hugging Face cache; org/repo alone is what refs/main points to;
 *                          with /PATH where a snapshot holds several checkpoints
 *   RUN@STEP, RUN@STEP:ITEM    in a run; RUN is the shortest tail of its path
 *   dir/model.safetensors  else the shortest tail of the path that no other path ends in
 *
 * A tail begins at a '/' and is not all digits (that is an id). What would be ambiguous has a
 * longer form, in the end its whole path. RUN is kept by itself, too, as the run of all its steps.
 */
#pragma once

#include "catalog/base/error.h"
#include "catalog/db/sqlite.h"

/* Name all checkpoints again, in the caller's transaction. Missing rows of `labels` are added,
 * with their states unknown. Reads refs/main of Hugging Face caches; writes only names that have
 * changed. */
void labels_renew(sqlite3 *, struct error *err);

/* Name checkpoints that were added, beside the others, which keep their names until labels_renew(). Columns of their rows:
 * id, path, path, run, step, item, NULL, state; NULL: *err is set. */
void labels_add(sqlite3 *, sqlite3_stmt *rows, struct error *err);

/*
 * keep.h - the transaction in which results are kept: one for many checkpoints, as a commit waits for the
 * disk; short enough that little is lost and others can write.
 */
#ifndef CKPTDB_CONTENT_KEEP_H
#define CKPTDB_CONTENT_KEEP_H

#include "catalog/content/content.h"

/* Open it, if none is. */
enum status keep_begin(const struct content_work *, struct error *err);

/* Between checkpoints, or after an error: commit if it is time to. What was done before an error
 * stays; the first error wins. */
enum status keep_pause(const struct content_work *, struct error *err);

/* Within a checkpoint, after this many bytes were read. *since: those since the last commit. Between two
 * transactions others may write: ERR_CHANGED where the checkpoint is another one, for what was read
 * before is not of it. */
enum status keep_bytes(const struct content_work *, int64_t checkpoint, uint64_t bytes,
                       uint64_t *since, struct error *err);

#endif

/*
 * keep.h - the transaction in which results are kept: one for many checkpoints, because a commit
 * waits for the disk, but short enough that little is lost, and that others can write.
 */
#pragma once

#include "catalog/content/hashes.h"

/* Begin it, unless it is open. */
enum status keep_begin(const struct content_work *, struct error *err);

/* Call this between checkpoints, or after an error: commits if it is time to. Results from before
 * an error stay; the first error wins. */
enum status keep_pause(const struct content_work *, struct error *err);

/* Call this within a checkpoint, after this many bytes were read; *since: bytes since the last
 * commit. Between two transactions others may write: ERR_CHANGED if the checkpoint was replaced,
 * since what was read before is not of the new one. */
void keep_bytes(const struct content_work *, int64_t checkpoint, uint64_t bytes, uint64_t *since,
                struct error *err);

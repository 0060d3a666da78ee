/*
 * current.h - whether what is known of a checkpoint's contents is still true.
 */
#pragma once

#include "catalog/content/hashes.h"

/* Whether the checkpoint's files are unchanged, so that what is known of its contents holds.
 * False after an error, or after reporting a changed file: then the checkpoint's hashes and
 * statistics are dropped. */
bool content_is_current(const struct content_work *, int64_t checkpoint, struct error *err);

/* The SQL of content_stamp(), for checkpoints c. */
#define CONTENT_STAMP "format('%d %d %d %s', c.imported, c.mtime_ns, c.layout, c.path)"
/* A text that changes when a checkpoint is imported again, or moved; NULL: it is not in the
 * catalog (any more), or *err is set. sqlite3_free() it. */
char *content_stamp(sqlite3 *, int64_t checkpoint, struct error *err);

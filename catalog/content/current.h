/*
 * current.h - whether what is known of a checkpoint's contents is still so.
 */
#ifndef CKPTDB_CONTENT_CURRENT_H
#define CKPTDB_CONTENT_CURRENT_H

#include "catalog/content/content.h"

/* What is known is only as good as the files are unchanged. False after an error, or after
 * saying which file is not as it was: hashes and statistics of the checkpoint are then dropped. */
bool content_is_current(const struct content_work *, int64_t checkpoint,
                        struct error *err);

/* Of checkpoints c: what content_stamp() gives. */
#define CONTENT_STAMP "format('%d %d %d %s', c.imported, c.mtime_ns, c.layout, c.path)"
/* What is another one once a checkpoint is imported again, or moved; NULL: it is not in the catalog
 * (any more), or err is set. To be freed with sqlite3_free(). */
char *content_stamp(sqlite3 *, int64_t checkpoint, struct error *err);

#endif

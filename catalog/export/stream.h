/*
 * stream.h - tensors from where they lie to where the layout put them.
 *
 * Threads take blocks of 256 KiB, small enough to stay in a core's cache between reading,
 * converting and writing, in the order in which the sources lie on the disk.
 */
#ifndef CKPTDB_EXPORT_STREAM_H
#define CKPTDB_EXPORT_STREAM_H

#include "catalog/export/export.h"

struct stream {
    struct export_plan *plan; /* its rows and loader: used by one thread at a time */
    const struct export_file *files; /* by export_tensor.part, as is the next */
    struct output *const *outputs;
    uint64_t nbytes;  /* of all tensors, for progress */
    uint32_t *crc32s; /* to be filled in, by place; NULL: not wanted */
    const struct export_options *options;
};

enum status stream_run(const struct stream *, struct error *err);

#endif

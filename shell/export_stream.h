/*
 * export_stream.h - tensors from where they lie to where the layout put them.
 *
 * Threads take blocks of 256 KiB, small enough to stay in a core's cache between reading,
 * converting and writing, in the order in which the sources lie on the disk.
 */
#ifndef CKPTDB_SHELL_EXPORT_STREAM_H
#define CKPTDB_SHELL_EXPORT_STREAM_H

#include "shell/export.h"

struct stream {
    const struct export_loader *loader; /* called by one thread at a time */
    struct export_tensor **tensors;     /* in the order of their sources */
    uint64_t count;
    struct output *const *outputs; /* by export_tensor.part */
    uint64_t nbytes;               /* of all tensors, for progress */
    bool crc32;
    const struct export_options *options;
};

enum status stream_run(const struct stream *, struct error *err);

#endif

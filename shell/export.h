/*
 * export.h - writing a selection of tensors to a file.
 *
 * The plan is complete before the first byte is written: every new name, dtype, shape and
 * size is known, collisions and changed sources have been refused. A format lays the file
 * out (its header bytes, and where each tensor's data goes); the core streams the data
 * there on all cores in bounded memory, into a temporary file that is renamed at the end.
 * To add a format: one file export_NAME.c, one line in exports.def.
 */
#ifndef CKPTDB_SHELL_EXPORT_H
#define CKPTDB_SHELL_EXPORT_H

#include "catalog/convert.h"
#include "catalog/read.h"

struct export_tensor {
    const char *name;             /* new name */
    struct stored_tensor *source;
    struct dtype dtype;           /* as written */
    uint64_t nbytes;              /* as written */
    uint64_t offset;              /* set by layout(): where its data begins in the file */
    struct bytes lead;            /* set by layout(): bytes that stand right before its data
                                     (an npy header); may be empty */
};

struct export_plan {
    struct export_tensor *tensors; /* in the order of the selection; layout() may sort */
    uint64_t count;
    struct arena *arena;
    struct bytes head;             /* set by layout(): the file's first bytes */
    uint64_t size;                 /* set by layout(): of the whole file */
    const char *const *metadata;   /* key, value, key, value, ..., NULL */
    bool needs_crc32;              /* set by layout(): crc32[i] of lead + data is wanted */
    uint32_t *crc32;               /* filled by the core before tail() */
};

struct exporter {
    const char *name;     /* "safetensors" */
    const char *suffix;   /* ".safetensors" */
    const char *summary;
    /* Lay the file out; ERR_UNSUPPORTED names a tensor that the format cannot hold. */
    enum status (*layout)(struct export_plan *, struct error *err);
    /* After all data is in place: bytes to put at `plan->size` minus their length, and
     * patches of leads (a zip's checksums). NULL: none. */
    enum status (*finish)(struct export_plan *, int fd, struct error *err);
};

extern const struct exporter *const exporters[]; /* ends in NULL */
const struct exporter *exporter_find(const char *name_or_path);

struct export_options {
    bool force, sync;
    unsigned threads; /* 0: one a core */
};

/* Write the plan to `path`. Never over an input; not over anything without `force`. */
enum status export_write(struct export_plan *, const struct exporter *, const char *path,
                         const struct export_options *, struct error *err);

#endif

/*
 * source.h - bytes at an offset, from anywhere.
 *
 * A source is immutable once opened and holds no position, so any number of
 * threads may read one source at once. Files, memory, and decoders of either
 * (catalog/data/codec/) are all sources; decoders stack.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "catalog/base/bits.h"
#include "catalog/base/error.h"

struct source;

struct source_ops {
    /* Fill exactly `len` bytes from `offset`, or fail; never a short read. The
     * caller has checked that offset + len <= size. */
    enum status (*read_at)(const struct source *, uint64_t offset, void *dst, size_t len,
                           struct error *);
    /* The bytes of this range will be read, and no others for now; where each request is a round trip, more
     * may then be read ahead than requested. NULL: ignored. */
    void (*expect)(const struct source *, uint64_t offset, uint64_t size);
    /* Whether this range of a header can be read without waiting. If not, the next request brings it, and all that
     * was asked about before. NULL: yes. */
    bool (*at_hand)(const struct source *, uint64_t offset, uint64_t size);
    /* Free it, but not `inner`. NULL: free() does. */
    void (*close)(struct source *);
};

struct source {
    const struct source_ops *ops;
    uint64_t size;        /* bytes */
    const char *name;     /* for messages: a path; owned by the source */
    bool sequential;      /* reading backwards or from two threads is slow (a stream
                         decoder restarts); read front to back if possible */
    struct source *inner; /* closed with it; NULL: none */
};

/* Distinguishes one state of a file from another (file_same()); kept in the catalog and shown by
 * the view `file`. Inode and device identify the file; size and mtime_ns, its version. */
struct file_identity {
    uint64_t size;    /* bytes */
    int64_t mtime_ns; /* since 1970 */
    uint64_t inode, device;
};

/* Fails with ERR_CORRUPT when the range is not inside the source. */
enum status source_read(const struct source *s, uint64_t offset, void *dst, size_t len,
                        struct error *err);
void source_close(struct source *s);

/* A regular file, read with pread. Opened without blocking, so a FIFO or a
 * device is an ERR_UNSUPPORTED, not a hang; a file that shrinks later is an
 * ERR_IO, not a signal. `identity` may be NULL. `flags`: SOURCE_*. */
#define SOURCE_NOFOLLOW 1 /* refuse a symbolic link in the last component */
#define SOURCE_HEADERS  2 /* only small parts will be read: no read-ahead */
enum status source_open_file(const char *path, int flags, struct source **out,
                             struct file_identity *identity, struct error *err);

/* The identity of a path without opening it (symbolic links followed). */
enum status file_identify(const char *path, struct file_identity *out, struct error *err);
bool file_same(const struct file_identity *a, const struct file_identity *b);
/* Whether an open file is still in this state, and has a name. Other sources do not change. */
bool source_same(const struct source *, const struct file_identity *);

/* Bytes in memory. `copy` false: the bytes must outlive the source. */
enum status source_open_memory(const char *name, struct bytes bytes, bool copy, struct source **out,
                               struct error *err);
/* The same with malloc'ed bytes, which are freed with the source, and on failure too. */
enum status source_take_memory(const char *name, uint8_t *bytes, size_t len, struct source **out,
                               struct error *err);

/* [offset, offset + size) of `inner`; owns `inner` (closed with it, and on failure too). */
enum status source_open_range(struct source *inner, uint64_t offset, uint64_t size,
                              struct source **out, struct error *err);

/* The same without owning `inner`, which must outlive it. */
enum status source_open_view(const struct source *inner, uint64_t offset, uint64_t size,
                             struct source **out, struct error *err);

/* Decode all of a sequential source once, so that it can be read in any order: into memory if it is
 * small, else into an unlinked temporary file ($TMPDIR or /tmp). Owns `inner`, and closes it at
 * once. */
enum status source_open_spill(struct source *inner, struct source **out, struct error *err);

/* The same; a source of more than `memory` bytes goes to the file. */
enum status source_open_spill_within(struct source *inner, uint64_t memory, struct source **out,
                                     struct error *err);

/* The descriptor of a plain file source, for copy_file_range and fadvise, with the offset at
 * which the source begins in the file; -1 if it is not a file. *offset is set in any case, to the
 * offset in the innermost source. */
int source_descriptor(const struct source *s, uint64_t *offset);

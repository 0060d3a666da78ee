/*
 * temporary.h - a file without a name, in $TMPDIR or /tmp, for data that is too large for memory.
 *
 * `what` is the name of the source that needs it, for messages.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "catalog/base/error.h"

/* Returns a descriptor, the caller's to close; -1 after an error. */
int temporary_open(const char *what, struct error *err);

/* Make it a sparse file of `size` zero bytes. */
enum status temporary_clear(int fd, uint64_t size, const char *what, struct error *err);

/* Write or read all bytes, or fail. Any number of threads. */
enum status temporary_write(int fd, uint64_t offset, const void *bytes, size_t len,
                            const char *what, struct error *err);
enum status temporary_read(int fd, uint64_t offset, void *dst, size_t len, const char *what,
                           struct error *err);

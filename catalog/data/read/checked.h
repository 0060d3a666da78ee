/*
 * checked.h - a source that verifies its checksum while it is read from end to end.
 *
 * Reading in order costs no second pass; the read that reaches the end fails with
 * ERR_CHECKSUM if the sum is wrong. Reading in any other order verifies nothing.
 */
#pragma once

#include <stdatomic.h>

#include "catalog/data/store/source.h"

struct checksum {
    const char *kind; /* "crc32c", "crc32" */
    uint32_t value;
    uint64_t at;       /* in the file: offset of the data, or of the bytes that decode to it */
    uint64_t before;   /* bytes in front of the data that the checksum covers, too */
    atomic_bool *fine; /* set once the checksum was verified */
};

/* False for a kind that is not known. */
bool checksum_known(const char *kind);
uint32_t checksum_extend(const char *kind, uint32_t sum, const void *bytes, size_t len);

/* `inner` begins with the `before` bytes, which the source leaves out. Owns `inner`. */
void source_open_checked(struct source *inner, const struct checksum *, struct source **out,
                         struct error *err);

/* Read all of `s` and compare. */
void checksum_verify(const struct source *s, const struct checksum *, struct error *err);
void checksum_wrong(const struct source *s, const struct checksum *, uint32_t found,
                    struct error *err);

/*
 * metadata.h - the metadata of an export, if its format has room for it: keys and values; the
 * last value of a key counts.
 */
#ifndef CKPTDB_METADATA_H
#define CKPTDB_METADATA_H

#include "catalog/base/arena.h"

struct export_metadata {
    struct arena *arena; /* with an `err` */
    struct metadata_pair *list;
    size_t count, space;
};

/* Copies both. */
void metadata_add(struct export_metadata *, const char *key, const char *value);

/* key, value, key, value, ..., NULL, sorted by key; in the arena. NULL without
 * memory. */
const char *const *metadata_pairs(struct export_metadata *);

#endif

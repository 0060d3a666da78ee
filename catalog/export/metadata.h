/*
 * metadata.h - the metadata of an export, if its format has room for it: keys and values; the
 * last value of a key counts.
 */
#pragma once

#include "catalog/base/arena.h"

/* What a value is, for formats that have types. */
enum metadata_kind {
    METADATA_TEXT,
    METADATA_INTEGER,
    METADATA_REAL,
    METADATA_GIVEN, /* what a person typed: it looks like what it is */
};

struct metadata_pair {
    const char *key, *value;
    enum metadata_kind kind;
    size_t number; /* position in the order in which pairs were added */
};

struct export_metadata {
    struct arena *arena; /* with an `err` */
    struct metadata_pair *list;
    size_t count, space;
};

/* Copies both texts. */
void metadata_add(struct export_metadata *, const char *key, const char *value,
                  enum metadata_kind kind);

/* key, value, key, value, ..., NULL, sorted by key; in the arena. NULL without
 * memory. */
const char *const *metadata_pairs(struct export_metadata *);

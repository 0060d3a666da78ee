/*
 * name_map.h - tensor names to their ids, without the names: 16 bytes a name, where an import may
 * meet millions. A name is known by its hash_key() (strmap.h).
 */
#ifndef CKPTDB_DB_NAME_MAP_H
#define CKPTDB_DB_NAME_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "catalog/base/strmap.h"

struct name_slot {
    struct hash_key key;
    uint32_t id; /* names.id; 0: free, or not told yet */
};

struct name_map {
    struct name_slot *slots;
    size_t count, space; /* names; slots (a power of two, or 0) */
};

/* The id of a name, where to read and write it: 0 if it is new, and then it must be written before
 * the next call. NULL without memory. Valid until the next call. */
uint32_t *name_map_add(struct name_map *, const struct hash_key *name);
/* Room for so many more; false: no memory. */
bool name_map_reserve(struct name_map *, size_t more);
/* A name that is asked for soon: its slot is on its way from the memory meanwhile. */
void name_map_prefetch(const struct name_map *, const struct hash_key *name);
void name_map_release(struct name_map *);

#endif

/*
 * strmap.h - a hash table from byte strings to numbers, with a secret seed, so that no file can
 * choose names that all collide.
 *
 * Keys are not copied unless asked: they must outlive the map. Not for several threads at once.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "catalog/base/arena.h"

struct strmap_entry;

struct strmap {
    struct strmap_entry *slots;
    size_t count, space; /* entries; slots (a power of two, or 0) */
    uint64_t seed;       /* 0: not chosen yet */
    struct error *err;   /* gets lack of memory; NULL: the caller looks at each result */
};

/* A pointer to the value of `key`; a key that was not there is added with the value 0, and *added
 * is set. Without memory NULL, or scratch where there is an `err`. Valid until the next call that adds. */
uint64_t *strmap_add(struct strmap *, const char *key, size_t len, bool *added);
/* The same, but an added key is copied into the arena, and *kept is that copy. */
uint64_t *strmap_keep(struct strmap *, struct arena *, const char *key, size_t len,
                      const char **kept, bool *added);
/* Make room for this many keys, if their number is known. False: no memory. */
bool strmap_reserve(struct strmap *, size_t keys);
/* NULL when it is not there. */
uint64_t *strmap_get(const struct strmap *, const char *key, size_t len);
void strmap_release(struct strmap *);

uint64_t hash_bytes(const void *bytes, size_t len, uint64_t seed); /* XXH3 */
uint64_t hash_seed(void); /* chosen at random once a process, never 0 */

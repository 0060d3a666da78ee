#include "catalog/base/strmap.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "catalog/base/error.h"
#include "catalog/base/list.h"

/* Inlined: a call into the library costs as much as hashing a short name. */
#define XXH_INLINE_ALL
#include <xxhash.h>

struct strmap_entry {
    const char *key; /* NULL: free */
    size_t len;
    uint64_t hash, value;
};

static uint64_t process_seed;

static void choose_seed(void)
{
    uint64_t seed = 0;
    if (getrandom(&seed, sizeof(seed), GRND_NONBLOCK) != sizeof(seed)) {
        struct timespec now;
        clock_gettime(CLOCK_REALTIME, &now);
        seed = (uint64_t)now.tv_nsec * 0x9E3779B97F4A7C15u ^ (uint64_t)(uintptr_t)&now;
    }
    process_seed = seed | 1;
}

uint64_t hash_seed(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, choose_seed);
    return process_seed;
}

uint64_t hash_bytes(const void *bytes, size_t len, uint64_t seed)
{
    return XXH3_64bits_withSeed(bytes, len, seed);
}

static struct strmap_entry *strmap_find(const struct strmap *m, const char *key, size_t len,
                                        uint64_t hash)
{
    size_t mask = m->space - 1;
    for (size_t i = hash & mask;; i = (i + 1) & mask) {
        struct strmap_entry *e = &m->slots[i];
        if (!e->key || (e->hash == hash && e->len == len && memcmp(e->key, key, len) == 0))
            return e;
    }
}

static bool resize(struct strmap *m, size_t space)
{
    struct strmap larger = *m;
    larger.space = space;
    larger.slots = calloc(larger.space, sizeof(*larger.slots));
    if (!larger.slots) {
        error_lacking();
        return false;
    }
    for (size_t i = 0; i < m->space; i++) {
        const struct strmap_entry *e = &m->slots[i];
        if (e->key)
            *strmap_find(&larger, e->key, e->len, e->hash) = *e;
    }
    free(m->slots);
    *m = larger;
    return true;
}

bool strmap_reserve(struct strmap *m, size_t keys)
{
    size_t space = m->space ? m->space : 64;
    while (space / 4 * 3 < keys && space < SIZE_MAX / 2)
        space *= 2;
    return space <= m->space || resize(m, space);
}

static struct strmap_entry *strmap_add_key(struct strmap *m, const char *key, size_t len,
                                           bool *added)
{
    if (!m->seed)
        m->seed = hash_seed();
    if ((m->count + 1) * 4 > m->space * 3 && !resize(m, m->space ? m->space * 2 : 64))
        return NULL;
    uint64_t hash = hash_bytes(key, len, m->seed);
    struct strmap_entry *e = strmap_find(m, key, len, hash);
    *added = !e->key;
    if (*added) {
        *e = (struct strmap_entry){key, len, hash, 0};
        m->count++;
    }
    return e;
}

/* What a map that has no memory for a key answers. */
static uint64_t *strmap_lacks(struct strmap *m, const char **kept, bool *added)
{
    if (!m->err)
        return NULL;
    error_memory(m->err);
    *added = true;
    *kept = "";
    return list_scratch();
}

uint64_t *strmap_add(struct strmap *m, const char *key, size_t len, bool *added)
{
    const char *kept;
    struct strmap_entry *e = strmap_add_key(m, key, len, added);
    return e ? &e->value : strmap_lacks(m, &kept, added);
}

uint64_t *strmap_keep(struct strmap *m, struct arena *arena, const char *key, size_t len,
                      const char **kept, bool *added)
{
    struct strmap_entry *e = strmap_add_key(m, key, len, added);
    if (e && *added) {
        e->key = arena_copy(arena, key, len);
        if (!e->key || arena->failed) {
            e->key = NULL;
            m->count--; /* the slot is free again */
            return strmap_lacks(m, kept, added);
        }
    }
    if (!e)
        return strmap_lacks(m, kept, added);
    *kept = e->key;
    return &e->value;
}

uint64_t *strmap_get(const struct strmap *m, const char *key, size_t len)
{
    if (!m->space)
        return NULL;
    struct strmap_entry *e = strmap_find(m, key, len, hash_bytes(key, len, m->seed));
    return e->key ? &e->value : NULL;
}

void strmap_release(struct strmap *m)
{
    free(m->slots);
    *m = (struct strmap){.err = m->err};
}

#include "catalog/db/name_map.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define AHEAD 8 /* slots */

/* From here on a map has pages of its own, large ones where the system has them: it is read all over,
 * and setting up small ones takes longer than what is done with them. */
#define OWN_PAGES_BYTES ((size_t)4 << 20)

static struct name_slot *slots_new(size_t space)
{
    size_t bytes = space * sizeof(struct name_slot);
    if (bytes < OWN_PAGES_BYTES)
        return calloc(space, sizeof(struct name_slot));
    void *pages =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED)
        return NULL;
#ifdef MADV_HUGEPAGE
    madvise(pages, bytes, MADV_HUGEPAGE);
#endif
    return pages;
}

static void slots_free(struct name_slot *slots, size_t space)
{
    if (space * sizeof(*slots) < OWN_PAGES_BYTES)
        free(slots);
    else
        munmap(slots, space * sizeof(*slots));
}

static size_t home(const struct name_map *m, const struct hash_key *k)
{
    return k->word[0] & (m->space - 1); /* there are fewer slots than ids */
}

static struct name_slot *name_map_find(const struct name_map *m,
                                       const struct hash_key *key)
{
    size_t i = home(m, key);
    while (m->slots[i].id && memcmp(&m->slots[i].key, key, sizeof(*key)) != 0)
        i = (i + 1) & (m->space - 1);
    return &m->slots[i];
}

bool name_map_reserve(struct name_map *m, size_t more)
{
    struct name_map larger = {.count = m->count, .space = m->space ? m->space : 64};
    while ((m->count + more) * 4 > larger.space * 3)
        larger.space *= 2;
    if (larger.space == m->space)
        return true;
    larger.slots = slots_new(larger.space);
    if (!larger.slots)
        return false;
    for (size_t i = 0; i < m->space; i++) {
        if (i + AHEAD < m->space)
            name_map_prefetch(&larger, &m->slots[i + AHEAD].key);
        if (m->slots[i].id)
            *name_map_find(&larger, &m->slots[i].key) = m->slots[i];
    }
    slots_free(m->slots, m->space);
    *m = larger;
    return true;
}

uint32_t *name_map_add(struct name_map *m, const struct hash_key *name)
{
    if (!name_map_reserve(m, 1))
        return NULL;
    struct name_slot *slot = name_map_find(m, name);
    if (!slot->id) {
        slot->key = *name;
        m->count++;
    }
    return &slot->id;
}

void name_map_prefetch(const struct name_map *m, const struct hash_key *name)
{
    if (m->space)
        __builtin_prefetch(&m->slots[home(m, name)], 1);
}

void name_map_release(struct name_map *m)
{
    slots_free(m->slots, m->space);
    *m = (struct name_map){0};
}

#include "catalog/db/name_map.h"

#include <stdlib.h>

#include "catalog/base/strmap.h"

#define OTHER_SEED 0xD6E8FEB86659FD93u
#define AHEAD      8 /* slots */

static struct name_slot *find(const struct name_map *m, uint64_t hash, uint32_t check)
{
    size_t mask = m->space - 1, i = hash & mask;
    while (m->slots[i].id && (m->slots[i].hash != hash || m->slots[i].check != check))
        i = (i + 1) & mask;
    return &m->slots[i];
}

bool name_map_reserve(struct name_map *m, size_t more)
{
    struct name_map larger = {.count = m->count, .space = m->space ? m->space : 64};
    while ((m->count + more) * 4 > larger.space * 3)
        larger.space *= 2;
    if (larger.space == m->space)
        return true;
    larger.slots = calloc(larger.space, sizeof(*larger.slots));
    if (!larger.slots)
        return false;
    for (size_t i = 0; i < m->space; i++) {
        if (i + AHEAD < m->space)
            __builtin_prefetch(
                &larger.slots[m->slots[i + AHEAD].hash & (larger.space - 1)], 1);
        if (m->slots[i].id)
            *find(&larger, m->slots[i].hash, m->slots[i].check) = m->slots[i];
    }
    free(m->slots);
    *m = larger;
    return true;
}

uint32_t *name_map_add(struct name_map *m, const char *name, size_t len)
{
    if (!name_map_reserve(m, 1))
        return NULL;
    uint64_t hash = hash_bytes(name, len, hash_seed());
    uint32_t check = (uint32_t)hash_bytes(name, len, hash_seed() ^ OTHER_SEED);
    struct name_slot *slot = find(m, hash, check);
    if (!slot->id) {
        slot->hash = hash;
        slot->check = check;
        m->count++;
    }
    return &slot->id;
}

void name_map_prefetch(const struct name_map *m, const char *name, size_t len)
{
    if (m->space)
        __builtin_prefetch(&m->slots[hash_bytes(name, len, hash_seed()) & (m->space - 1)],
                           1);
}

void name_map_release(struct name_map *m)
{
    free(m->slots);
    *m = (struct name_map){0};
}

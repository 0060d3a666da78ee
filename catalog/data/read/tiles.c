#include "catalog/data/read/tiles.h"

#include <stdlib.h>

#include "catalog/base/search.h"

struct tile {
    uint64_t first; /* position, in C order, of the box's first element */
    uint64_t reach; /* highest position in this box or any before it in the list */
    uint64_t extent;
};

struct tiles {
    uint64_t count;
    struct tile tile[];
};

/*
 * Decides whether boxes tile the whole tensor without comparing pairs. Every position p on every
 * axis d gets a random number r(d, p); the weight of a box is the product over its axes of r(d,
 * end) - r(d, begin). Multiplied out, that is a signed sum over the corners of the box, and where
 * boxes meet, corners cancel. If the boxes tile the tensor, their weights add up to that of the
 * tensor; if they do not, they do so with a probability of at most rank / 2^61.
 */
#define PRIME ((UINT64_C(1) << 61) - 1)

__extension__ typedef unsigned __int128 u128;

static uint64_t mul_mod(uint64_t a, uint64_t b)
{
    u128 product = (u128)a * b;
    uint64_t sum = (uint64_t)(product & PRIME) + (uint64_t)(product >> 61);
    return sum >= PRIME ? sum - PRIME : sum;
}

/* splitmix64 of (axis, position), by Vigna. */
static uint64_t random_at(unsigned axis, uint64_t position)
{
    uint64_t z = position + (axis + 1) * UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9) + axis;
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return (z ^ (z >> 31)) % PRIME;
}

static uint64_t weight_of(const uint64_t *origin, const uint64_t *shape, unsigned rank)
{
    uint64_t weight = 1;
    for (unsigned d = 0; d < rank; d++) {
        uint64_t begin = origin ? origin[d] : 0;
        uint64_t difference = random_at(d, begin + shape[d]) + PRIME - random_at(d, begin);
        weight = mul_mod(weight, difference % PRIME);
    }
    return weight;
}

static enum status not_tiled(const struct stored_tensor *t, const char *how, struct error *err)
{
    return error_set(err, ERR_CORRUPT, t->checkpoint, NO_OFFSET, "the parts of the tensor %s", how);
}

static enum status check_box(const struct stored_tensor *t, const struct extent *e,
                             struct error *err)
{
    uint64_t block = t->dtype.block_elems;
    for (unsigned d = 0; d < t->rank && e->shape; d++) {
        uint64_t origin = e->origin ? e->origin[d] : 0;
        if (origin > t->shape[d] || e->shape[d] > t->shape[d] - origin)
            return not_tiled(t, "do not lie inside it", err);
    }
    unsigned last = t->rank - 1;
    if (block > 1 && t->rank &&
        (t->shape[last] % block ||
         (e->shape && (e->shape[last] % block || (e->origin && e->origin[last] % block)))))
        return error_set(err, ERR_UNSUPPORTED, t->checkpoint, NO_OFFSET,
                         "the parts of the tensor cut blocks of packed elements");
    return OK;
}

/* The first and last position, in units, of a box that is not empty. */
static void range_of(const struct stored_tensor *t, const struct extent *e, uint64_t *first,
                     uint64_t *last)
{
    uint64_t stride = 1;
    *first = *last = 0;
    for (unsigned d = t->rank; d-- > 0;) {
        uint64_t block = d == t->rank - 1 ? t->dtype.block_elems : 1;
        uint64_t origin = e->origin ? e->origin[d] / block : 0;
        uint64_t count = (e->shape ? e->shape[d] : t->shape[d]) / block;
        *first += origin * stride;
        *last += (origin + count - 1) * stride;
        stride *= t->shape[d] / block;
    }
}

static int by_first(const void *a, const void *b)
{
    const struct tile *x = a, *y = b;
    if (x->first != y->first)
        return x->first < y->first ? -1 : 1;
    return x->extent < y->extent ? -1 : x->extent > y->extent;
}

static void sort(struct tiles *tiles)
{
    bool sorted = true;
    for (uint64_t i = 1; i < tiles->count && sorted; i++)
        sorted = tiles->tile[i - 1].first <= tiles->tile[i].first;
    if (!sorted)
        qsort(tiles->tile, tiles->count, sizeof(tiles->tile[0]), by_first);
    for (uint64_t i = 1; i < tiles->count; i++)
        if (tiles->tile[i].reach < tiles->tile[i - 1].reach)
            tiles->tile[i].reach = tiles->tile[i - 1].reach;
}

enum status tiles_open(const struct stored_tensor *t, struct tiles **out, struct error *err)
{
    uint64_t elements = 0, weight = 0;
    struct tiles *tiles = calloc(1, sizeof(*tiles) + t->extent_count * sizeof(struct tile));
    if (!tiles)
        return error_memory_at(err, t->checkpoint);
    for (uint64_t i = 0; i < t->extent_count; i++) {
        const struct extent *e = &t->extents[i];
        const uint64_t *shape = e->shape ? e->shape : t->shape;
        uint64_t volume = 1;
        if (check_box(t, e, err) != OK)
            goto done;
        for (unsigned d = 0; d < t->rank; d++)
            volume *= shape[d];
        if (volume == 0)
            continue;
        struct tile *tile = &tiles->tile[tiles->count++];
        tile->extent = i;
        range_of(t, e, &tile->first, &tile->reach);
        weight = (weight + weight_of(e->origin, shape, t->rank)) % PRIME;
        if (!add_u64(elements, volume, &elements))
            elements = UINT64_MAX;
    }
    if (elements != t->elements || weight != weight_of(NULL, t->shape, t->rank))
        not_tiled(t, elements < t->elements ? "do not cover it" : "overlap", err);
    sort(tiles);

done:
    if (err->status == OK)
        *out = tiles;
    else
        tiles_close(tiles);
    return err->status;
}

void tiles_close(struct tiles *tiles)
{
    free(tiles);
}

void tiles_between(const struct tiles *tiles, uint64_t first, uint64_t last, uint64_t *begin,
                   uint64_t *end)
{
    const struct tile *tile = tiles->tile;
    PARTITION_POINT(*begin, tiles->count, tile[*begin].reach < first);
    PARTITION_POINT(*end, tiles->count, tile[*end].first <= last);
    if (*end < *begin)
        *end = *begin;
}

uint64_t tiles_extent(const struct tiles *tiles, uint64_t candidate)
{
    return tiles->tile[candidate].extent;
}

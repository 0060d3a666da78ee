/*
 * tiling.c - check that boxes fill a tensor exactly: no gap, no overlap.
 *
 * Give every coordinate x of every dimension d a random number h(d, x), and every box the
 * product over its dimensions of h(d, end) - h(d, start). Multiplied out, that is a signed
 * sum over the box's corners. Where two boxes share a face, the corners of the face cancel,
 * so the products of a tiling add up to the product of the whole tensor. In one dimension:
 * (h(3) - h(0)) + (h(8) - h(3)) = h(8) - h(0).
 *
 * Conversely, boxes that overlap or leave a gap leave corners over, and a nonzero polynomial
 * is zero at a random point with a probability of at most its degree divided by the size of
 * the field (Schwartz 1980, Zippel 1979).
 */
#include "catalog/data/model/tiling.h"

#include <stddef.h>

#include "catalog/base/bits.h"
#include "catalog/base/strmap.h"

#define PRIME ((UINT64_C(1) << 61) - 1)

__extension__ typedef unsigned __int128 wide;

static uint64_t multiply(uint64_t a, uint64_t b)
{
    wide product = (wide)a * b;
    uint64_t sum = (uint64_t)(product & PRIME) + (uint64_t)(product >> 61);
    return sum >= PRIME ? sum - PRIME : sum;
}

static uint64_t tiling_add_modulo(uint64_t a, uint64_t b)
{
    return a + b >= PRIME ? a + b - PRIME : a + b;
}

static uint64_t tiling_number_of(const struct tiling *t, unsigned dimension, uint64_t at)
{
    uint64_t point[2] = {dimension, at};
    return hash_bytes(point, sizeof(point), t->seed) % PRIME;
}

static uint64_t product_of(const struct tiling *t, const uint64_t *origin, const uint64_t *box)
{
    uint64_t product = 1;
    for (unsigned d = 0; d < t->rank; d++) {
        uint64_t start = origin ? origin[d] : 0;
        uint64_t before = tiling_number_of(t, d, start),
                 after = tiling_number_of(t, d, start + box[d]);
        product = multiply(product, tiling_add_modulo(after, PRIME - before));
    }
    return product;
}

struct tiling tiling_of(const uint64_t *shape, unsigned rank)
{
    return (struct tiling){shape, rank, hash_seed(), 0};
}

bool tiling_add(struct tiling *t, const uint64_t *origin, const uint64_t *box)
{
    for (unsigned d = 0; d < t->rank; d++)
        if (box[d] > t->shape[d] || (origin && origin[d] > t->shape[d] - box[d]))
            return false;
    t->sum = tiling_add_modulo(t->sum, product_of(t, origin, box));
    return true;
}

bool tiling_complete(const struct tiling *t)
{
    return t->sum == product_of(t, NULL, t->shape);
}

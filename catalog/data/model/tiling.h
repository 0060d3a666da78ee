/*
 * tiling.h - check that boxes cover each element of a tensor exactly once.
 *
 *   struct tiling t = tiling_of(shape, rank);
 *   for (each piece)
 *       ok = ok && tiling_add(&t, origin, box);
 *   ok = ok && tiling_complete(&t);
 *
 * Takes any boxes in any order, in time and memory that do not depend on how they lie. A
 * wrong answer has odds of about rank in 2^61, and no file can raise them: the check draws
 * random numbers.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct tiling {
    const uint64_t *shape; /* the caller's; must outlive it */
    unsigned rank;
    uint64_t seed, sum;
};

struct tiling tiling_of(const uint64_t *shape, unsigned rank);
/* `origin` NULL: at 0. False if the box extends beyond the tensor. */
bool tiling_add(struct tiling *, const uint64_t *origin, const uint64_t *box);
bool tiling_complete(const struct tiling *);

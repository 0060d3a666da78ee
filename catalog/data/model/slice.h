/*
 * slice.h - a basic slice of an array, and NumPy's spelling of one.
 *
 *   struct ckptdb_slice s[2]; (catalog/ckptdb.h)
 *   bool drop[2];
 *   slice_parse("-1, ::2", shape, 2, s, drop, err)   the last row, every second column
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "catalog/base/error.h"
#include "catalog/ckptdb.h"

/* Parse NumPy's spelling ("1:3, :, -1, ..., ::2", without brackets) against a shape: fills
 * rank slices and says in drop[] which dimensions an integer removed. */
enum status slice_parse(const char *text, const uint64_t *shape, unsigned rank,
                        struct ckptdb_slice *slices, bool *drop, struct error *err);
/* The tensor's index at index i of a slice. */
static inline uint64_t slice_at(const struct ckptdb_slice *s, uint64_t i)
{
    return s->start + i * (uint64_t)s->step;
}
/* How many of the n indexes start, start + step, ... lie in [low, high]; the first that does is
 * number *skip. With start 9, step -2, n 5 (9 7 5 3 1) and [2, 6]: *skip is 2, the result 2 (5,
 * 3). */
uint64_t slice_clip(uint64_t start, int64_t step, uint64_t n, uint64_t low, uint64_t high,
                    uint64_t *skip);
/* Elements that a slice selects; 0 where a count is 0. */
uint64_t slice_elements(const struct ckptdb_slice *slices, unsigned rank);
/* Where element `index` of a slice, in C order, is in the array of this shape, in C order. */
uint64_t slice_position(const struct ckptdb_slice *slices, const uint64_t *shape, unsigned rank,
                        uint64_t index);

/*
 * search.h - binary search where the order is a condition, not a comparison of two elements
 * (for those: bsearch(), and name_list.h).
 */
#pragma once

#include <stdint.h>

/* Set `at` (an unsigned integer) to the first of `count` positions for which `before` is false;
 * to `count` if it is true for all. `before` is an expression of `at`, and once it is false it is
 * false for all positions after:
 *
 *   uint64_t at;
 *   PARTITION_POINT(at, runs, run[at].end <= offset);
 */
#define PARTITION_POINT(at, count, before)                                                         \
    do {                                                                                           \
        uint64_t search_low = 0, search_high = (count);                                            \
        while (search_low < search_high) {                                                         \
            (at) = search_low + (search_high - search_low) / 2;                                    \
            if (before)                                                                            \
                search_low = (at) + 1;                                                             \
            else                                                                                   \
                search_high = (at);                                                                \
        }                                                                                          \
        (at) = search_low;                                                                         \
    } while (0)

/*
 * nearest.h - "did you mean": the few names nearest to a mistyped one.
 */
#pragma once

#include <stdbool.h>

/* The number of edits (insert, delete, replace, swap two neighbours) that turn `a` into `b`, or
 * limit + 1 if it takes more. Only the first 128 bytes count; limit is at most 32. */
unsigned edit_distance(const char *a, const char *b, unsigned limit);

#define NEAREST_MAX 3

/* The best of the names offered so far, best first. */
struct nearest {
    const char *wanted;
    char *name[NEAREST_MAX]; /* copies, as shown */
    unsigned score[NEAREST_MAX];
    int count;
};

/* Keep `shown` if `name` is near enough. */
void nearest_offer(struct nearest *, const char *name, const char *shown);
void nearest_release(struct nearest *);

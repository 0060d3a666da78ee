/*
 * list.h - lists that grow in malloc'ed memory; in an arena: PUSH() of arena.h, which says how failures
 * are kept.
 *
 *   *LIST_PUSH(err, t->runs, t->count, t->space) = (struct run){...};
 */
#pragma once

#include "catalog/base/arena.h"

/* LIST_PUSH(err, list, count, space): a pointer to a new element, zeroed, at the end of `list`, which is
 * malloc'ed or NULL, has `count` elements and room for `space` (both size_t). Without memory
 * *err is ERR_MEMORY, and the element is scratch; `list` and `count` are unchanged. */
#define LIST_PUSH(err, list, count, space)                                                         \
    ((__typeof__(list))list_push((err), &(list), &(count), &(space),                               \
                                 sizeof(*(list)) + LIST_FITS(list)))
void *list_push(struct error *err, void *list, size_t *count, size_t *space, size_t size);

void *list_double(void *list, size_t *space, size_t size);

/* Make room for one more than `count` elements of `size` bytes. Returns `list` or a larger list
 * that replaces it; *space is the number of elements it has room for. NULL without memory:
 * `list` and *space are unchanged. New elements are not zeroed. */
static inline void *list_grow(void *list, size_t count, size_t *space, size_t size)
{
    return count < *space ? list : list_double(list, space, size);
}

/*
 * list.h - lists that grow in malloc'ed memory; in an arena: arena_grow().
 *
 *   struct run *run = list_grow(t->run, t->count, &t->space, sizeof(*run));
 *   if (!run)
 *       return no_memory(t);
 *   t->run = run;
 *   t->run[t->count++] = new;
 */
#ifndef CKPTDB_LIST_H
#define CKPTDB_LIST_H

#include <stddef.h>

void *list_double(void *list, size_t *space, size_t size);

/* Make room for one more than `count` elements of `size` bytes. Returns `list` or a larger list
 * that replaces it; *space is the number of elements it has room for. NULL without memory:
 * `list` and *space are unchanged. New elements are not zeroed. */
static inline void *list_grow(void *list, size_t count, size_t *space, size_t size)
{
    return count < *space ? list : list_double(list, space, size);
}

#endif

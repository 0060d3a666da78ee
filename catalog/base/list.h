/*
 * list.h - lists that grow in malloc'ed memory; in an arena: arena_grow().
 *
 *   struct run *run = list_grow(t->run, t->count, &t->space, sizeof(*run));
 *   if (!run)
 *       return no_memory(t);
 *   t->run = run;
 *   t->run[t->count++] = new;
 */
#ifndef CKPTDB_BASE_LIST_H
#define CKPTDB_BASE_LIST_H

#include <stddef.h>

void *list_double(void *list, size_t *space, size_t size);

/* `list` or a larger one in its place, with room for one more than `count` elements of `size` bytes;
 * *space is how many it has room for. NULL without memory: `list` and *space are as they were. What is
 * new is not zeroed. */
static inline void *list_grow(void *list, size_t count, size_t *space, size_t size)
{
    return count < *space ? list : list_double(list, space, size);
}

#endif

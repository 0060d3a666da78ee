/*
 * arena.h - memory that lives as long as a job, with a ceiling.
 *
 *   struct arena a = {.ceiling = LIMIT_ARENA_BYTES};
 *   char *name = arena_copy(&a, raw.at, raw.len);   NULL past the ceiling
 *   arena_release(&a);                              the only free
 *
 * Not for more than one thread at a time. With ARENA_DEBUG (the sanitizer
 * builds) every block is its own malloc, so that an overrun is seen.
 */
#ifndef CKPTDB_ARENA_H
#define CKPTDB_ARENA_H

#include <stddef.h>

struct arena_page;

struct arena {
    size_t ceiling;          /* most bytes handed out; 0 means no ceiling */
    size_t used;             /* bytes handed out, padding included */
    struct arena_page *page; /* newest first */
};

/* Zeroed, aligned to 16; NULL past the ceiling or without memory. */
void *arena_alloc(struct arena *a, size_t size);

/* The same without zeroing: for memory that the caller fills at once. */
void *arena_room(struct arena *a, size_t size);

/* count * size, checked. */
void *arena_array(struct arena *a, size_t count, size_t size);

/* A copy with a NUL after it. */
char *arena_copy(struct arena *a, const void *bytes, size_t len);

/* Make room in a growing array: returns `array` or a larger copy of it with at least `count + 1`
 * elements; *space is the number of elements it has room for. NULL on failure. Old copies stay in
 * the arena: growth is geometric. The new part is not zeroed. */
void *arena_grow(struct arena *a, void *array, size_t count, size_t *space, size_t size);

/* Move all memory of `from` to `a`, which then owns it; leaves `from` empty. */
void arena_adopt(struct arena *a, struct arena *from);

void arena_release(struct arena *a);

#endif

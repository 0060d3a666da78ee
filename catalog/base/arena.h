/*
 * arena.h - memory that lives as long as a job, with a ceiling; and how this program fails.
 *
 * Failures are sticky. An arena, a list, a map, a text, a cursor, a JSON reader, a layout of an export
 * and a job keep the first failure (those that have an `err` put it there) and do nothing from then on,
 * so that code which uses them is a straight line that asks once, before it hands on what it made:
 *
 *   struct arena a = {.ceiling = LIMIT_ARENA_BYTES, .err = err};
 *   while (next_name(&names, &raw))
 *       *PUSH(&a, list->names, list->count, list->space) = arena_copy(&a, raw.at, raw.len);
 *   return err->status;
 *
 * After a failure copies are "" and pushed elements are scratch: both may be written and
 * read, neither means anything. Only what has any size (arena_room(), arena_alloc(), arena_array())
 * returns NULL, which its caller checks. An arena without `err` is for callers that report nothing: there
 * copies are NULL, too, and PUSH is not used.
 *
 * Not for more than one thread at a time. With ARENA_DEBUG (the sanitizer builds) every block is its
 * own malloc, so that an overrun is seen.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct arena_page;
struct error;

struct arena {
    size_t ceiling;          /* most bytes handed out; 0 means no ceiling */
    size_t used;             /* bytes handed out, padding included */
    struct arena_page *page; /* newest first */
    struct error *err;       /* gets the first failure; NULL: each result must be looked at */
    bool failed;             /* with `err`: nothing more is handed out */
};

/* Aligned to 16, not zeroed: for memory that the caller fills at once. NULL past the ceiling, without
 * memory, or after a failure. */
void *arena_room(struct arena *a, size_t size);

/* Note a failure, as the functions here do. Returns NULL. */
void *arena_fail(struct arena *a);

/* Zeroed room. */
void *arena_alloc(struct arena *a, size_t size);

/* count * size, checked, zeroed. */
void *arena_array(struct arena *a, size_t count, size_t size);

/* A copy with a NUL after it; after a failure "", which is scratch, or NULL where there is no `err`. */
char *arena_copy(struct arena *a, const void *bytes, size_t len);

/* Make room in a growing array: returns `array` or a larger copy with at least `count + 1`
 * elements; *space is the number of elements it has room for. NULL on failure. Old copies stay in
 * the arena: growth is geometric. The new part is not zeroed. */
void *arena_grow(struct arena *a, void *array, size_t count, size_t *space, size_t size);

/* Scratch of LIST_ELEMENT_MAX bytes for this thread, zeroed: an element of a list that failed. */
#define LIST_ELEMENT_MAX 4096
void *list_scratch(void);

/* PUSH(arena, list, count, space): a pointer to a new element, zeroed, at the end of `list`, an array in
 * the arena of `count` elements with room for `space` (both size_t). After a failure scratch. */
#define PUSH(a, list, count, space)                                                                \
    ((__typeof__(list))arena_push((a), &(list), &(count), &(space),                                \
                                  sizeof(*(list)) + LIST_FITS(list)))
#define LIST_FITS(list) (0 * sizeof(char[sizeof(*(list)) <= LIST_ELEMENT_MAX ? 1 : -1]))

static inline void *arena_push(struct arena *a, void *list, size_t *count, size_t *space,
                               size_t size)
{
    char *at;
    memcpy(&at, list, sizeof(at)); /* a pointer to any type of element */
    if (*count >= *space) {
        at = arena_grow(a, at, *count, space, size);
        if (!at)
            return list_scratch();
        memcpy(list, &at, sizeof(at));
    }
    return memset(at + (*count)++ * size, 0, size);
}

/* Move all memory of `from` to `a`, which then owns it; leaves `from` empty. */
void arena_adopt(struct arena *a, struct arena *from);

void arena_release(struct arena *a);

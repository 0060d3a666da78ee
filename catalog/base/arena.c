#include "catalog/base/arena.h"

#include <stdlib.h>

#include "catalog/base/error.h"

#define PAGE_BYTES ((size_t)64 << 10)
#define ALIGN      ((size_t)16)

struct arena_page {
    struct arena_page *older;
    size_t used, space; /* bytes of data[] */
    _Alignas(16) unsigned char data[];
};

static struct arena_page *page_new(struct arena *a, size_t size)
{
#ifdef ARENA_DEBUG
    size_t space = size;
#else
    size_t grown = a->used < (1u << 20) ? PAGE_BYTES : PAGE_BYTES * 16;
    size_t space = size > grown / 2 ? size : grown;
#endif
    if (space > SIZE_MAX - sizeof(struct arena_page))
        return NULL;
    struct arena_page *page = malloc(sizeof(*page) + space);
    if (!page) {
        error_lacking();
        return NULL;
    }
    page->used = 0;
    page->space = space;
    page->older = a->page;
    a->page = page;
    return page;
}

void *arena_fail(struct arena *a)
{
    if (a->err) {
        a->failed = true;
        error_memory(a->err);
    }
    return NULL;
}

void *arena_room(struct arena *a, size_t size)
{
    if (a->failed || size > SIZE_MAX - ALIGN)
        return arena_fail(a);
    size_t padded = (size + ALIGN - 1) & ~(ALIGN - 1);
    if (a->ceiling && (padded > a->ceiling || a->used > a->ceiling - padded))
        return arena_fail(a);
    struct arena_page *page = a->page;
#ifdef ARENA_DEBUG
    page = page_new(a, size ? size : 1);
    padded = 0;
#else
    if (!page || page->space - page->used < padded)
        page = page_new(a, padded);
#endif
    if (!page)
        return arena_fail(a);
    void *at = page->data + page->used;
    page->used += padded;
    a->used += padded ? padded : size;
    return at;
}

void arena_adopt(struct arena *a, struct arena *from)
{
    struct arena_page **last = &from->page;
    while (*last)
        last = &(*last)->older;
    if (a->page) { /* insert after the newest page, which has room left */
        *last = a->page->older;
        a->page->older = from->page;
    } else {
        a->page = from->page;
    }
    a->used += from->used;
    from->page = NULL;
    from->used = 0;
}

void arena_release(struct arena *a)
{
    while (a->page) {
        struct arena_page *older = a->page->older;
        free(a->page);
        a->page = older;
    }
    a->used = 0;
}

/*
 * heap.c - small blocks are kept in lists by size once they have been freed, and are not given back.
 * Every block begins with its size:
 *
 *   size  what SQLite gets: `size` bytes
 *         (of a free block: the next one in its list)
 */
#include "shell/session/heap.h"

#include <sqlite3.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define STEP   16                 /* sizes are multiples of this */
#define SMALL  512                /* at most; larger blocks are malloc()'s */
#define SUPPLY ((size_t)64 << 10) /* bytes from which small blocks are cut */

/* Sanitizers watch the blocks of malloc(). */
#ifdef __SANITIZE_ADDRESS__
#    define SANITIZED 1
#else
#    define SANITIZED 0
#endif

struct block {
    uint64_t size;
    union {
        struct block *next;
        uint64_t bytes[1];
    } content;
};

#define HEAD offsetof(struct block, content)

/* Each thread has its own, without locks. What another thread frees is that thread's from then on. */
static _Thread_local struct block *lists[SMALL / STEP + 1];
static _Thread_local unsigned char *supply;
static _Thread_local size_t supplied; /* bytes left */

static struct block *block_of(void *content)
{
    return (struct block *)((unsigned char *)content - HEAD);
}

static int heap_round(int size)
{
    return (size + STEP - 1) & -STEP;
}

static struct block *cut(size_t size)
{
    if (supplied < HEAD + size) {
        supply = malloc(SUPPLY);
        supplied = supply ? SUPPLY : 0;
    }
    if (!supply)
        return NULL;
    struct block *b = (struct block *)supply;
    supply += HEAD + size;
    supplied -= HEAD + size;
    return b;
}

static void *heap_take(int size)
{
    const size_t rounded = (size_t)heap_round(size);
    struct block *b;
    if (rounded > SMALL)
        b = malloc(HEAD + rounded);
    else if ((b = lists[rounded / STEP]))
        lists[rounded / STEP] = b->content.next;
    else
        b = cut(rounded);
    if (!b)
        return NULL;
    b->size = rounded;
    return &b->content;
}

static void heap_free(void *content)
{
    struct block *b = block_of(content);
    if (b->size > SMALL) {
        free(b);
        return;
    }
    b->content.next = lists[b->size / STEP];
    lists[b->size / STEP] = b;
}

static int heap_size(void *content)
{
    return content ? (int)block_of(content)->size : 0;
}

static void *heap_resize(void *content, int size)
{
    struct block *b = block_of(content);
    const size_t rounded = (size_t)heap_round(size);
    if (b->size > SMALL && rounded > SMALL) {
        b = realloc(b, HEAD + rounded);
        if (b)
            b->size = rounded;
        return b ? &b->content : NULL;
    }
    if (b->size == rounded)
        return content;
    void *other = heap_take(size);
    if (!other)
        return NULL;
    memcpy(other, content, b->size < rounded ? b->size : rounded);
    heap_free(content);
    return other;
}

static int heap_begin(void *unused)
{
    (void)unused;
    return SQLITE_OK;
}

static void heap_end(void *unused)
{
    (void)unused;
}

void heap_for_sqlite(void)
{
    static const sqlite3_mem_methods methods = {heap_take,  heap_free,  heap_resize, heap_size,
                                                heap_round, heap_begin, heap_end,    NULL};
    if (!SANITIZED)
        sqlite3_config(SQLITE_CONFIG_MALLOC, &methods);
}

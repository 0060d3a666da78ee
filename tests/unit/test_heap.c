/* SQLite's memory in the program: blocks of all sizes keep their contents, on several threads. */
#include <pthread.h>

#include "shell/session/heap.h"
#include "tests/unit/unit.h"

#define BLOCKS 200
#define STEPS  10000
#define SMALL  512 /* the largest of the blocks that are kept in lists */

struct held {
    unsigned char *at;
    int size;
    unsigned char mark;
};

struct user {
    const sqlite3_mem_methods *heap;
    uint64_t random;
    struct held held[BLOCKS];
    int wrong;
};

static uint64_t user_below(struct user *u, uint64_t n)
{
    u->random ^= u->random << 13;
    u->random ^= u->random >> 7;
    u->random ^= u->random << 17;
    return u->random % n;
}

/* Sizes at the ends of lists, and of what no list has. */
static int any_size(struct user *u)
{
    const uint64_t kind = user_below(u, 4);
    return kind == 0   ? 1 + (int)user_below(u, 40)
           : kind == 1 ? SMALL - 2 + (int)user_below(u, 5)
           : kind == 2 ? 1 + (int)user_below(u, 70000)
                       : 16 * (1 + (int)user_below(u, SMALL / 16));
}

/* Whether the first bytes still are the ones written. */
static void look_at(struct user *u, const struct held *h, int size)
{
    for (int i = 0; i < size; i++)
        u->wrong += h->at[i] != h->mark;
}

/* Fill the whole block, which may be larger than requested. */
static void fill_held(struct user *u, struct held *h)
{
    if (!h->at)
        abort();
    u->wrong += (uintptr_t)h->at % 8 || u->heap->xSize(h->at) < h->size;
    h->size = u->heap->xSize(h->at);
    h->mark = (unsigned char)user_below(u, 256);
    memset(h->at, h->mark, (size_t)h->size);
}

static void *use_heap(void *argument)
{
    struct user *u = argument;
    for (unsigned step = 0; step < STEPS; step++) {
        struct held *h = &u->held[user_below(u, BLOCKS)];
        if (!h->at) {
            h->size = any_size(u);
            h->at = u->heap->xMalloc(h->size);
            fill_held(u, h);
            continue;
        }
        look_at(u, h, h->size);
        if (user_below(u, 2)) {
            u->heap->xFree(h->at);
            h->at = NULL;
            continue;
        }
        const int before = h->size;
        h->size = any_size(u);
        h->at = u->heap->xRealloc(h->at, h->size);
        look_at(u, h, before < h->size ? before : h->size);
        fill_held(u, h);
    }
    return NULL;
}

/* One thread frees what another has allocated, and the other way round. */
TEST(test_threads)
{
    struct user *users = calloc(2, sizeof(*users));
    sqlite3_mem_methods heap;
    assert_int_equal(sqlite3_config(SQLITE_CONFIG_GETMALLOC, &heap), SQLITE_OK);
    for (unsigned round = 0; round < 4; round++) {
        pthread_t threads[2];
        for (unsigned i = 0; i < 2; i++) {
            users[i].heap = &heap;
            users[i].random = random_state + round * 2 + i;
            assert_int_equal(pthread_create(&threads[i], NULL, use_heap, &users[i]), 0);
        }
        for (unsigned i = 0; i < 2; i++)
            pthread_join(threads[i], NULL);
        assert_int_equal(users[0].wrong + users[1].wrong, 0);
        const struct user swapped = users[0];
        users[0] = users[1];
        users[1] = swapped;
        use_heap(&users[0]);
    }
    for (unsigned i = 0; i < 2 * BLOCKS; i++)
        if (users[i / BLOCKS].held[i % BLOCKS].at)
            heap.xFree(users[i / BLOCKS].held[i % BLOCKS].at);
    free(users);
}

TEST(test_sqlite)
{
    sqlite3 *db = NULL;
    assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
    assert_int_equal(asked(db, "WITH RECURSIVE n(i, x) AS (VALUES (1, '0') UNION ALL"
                               " SELECT i + 1, x || '0' FROM n WHERE i < 1200)"
                               " SELECT length(group_concat(x, '')) FROM n"),
                     1200 * 1201 / 2);
    sqlite3_close(db);
}

static int take_heap(void **state)
{
    (void)state;
    heap_for_sqlite();
    return 0;
}

RUN_TESTS(take_heap, NULL)

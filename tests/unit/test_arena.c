/* test_arena.c - failures of arenas, lists and maps: the first is kept, and what they hand out afterwards
 * may be written. */
#include "catalog/base/error.h"
#include "catalog/base/list.h"
#include "catalog/base/strmap.h"
#include "tests/unit/unit.h"

struct pair {
    uint64_t key;
    char text[100];
};

TEST(pushed_elements_are_zeroed_and_kept)
{
    struct error err = {0};
    struct arena a = {.err = &err};
    struct pair *list = NULL;
    size_t count = 0, space = 0;
    for (uint64_t i = 0; i < 3000; i++) {
        struct pair *p = PUSH(&a, list, count, space);
        assert_int_equal(p->key | (uint64_t)p->text[99], 0);
        *p = (struct pair){.key = i, .text[99] = 'x'};
    }
    assert_int_equal(count, 3000);
    assert_non_null(list);
    for (uint64_t i = 0; list && i < count; i++)
        assert_int_equal(list[i].key, i);
    assert_int_equal(err.status, OK);
    arena_release(&a);
}

TEST(an_arena_keeps_its_first_failure)
{
    struct error err = {0};
    struct arena a = {.ceiling = 4096, .err = &err};
    struct pair *list = NULL;
    size_t count = 0, space = 0;
    for (uint64_t i = 1; count < 1000 && err.status == OK; i++)
        PUSH(&a, list, count, space)->key = i;
    assert_int_equal(err.status, ERR_MEMORY);
    assert_string_equal(err.message, "no memory");
    const size_t before = count;
    struct pair *scratch = PUSH(&a, list, count, space);
    assert_int_equal(scratch->key, 0);
    memset(scratch, 1, sizeof(*scratch));
    assert_int_equal(PUSH(&a, list, count, space)->key, 0);
    assert_int_equal(count, before);
    assert_non_null(list);
    for (uint64_t i = 0; list && i < count; i++)
        assert_int_equal(list[i].key, i + 1);
    /* A small request would fit: a failed arena stays failed. */
    assert_string_equal(arena_copy(&a, "a", 1), "");
    assert_null(arena_alloc(&a, 1));
    /* A cleared error comes back. */
    error_clear(&err);
    assert_null(arena_room(&a, 1));
    assert_int_equal(err.status, ERR_MEMORY);
    arena_release(&a);
}

TEST(an_arena_without_error_answers_null)
{
    struct arena a = {.ceiling = 64};
    assert_null(arena_copy(&a, "a", 100));
    assert_null(arena_array(&a, SIZE_MAX / 2, 4));
    assert_string_equal(arena_copy(&a, "a", 1), "a");
    arena_release(&a);
}

TEST(a_list_keeps_what_it_has)
{
    struct error err = {0};
    uint64_t *list = NULL;
    size_t count = 0, space = 0;
    for (uint64_t i = 0; i < 5000; i++)
        *LIST_PUSH(&err, list, count, space) = i;
    size_t none = SIZE_MAX; /* room that no memory has */
    size_t full = SIZE_MAX;
    assert_int_equal(*LIST_PUSH(&err, list, full, none), 0);
    assert_int_equal(err.status, ERR_MEMORY);
    assert_int_equal(count, 5000);
    assert_int_equal(list[4999], 4999);
    free(list);
}

TEST(a_map_answers_scratch)
{
    struct error err = {0};
    struct arena a = {.ceiling = 1024, .err = &err};
    struct strmap m = {.err = &err};
    const char *kept;
    bool added;
    *strmap_keep(&m, &a, "one", 3, &kept, &added) = 1;
    assert_null(arena_room(&a, 2000));
    *strmap_keep(&m, &a, "two", 3, &kept, &added) = 2;
    assert_string_equal(kept, "");
    assert_int_equal(err.status, ERR_MEMORY);
    assert_int_equal(m.count, 1);
    assert_null(strmap_get(&m, "two", 3));
    assert_int_equal(*strmap_get(&m, "one", 3), 1);
    strmap_release(&m);
    arena_release(&a);
}

RUN_TESTS(NULL, NULL)

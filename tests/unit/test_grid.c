#include "catalog/base/text.h"
#include "catalog/data/model/grid.h"
#include "tests/unit/unit.h"

#define RANK 3

/* A grid with every possible part, over 10 x 7 x 5. */
static uint64_t shape[RANK] = {10, 7, 5};
static uint64_t outer[RANK] = {4, 6, 2}, inner[RANK] = {2, 3, 1};
static uint8_t order[RANK] = {2, 0, 1};
static struct grid_run runs[] = {{0, 3}, {3, 1}, {11, 7}};
static struct grid_value values[] = {
    {.index = 0, .file = 4, .offset = 1000, .stored = 10},
    {.index = 1, .file = 4, .offset = 1010, .stored = 20, .codec = "shuffle:4"},
    {.index = 5, .file = GRID_NO_FILE, .stored = 3, .bytes = "abc"},
    {.index = 6, .file = 0, .offset = 7, .stored = UINT64_C(1) << 40, .codec = ""},
    {.index = 17, .file = GRID_NO_FILE, .stored = 0, .bytes = ""}};

static struct grid in_files(void)
{
    return (struct grid){.levels = 2,
                         .level = {{.shape = outer,
                                    .order = order,
                                    .index_first = true,
                                    .index_summed = true,
                                    .index_big = true,
                                    .codec = "gzip:<9"},
                                   {.shape = inner}},
                         .in_files = true,
                         .directory = 3,
                         .metadata = 9,
                         .separator = '/',
                         .prefixed = true,
                         .runs = runs,
                         .run_count = 3,
                         .fill = {(const uint8_t *)"\1\2\3\4", 4}};
}

static struct grid listed(void)
{
    return (struct grid){.levels = 1,
                         .level = {{.shape = outer}},
                         .metadata = GRID_NO_FILE,
                         .values = values,
                         .value_count = 5,
                         .incomplete = true};
}

static void assert_same_level(const struct grid_level *a, const struct grid_level *b)
{
    assert_memory_equal(a->shape, b->shape, sizeof(outer));
    assert_int_equal(!a->order, !b->order);
    if (a->order)
        assert_memory_equal(a->order, b->order, RANK);
    assert_int_equal(a->index_first, b->index_first);
    assert_int_equal(a->index_summed, b->index_summed);
    assert_int_equal(a->index_big, b->index_big);
    assert_int_equal(!a->codec, !b->codec);
    if (a->codec)
        assert_string_equal(a->codec, b->codec);
}

static void assert_same(const struct grid *a, const struct grid *b)
{
    assert_int_equal(a->levels, b->levels);
    for (unsigned l = 0; l < a->levels; l++)
        assert_same_level(&a->level[l], &b->level[l]);
    assert_int_equal(a->in_files, b->in_files);
    assert_int_equal(a->incomplete, b->incomplete);
    assert_int_equal(a->prefixed, b->prefixed);
    assert_int_equal(a->metadata, b->metadata);
    assert_int_equal(a->fill.len, b->fill.len);
    if (a->fill.len)
        assert_memory_equal(a->fill.at, b->fill.at, a->fill.len);
    assert_int_equal(a->run_count, b->run_count);
    for (uint64_t i = 0; i < a->run_count; i++)
        assert_memory_equal(&a->runs[i], &b->runs[i], sizeof(a->runs[i]));
    assert_int_equal(a->value_count, b->value_count);
    for (uint64_t i = 0; i < a->value_count; i++) {
        const struct grid_value *x = &a->values[i], *y = &b->values[i];
        assert_int_equal(x->index, y->index);
        assert_int_equal(x->file, y->file);
        assert_int_equal(x->offset, y->offset);
        assert_int_equal(x->stored, y->stored);
        assert_int_equal(!x->codec, !y->codec);
        if (x->codec)
            assert_string_equal(x->codec, y->codec);
        if (x->file == GRID_NO_FILE)
            assert_memory_equal(x->bytes, y->bytes, x->stored);
    }
}

static enum status unpack(struct bytes packed, struct arena *arena, struct grid *out)
{
    struct error err = {.offset = NO_OFFSET};
    struct cursor c = cursor_over(packed, 0);
    return grid_unpack(&c, shape, RANK, arena, out, &err);
}

TEST(packed_and_back)
{
    struct grid grids[] = {in_files(), listed()};
    grids[1].fill = (struct bytes){0};
    for (size_t i = 0; i < 2; i++) {
        struct text packed = {0};
        struct arena arena = {0};
        struct grid got;
        assert_true(grid_valid(&grids[i], shape, RANK));
        assert_true(grid_pack(&packed, &grids[i], RANK));
        assert_int_equal(unpack((struct bytes){(uint8_t *)packed.at, packed.len}, &arena, &got),
                         OK);
        assert_same(&grids[i], &got);
        text_release(&packed);
        arena_release(&arena);
    }
}

/* Codecs of their own: at most OWN_CODECS_MAX, and only for chunks. */
TEST(own_codecs)
{
    static struct grid_value many[OWN_CODECS_MAX + 1];
    static char text[OWN_CODECS_MAX + 1][16];
    static uint64_t one[RANK] = {1, 1, 1};
    struct grid g = listed();
    assert_true(grid_valid(&g, shape, RANK));
    g.levels = 2;
    g.level[1].shape = inner;
    assert_false(grid_valid(&g, shape, RANK));
    g = (struct grid){.levels = 1,
                      .level = {{.shape = one}},
                      .metadata = GRID_NO_FILE,
                      .values = many,
                      .value_count = OWN_CODECS_MAX + 1};
    for (unsigned i = 0; i <= OWN_CODECS_MAX; i++) {
        snprintf(text[i], sizeof(text[i]), "skip:%u", i % OWN_CODECS_MAX);
        many[i] = (struct grid_value){.index = i, .codec = text[i]};
    }
    assert_true(grid_valid(&g, shape, RANK));
    snprintf(text[0], sizeof(text[0]), "cut");
    assert_false(grid_valid(&g, shape, RANK));
}

/* Cut anywhere it is refused; with any byte changed it is refused or makes sense. */
TEST(damaged_blobs)
{
    struct grid grids[] = {in_files(), listed()};
    for (size_t i = 0; i < 2; i++) {
        struct text packed = {0};
        struct grid got;
        assert_true(grid_pack(&packed, &grids[i], RANK));
        for (size_t len = 0; len < packed.len; len++) {
            struct arena arena = {0};
            print_message("grid %zu, %zu bytes\n", i, len);
            assert_int_equal(unpack((struct bytes){(uint8_t *)packed.at, len}, &arena, &got),
                             ERR_CORRUPT);
            arena_release(&arena);
        }
        for (size_t k = 0; k < packed.len * 8; k++) {
            struct arena arena = {.ceiling = 1 << 20};
            packed.at[k / 8] ^= (char)(1 << k % 8);
            if (unpack((struct bytes){(uint8_t *)packed.at, packed.len}, &arena, &got) == OK)
                assert_true(grid_valid(&got, shape, RANK));
            packed.at[k / 8] ^= (char)(1 << k % 8);
            arena_release(&arena);
        }
        text_release(&packed);
    }
}

static void without_levels(struct grid *g)
{
    g->levels = 0;
}

static void too_many_levels(struct grid *g)
{
    g->levels = GRID_LEVELS_MAX + 1;
}

static void flat_box(struct grid *g)
{
    static uint64_t flat[RANK] = {4, 0, 2};
    g->level[0].shape = flat;
}

static void box_that_overflows(struct grid *g)
{
    static uint64_t large[RANK] = {UINT64_C(1) << 40, UINT64_C(1) << 40, 2};
    g->level[0].shape = large;
}

static void inner_that_does_not_divide(struct grid *g)
{
    static uint64_t odd[RANK] = {2, 4, 1};
    g->level[1].shape = odd;
}

static void order_twice(struct grid *g)
{
    static uint8_t twice[RANK] = {0, 1, 0};
    g->level[1].order = twice;
}

static void order_outside(struct grid *g)
{
    static uint8_t outside[RANK] = {0, 1, 3};
    g->level[1].order = outside;
}

static void run_backward(struct grid *g)
{
    static struct grid_run backward[] = {{3, 2}, {4, 1}};
    g->runs = backward;
    g->run_count = 2;
}

static void run_past_end(struct grid *g)
{
    static struct grid_run past[] = {{17, 2}};
    g->runs = past;
    g->run_count = 1;
}

static void run_of_none(struct grid *g)
{
    static struct grid_run none[] = {{17, 0}};
    g->runs = none;
    g->run_count = 1;
}

static void value_past_end(struct grid *g)
{
    static struct grid_value past[] = {{.index = 18, .file = GRID_NO_FILE}};
    *g = listed();
    g->values = past;
    g->value_count = 1;
}

static void value_twice(struct grid *g)
{
    static struct grid_value twice[] = {{.index = 1}, {.index = 1}};
    *g = listed();
    g->values = twice;
    g->value_count = 2;
}

static void inline_without_bytes(struct grid *g)
{
    static struct grid_value none[] = {{.index = 1, .file = GRID_NO_FILE, .stored = 1}};
    *g = listed();
    g->values = none;
    g->value_count = 1;
}

static void inline_too_long(struct grid *g)
{
    static struct grid_value much[] = {
        {.index = 1, .file = GRID_NO_FILE, .stored = GRID_INLINE_MAX + 1, .bytes = ""}};
    *g = listed();
    g->values = much;
    g->value_count = 1;
}

TEST(what_makes_no_sense)
{
    static const struct {
        const char *name;
        void (*harm)(struct grid *);
    } cases[] = {
        {"no levels", without_levels},
        {"too many levels", too_many_levels},
        {"a flat box", flat_box},
        {"a box that overflows", box_that_overflows},
        {"inner does not divide", inner_that_does_not_divide},
        {"order names one twice", order_twice},
        {"order names another", order_outside},
        {"runs overlap", run_backward},
        {"run past the end", run_past_end},
        {"empty run", run_of_none},
        {"value past the end", value_past_end},
        {"value twice", value_twice},
        {"inline value, no bytes", inline_without_bytes},
        {"inline value, too long", inline_too_long},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct grid g = in_files();
        print_message("%s\n", cases[i].name);
        cases[i].harm(&g);
        assert_false(grid_valid(&g, shape, RANK));
    }
}

/* 3 x 2 x 3 boxes. */
TEST(values_by_index)
{
    struct grid files = in_files(), list = listed();
    static const uint8_t holds[18] = {1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1};
    for (uint64_t i = 0; i < 18; i++) {
        const struct grid_value *v = grid_value_at(&list, i);
        print_message("value %d\n", (int)i);
        assert_int_equal(grid_holds(&files, i), holds[i]);
        assert_int_equal(v ? v->index : UINT64_MAX,
                         i < 2 || i == 5 || i == 6 || i == 17 ? i : UINT64_MAX);
    }
    assert_int_equal(grid_value_total(&files), 11);
    assert_int_equal(grid_value_total(&list), 5);
}

TEST(boxes_and_keys)
{
    static const struct {
        uint64_t index, origin[RANK], inside[RANK];
        const char *key, *plain;
    } cases[] = {{0, {0, 0, 0}, {4, 6, 2}, "c/0/0/0", "0.0.0"},
                 {2, {0, 0, 4}, {4, 6, 1}, "c/0/0/2", "0.0.2"},
                 {9, {4, 6, 0}, {4, 1, 2}, "c/1/1/0", "1.1.0"},
                 {17, {8, 6, 4}, {2, 1, 1}, "c/2/1/2", "2.1.2"}};
    struct grid g = in_files();
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        uint64_t origin[RANK], inside[RANK];
        struct text key = {0};
        print_message("%s\n", cases[i].key);
        grid_box(&g, shape, RANK, cases[i].index, origin, inside);
        assert_memory_equal(origin, cases[i].origin, sizeof(origin));
        assert_memory_equal(inside, cases[i].inside, sizeof(inside));
        g.prefixed = true;
        g.separator = '/';
        assert_true(grid_key(&g, shape, RANK, cases[i].index, &key));
        assert_string_equal(text_str(&key), cases[i].key);
        text_reset(&key);
        g.prefixed = false;
        g.separator = '.';
        assert_true(grid_key(&g, shape, RANK, cases[i].index, &key));
        assert_string_equal(text_str(&key), cases[i].plain);
        text_release(&key);
    }
}

TEST(keys_of_rank_0)
{
    struct grid g = in_files();
    struct text key = {0};
    assert_true(grid_key(&g, shape, 0, 0, &key));
    assert_string_equal(text_str(&key), "c");
    text_reset(&key);
    g.prefixed = false;
    assert_true(grid_key(&g, shape, 0, 0, &key));
    assert_string_equal(text_str(&key), "0");
    text_release(&key);
}

TEST(files_one_after_another)
{
    struct grid files = in_files(), list = listed();
    uint64_t at = 0;
    assert_ptr_equal(grid_next_file(&files, &at), &files.directory);
    assert_ptr_equal(grid_next_file(&files, &at), &files.metadata);
    assert_null(grid_next_file(&files, &at));
    files.metadata = GRID_NO_FILE;
    at = 1;
    assert_null(grid_next_file(&files, &at));
    at = 0;
    list.metadata = 3; /* the manifest */
    assert_ptr_equal(grid_next_file(&list, &at), &list.metadata);
    assert_ptr_equal(grid_next_file(&list, &at), &values[0].file);
    assert_ptr_equal(grid_next_file(&list, &at), &values[1].file);
    assert_ptr_equal(grid_next_file(&list, &at), &values[3].file);
    assert_null(grid_next_file(&list, &at));
}

RUN_TESTS(NULL, NULL)

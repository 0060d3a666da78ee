#include "catalog/base/text.h"
#include "catalog/data/read/read.h"
#include "tests/unit/unit.h"

/* What NumPy 2 answers for a[...] where a counts from 0: the shape and the elements that are
 * left; NULL where it raises. ("" is a itself.) A number that Python would have computed
 * first, as --1, is refused here. */
static const struct {
    const char *text;
    unsigned rank;
    uint64_t shape[3];
    const char *left, *elements;
} cases[] = {
    {"", 1, {5}, "[5]", "0 1 2 3 4"},
    {":", 1, {5}, "[5]", "0 1 2 3 4"},
    {"...", 1, {5}, "[5]", "0 1 2 3 4"},
    {"1:3", 1, {5}, "[2]", "1 2"},
    {"-2:", 1, {5}, "[2]", "3 4"},
    {":-2", 1, {5}, "[3]", "0 1 2"},
    {"::2", 1, {5}, "[3]", "0 2 4"},
    {"::-1", 1, {5}, "[5]", "4 3 2 1 0"},
    {"4:1:-1", 1, {5}, "[3]", "4 3 2"},
    {"1:4:-1", 1, {5}, "[0]", ""},
    {"10:", 1, {5}, "[0]", ""},
    {":10", 1, {5}, "[5]", "0 1 2 3 4"},
    {"-10:", 1, {5}, "[5]", "0 1 2 3 4"},
    {"-10:2", 1, {5}, "[2]", "0 1"},
    {"3:-10:-1", 1, {5}, "[4]", "3 2 1 0"},
    {"2:2", 1, {5}, "[0]", ""},
    {"0", 1, {5}, "[]", "0"},
    {"-1", 1, {5}, "[]", "4"},
    {"4", 1, {5}, "[]", "4"},
    {"5", 1, {5}, NULL, NULL},
    {"-6", 1, {5}, NULL, NULL},
    {"::7", 1, {5}, "[1]", "0"},
    {"::-7", 1, {5}, "[1]", "4"},
    {"1:99999999999999999999999", 1, {5}, "[4]", "1 2 3 4"},
    {"-99999999999999999999:3", 1, {5}, "[3]", "0 1 2"},
    {"::99999999999999999999", 1, {5}, "[1]", "0"},
    {"::-99999999999999999999", 1, {5}, "[1]", "4"},
    {"::0", 1, {5}, NULL, NULL},
    {"1,2", 1, {5}, NULL, NULL},
    {"0,...", 1, {5}, "[]", "0"},
    {"...,0", 1, {5}, "[]", "0"},
    {"..., ...", 1, {5}, NULL, NULL},
    {"1:2:3:4", 1, {5}, NULL, NULL},
    {"x", 1, {5}, NULL, NULL},
    {"1:x", 1, {5}, NULL, NULL},
    {"--1", 1, {5}, NULL, NULL},
    {"1 2", 1, {5}, NULL, NULL},
    {",", 1, {5}, NULL, NULL},
    {",1", 1, {5}, NULL, NULL},
    {"1,", 1, {5}, "[]", "1"},
    {"1,,2", 1, {5}, NULL, NULL},
    {":,", 1, {5}, "[5]", "0 1 2 3 4"},
    {" 1 : 4 : 2 ", 1, {5}, "[2]", "1 3"},
    {"+1", 1, {5}, "[]", "1"},
    {"+1:+3", 1, {5}, "[2]", "1 2"},
    {"1:3,", 1, {5}, "[2]", "1 2"},
    {"....", 1, {5}, NULL, NULL},
    {"..", 1, {5}, NULL, NULL},
    {"[1]", 1, {5}, NULL, NULL},
    {"1.5", 1, {5}, NULL, NULL},
    {"None", 1, {5}, NULL, NULL},
    {"\t1", 1, {5}, "[]", "1"},
    {"1", 3, {2, 3, 4}, "[3,4]", "12 13 14 15 16 17 18 19 20 21 22 23"},
    {"-1", 3, {2, 3, 4}, "[3,4]", "12 13 14 15 16 17 18 19 20 21 22 23"},
    {"0,1", 3, {2, 3, 4}, "[4]", "4 5 6 7"},
    {"0,1,2", 3, {2, 3, 4}, "[]", "6"},
    {"1,2,3,0", 3, {2, 3, 4}, NULL, NULL},
    {":,1", 3, {2, 3, 4}, "[2,4]", "4 5 6 7 16 17 18 19"},
    {"...,1", 3, {2, 3, 4}, "[2,3]", "1 5 9 13 17 21"},
    {"1,...", 3, {2, 3, 4}, "[3,4]", "12 13 14 15 16 17 18 19 20 21 22 23"},
    {"1,...,2", 3, {2, 3, 4}, "[3]", "14 18 22"},
    {"0,...,1:3", 3, {2, 3, 4}, "[3,2]", "1 2 5 6 9 10"},
    {"...,::-1,:",
     3,
     {2, 3, 4},
     "[2,3,4]",
     "8 9 10 11 4 5 6 7 0 1 2 3 20 21 22 23 16 17 18 19 12 13 14 15"},
    {"...,::-1",
     3,
     {2, 3, 4},
     "[2,3,4]",
     "3 2 1 0 7 6 5 4 11 10 9 8 15 14 13 12 19 18 17 16 23 22 21 20"},
    {"::-1,::-1,::-1",
     3,
     {2, 3, 4},
     "[2,3,4]",
     "23 22 21 20 19 18 17 16 15 14 13 12 11 10 9 8 7 6 5 4 3 2 1 0"},
    {":,::2,1::2", 3, {2, 3, 4}, "[2,2,2]", "1 3 9 11 13 15 21 23"},
    {"1:,:2,-1", 3, {2, 3, 4}, "[1,2]", "15 19"},
    {"0:0", 3, {2, 3, 4}, "[0,3,4]", ""},
    {":,5:", 3, {2, 3, 4}, "[2,0,4]", ""},
    {"...,-5:2", 3, {2, 3, 4}, "[2,3,2]", "0 1 4 5 8 9 12 13 16 17 20 21"},
    {":,:,:,...",
     3,
     {2, 3, 4},
     "[2,3,4]",
     "0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23"},
    {"2", 3, {2, 3, 4}, NULL, NULL},
    {"0,3", 3, {2, 3, 4}, NULL, NULL},
    {"0,0,-5", 3, {2, 3, 4}, NULL, NULL},
    {"1,...,0,0", 3, {2, 3, 4}, "[]", "12"},
    {"...,1,1,1", 3, {2, 3, 4}, "[]", "17"},
    {"...,1,1,1,1", 3, {2, 3, 4}, NULL, NULL},
    {"::-2,1,::-3", 3, {2, 3, 4}, "[1,2]", "19 16"},
    {"", 0, {0}, "[]", "0"},
    {"...", 0, {0}, "[]", "0"},
    {"0", 0, {0}, NULL, NULL},
    {":", 0, {0}, NULL, NULL},
    {"..., ...", 0, {0}, NULL, NULL},
    {":", 2, {0, 3}, "[0,3]", ""},
    {"...,1", 2, {0, 3}, "[0]", ""},
    {"0", 2, {0, 3}, NULL, NULL},
    {"::-1", 2, {0, 3}, "[0,3]", ""},
    {"...,5", 2, {0, 3}, NULL, NULL},
    {"1:", 2, {0, 3}, "[0,3]", ""},
    {"0,0", 2, {1, 1}, "[]", "0"},
    {"0", 2, {1, 1}, "[1]", "0"},
    {":,-1", 2, {1, 1}, "[1]", "0"},
    {"::5,::-5", 2, {1, 1}, "[1,1]", "0"},
};

static void check(size_t i, const struct ckptdb_slice *slices, const bool *drop)
{
    struct text left = {0}, elements = {0};
    uint64_t shape[3], kept = 0;
    for (unsigned d = 0; d < cases[i].rank; d++)
        if (!drop[d])
            shape[kept++] = slices[d].count;
    shape_print(&left, shape, (unsigned)kept);
    uint64_t count = slice_elements(slices, cases[i].rank);
    for (uint64_t k = 0; k < count; k++) {
        uint64_t rest = k, at = 0, stride = 1;
        for (unsigned d = cases[i].rank; d-- > 0;) {
            uint64_t index = rest % slices[d].count;
            at += (slices[d].start + index * (uint64_t)slices[d].step) * stride;
            rest /= slices[d].count;
            stride *= cases[i].shape[d];
        }
        text_addf(&elements, k ? " %llu" : "%llu", (unsigned long long)at);
    }
    assert_string_equal(cases[i].left, text_str(&left));
    assert_string_equal(cases[i].elements, text_str(&elements));
    text_release(&left);
    text_release(&elements);
}

TEST(test_slices)
{
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct ckptdb_slice slices[3] = {{0, 1, 1}};
        bool drop[3];
        struct error err = {.offset = NO_OFFSET};
        printf("# [%s] of rank %u\n", cases[i].text, cases[i].rank);
        enum status status =
            slice_parse(cases[i].text, cases[i].shape, cases[i].rank, slices, drop, &err);
        assert_int_equal(cases[i].left ? OK : ERR_ARGUMENT, status);
        if (status == OK)
            check(i, slices, drop);
        else
            assert_non_null(strstr(err.message, "slice"));
    }
}

RUN_TESTS(NULL, NULL)

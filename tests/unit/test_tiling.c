#include "catalog/data/model/tiling.h"
#include "tests/unit/unit.h"

/* Boxes as "origin:length,origin:length ..." in a tensor of shape "3,3"; "." is a box
 * without dimensions. */
/* clang-format off */
static const struct {
    const char *name, *shape, *boxes;
    bool inside, complete;
} cases[] = {
    {"the whole", "4", "0:4", true, true},
    {"two halves", "4", "0:2 2:2", true, true},
    {"two halves, the last first", "4", "2:2 0:2", true, true},
    {"nothing", "4", "", true, false},
    {"a gap", "4", "0:2 3:1", true, false},
    {"an overlap", "4", "0:3 2:2", true, false},
    {"an overlap as large as the gap", "4", "0:2 1:2", true, false},
    {"the same twice", "4", "0:2 0:2", true, false},
    {"twice over", "4", "0:4 0:4", true, false},
    {"outside", "4", "0:2 2:3", false, false},
    {"far outside", "4", "18446744073709551615:1", false, false},
    {"length of 2^64 - 1", "4", "1:18446744073709551615", false, false},
    {"rows", "3,3", "0:1,0:3 1:1,0:3 2:1,0:3", true, true},
    {"a grid", "4,2", "0:2,0:1 2:2,0:1 0:2,1:1 2:2,1:1", true, true},
    {"a pinwheel, which no straight cut divides", "3,3",
     "0:2,0:1 2:1,0:2 1:2,2:1 0:1,1:2 1:1,1:1", true, true},
    {"a pinwheel without its middle", "3,3", "0:2,0:1 2:1,0:2 1:2,2:1 0:1,1:2", true, false},
    {"diagonal squares, half of the whole twice", "2,2", "0:1,0:1 1:1,1:1 0:1,0:1 1:1,1:1",
     true, false},
    {"rows and columns", "2,2", "0:1,0:2 0:2,0:1", true, false},
    {"a cube", "2,2,2", "0:1,0:2,0:2 1:1,0:1,0:2 1:1,1:1,0:1 1:1,1:1,1:1", true, true},
    {"a scalar", "", ".", true, true},
    {"a scalar twice", "", ". .", true, false},
    {"no scalar", "", "", true, false},
    {"no elements and no box", "0,5", "", true, true},
    {"no elements in a box", "0,5", "0:0,0:5", true, true},
    {"an empty box between", "4", "0:2 2:0 2:2", true, true},
    {"2^62 elements", "2147483648,2147483648", "0:1,0:2147483648 1:2147483647,0:2147483648",
     true, true},
};
/* clang-format on */

static unsigned parse_shape(const char *text, uint64_t *shape)
{
    unsigned rank = 0;
    for (char *at = (char *)text; *at; at += *at == ',')
        shape[rank++] = strtoull(at, &at, 10);
    return rank;
}

TEST(boxes)
{
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        print_message("%s\n", cases[i].name);
        uint64_t shape[4], origin[4], box[4];
        struct tiling t = tiling_of(shape, parse_shape(cases[i].shape, shape));
        bool inside = true;
        for (char *at = (char *)cases[i].boxes; *at; at += *at == ' ') {
            at += *at == '.';
            for (unsigned d = 0; d < t.rank; d++, at += *at == ',') {
                origin[d] = strtoull(at, &at, 10);
                box[d] = strtoull(at + 1, &at, 10);
            }
            inside = tiling_add(&t, origin, box) && inside;
        }
        assert_int_equal(inside, cases[i].inside);
        if (inside)
            assert_int_equal(tiling_complete(&t), cases[i].complete);
    }
}

/* 254 dimensions of 2, cut in half in each dimension in turn: pieces of 2^253, 2^252, ... */
TEST(many_dimensions)
{
    uint64_t shape[254], origin[254] = {0}, box[254];
    for (unsigned d = 0; d < 254; d++)
        shape[d] = box[d] = 2;
    struct tiling t = tiling_of(shape, 254);
    for (unsigned d = 0; d < 254; d++) {
        box[d] = 1;
        assert_true(tiling_add(&t, origin, box));
        origin[d] = 1;
    }
    assert_false(tiling_complete(&t));
    assert_true(tiling_add(&t, origin, box));
    assert_true(tiling_complete(&t));
}

RUN_TESTS(NULL, NULL)

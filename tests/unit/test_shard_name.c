#include "importer/container/shard_name.h"
#include "tests/unit/unit.h"

static const struct {
    const char *name;
    size_t stem;
    uint64_t part, count;
    const char *rest;
} names[] = {
    {"model-00001-of-00005.safetensors", 5, 1, 5, ".safetensors"},
    {"model.fp16-00012-of-00012.bin", 10, 12, 12, ".bin"},
    {"llama-7b-q4_0-00002-of-00003.gguf", 13, 2, 3, ".gguf"},
    {"model.ckpt-1000-00000-of-00002", 15, 0, 2, ""},
    {"model.ckpt.data-00000-of-00002", 15, 0, 2, ""},
    {"m-00001-of-00002-00003-of-00004.x", 16, 3, 4, ".x"},
    {"-00001-of-00002", 0, 1, 2, ""},
    {"m-100000-of-123456.bin", 1, 100000, 123456, ".bin"},
    {"m-00007-of-00003.bin", 1, 7, 3, ".bin"},
    {"m-00001-of-00002.part-of-it.bin", 1, 1, 2, ".part-of-it.bin"},
    {"m-999999999999999999-of-00002", 1, UINT64_C(999999999999999999), 2, ""},
};

static const char *const others[] = {
    "",
    "-",
    "model.safetensors",
    "m-0001-of-00002",
    "m-00001-of-0002",
    "m-00001-of-",
    "m-00001-of",
    "m-00001_of_00002",
    "m00001-of-00002",
    "m-00001--of-00002",
    "m-0000a-of-00002",
    "m-1000000000000000000-of-00002", /* 19 digits */
    "m-00001-of-99999999999999999999999",
};

TEST(whole_names)
{
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        struct shard_name s;
        if (!shard_name(names[i].name, &s))
            fail_msg("%s: no number", names[i].name);
        assert_int_equal(s.stem, names[i].stem);
        assert_int_equal(s.part, names[i].part);
        assert_int_equal(s.count, names[i].count);
        assert_string_equal(s.rest, names[i].rest);
    }
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        struct shard_name s;
        if (shard_name(others[i], &s))
            fail_msg("%s: a number", others[i]);
    }
}

TEST(numbers_at_the_beginning)
{
    struct shard_name s;
    assert_false(shard_number("00001-of-00002", SHARD_DIGITS, &s));
    assert_false(shard_number("-000-of-001.index", SHARD_DIGITS, &s));
    assert_true(shard_number("-000-of-001.index", 1, &s));
    assert_int_equal(s.part, 0);
    assert_int_equal(s.count, 1);
    assert_string_equal(s.rest, ".index");
    assert_false(shard_number("--of-001", 1, &s));
}

RUN_TESTS(NULL, NULL)

#include "importer/format/tensorflow/orderedcode.h"
#include "tests/unit/unit.h"

static struct cursor over(const char *code, size_t len)
{
    return cursor_over((struct bytes){(const uint8_t *)code, len}, 0);
}

static const struct {
    const char *code;
    size_t len;
    int64_t value;
} signed_cases[] = {
    {"\x80", 1, 0},
    {"\x81", 1, 1},
    {"\x85", 1, 5},
    {"\xBF", 1, 63},
    {"\xC0\x40", 2, 64},
    {"\xC0\x64", 2, 100},
    {"\xDF\xFF", 2, 8191},
    {"\xE0\x20\x00", 3, 8192},
    {"\x7F", 1, -1},
    {"\x40", 1, -64},
    {"\x3F\xBF", 2, -65},
    {"\xF0\x42\x42\x42", 4, 0x424242},
    {"\x38\x00", 2, -0x800},
    {"\xFF\x01\x00\x00\x00\x00\x00\x00", 8, INT64_C(1) << 48},
    {"\xFF\x7F\xFF\xFF\xFF\xFF\xFF\xFF", 8, (INT64_C(1) << 55) - 1},
    {"\xFF\x80\x80\x00\x00\x00\x00\x00\x00", 9, INT64_C(1) << 55},
    {"\xFF\xBF\xFF\xFF\xFF\xFF\xFF\xFF\xFF", 9, (INT64_C(1) << 62) - 1},
    {"\xFF\xC0\x40\x00\x00\x00\x00\x00\x00\x00", 10, INT64_C(1) << 62},
    {"\xFF\xC0\x7F\xFF\xFF\xFF\xFF\xFF\xFF\xFF", 10, INT64_MAX},
    {"\x00\x3F\x80\x00\x00\x00\x00\x00\x00\x00", 10, INT64_MIN},
};

static const struct {
    const char *code;
    size_t len;
} signed_wrong[] = {
    {"", 0},
    {"\xC0", 1},
    {"\xC0\x3F", 2}, /* 63 takes one byte */
    {"\xFF", 1},
    {"\xFF\x00\xFF\xFF\xFF\xFF\xFF\xFF", 8},          /* fits in 7 bytes */
    {"\xFF\xC0\x80\x00\x00\x00\x00\x00\x00\x00", 10}, /* 2^63 */
    {"\xFF\xC1\x00\x00\x00\x00\x00\x00\x00\x00", 10}, /* 2^64 */
    {"\xFF\xE0\x00\x00\x00\x00\x00\x00\x00\x00\x00", 11},
    {"\x00\x1F\x00\x00\x00\x00\x00\x00\x00\x00\x00", 11},
};

TEST(signed_numbers)
{
    for (size_t i = 0; i < sizeof(signed_cases) / sizeof(signed_cases[0]); i++) {
        print_message("%lld\n", (long long)signed_cases[i].value);
        struct cursor c = over(signed_cases[i].code, signed_cases[i].len);
        assert_true(orderedcode_signed(&c) == signed_cases[i].value);
        assert_true(cursor_ok(&c) && cursor_left(&c) == 0);
    }
    for (size_t i = 0; i < sizeof(signed_wrong) / sizeof(signed_wrong[0]); i++) {
        print_message("wrong %zu\n", i);
        struct cursor c = over(signed_wrong[i].code, signed_wrong[i].len);
        assert_true(orderedcode_signed(&c) == 0);
        assert_false(cursor_ok(&c));
    }
}

static const struct {
    const char *code;
    size_t len;
    uint64_t value;
    bool ok;
} numbers[] = {
    {"\0", 1, 0, true},
    {"\1\2", 2, 2, true},
    {"\2\1\0", 3, 256, true},
    {"\10\377\377\377\377\377\377\377\377", 9, UINT64_MAX, true},
    {"", 0, 0, false},
    {"\1", 1, 0, false},
    {"\1\0", 2, 0, false}, /* 0 takes no byte */
    {"\11\1\1\1\1\1\1\1\1\1", 10, 0, false},
};

TEST(unsigned_numbers)
{
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        print_message("number %zu\n", i);
        struct cursor c = over(numbers[i].code, numbers[i].len);
        assert_true(orderedcode_number(&c) == numbers[i].value);
        assert_int_equal(cursor_ok(&c), numbers[i].ok);
    }
}

static const struct {
    const char *code;
    size_t len;
    const char *value;
    size_t value_len;
    bool ok;
} strings[] = {
    {"\0\1", 2, "", 0, true},
    {"emb\0\1", 5, "emb", 3, true},
    {"a\0\377b\0\1", 6, "a\0b", 3, true},
    {"\377\0x\0\1", 5, "\377x", 2, true},
    {"", 0, "", 0, false},
    {"abc", 3, "", 0, false},
    {"abc\0", 4, "", 0, false},
    {"a\0\2b\0\1", 6, "", 0, false},
    {"a\377\1b\0\1", 6, "", 0, false},
};

TEST(byte_strings)
{
    for (size_t i = 0; i < sizeof(strings) / sizeof(strings[0]); i++) {
        print_message("string %zu\n", i);
        struct cursor c = over(strings[i].code, strings[i].len);
        struct text out = {.limit = 64};
        assert_int_equal(orderedcode_string(&c, &out), strings[i].ok);
        if (strings[i].ok) {
            assert_int_equal(out.len, strings[i].value_len);
            assert_memory_equal(text_str(&out), strings[i].value, out.len);
            assert_int_equal(cursor_left(&c), 0);
        }
        text_release(&out);
    }
}

/* Rows 0..63, all columns, of "emb". */
TEST(slice_key)
{
    struct cursor c = over("\0emb\0\1\1\2\x80\xC0\x40\x80\x7F", 13);
    struct text name = {.limit = 64};
    assert_true(orderedcode_number(&c) == 0);
    assert_true(orderedcode_string(&c, &name));
    assert_string_equal(text_str(&name), "emb");
    assert_true(orderedcode_number(&c) == 2);
    const int64_t extents[] = {0, 64, 0, -1};
    for (size_t i = 0; i < 4; i++)
        assert_true(orderedcode_signed(&c) == extents[i]);
    assert_true(cursor_ok(&c) && cursor_left(&c) == 0);
    text_release(&name);
}

RUN_TESTS(NULL, NULL)

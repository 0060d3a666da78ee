#include "catalog/data/codec/snappy.h"
#include "tests/unit/unit.h"

#define CASE(name, block, text, ok)                                                                \
    {                                                                                              \
        name, block, sizeof(block) - 1, text, sizeof(text) - 1, ok                                 \
    }

static const struct {
    const char *name;
    const char *block;
    size_t block_len;
    const char *text;
    size_t text_len;
    bool ok;
} cases[] = {
    CASE("nothing", "\0", "", true),
    CASE("short literal", "\3\010abc", "abc", true),
    CASE("literal, 1 length byte", "\4\360\003abcd", "abcd", true),
    CASE("literal, 2 length bytes", "\4\364\003\000abcd", "abcd", true),
    CASE("literal, 3 length bytes", "\4\370\003\000\000abcd", "abcd", true),
    CASE("literal, 4 length bytes", "\4\374\003\000\000\000abcd", "abcd", true),
    CASE("copy 1", "\010\014abcd\001\004", "abcdabcd", true),
    CASE("copy 2", "\010\014abcd\016\004\000", "abcdabcd", true),
    CASE("copy 3", "\010\014abcd\017\004\000\000\000", "abcdabcd", true),
    CASE("distance of 258", "\006\004ab\041\002", "ababab", false),
    CASE("run of one", "\006\000a\005\001", "aaaaaa", true),
    CASE("pattern of two", "\007\004ab\005\002", "abababa", true),
    CASE("distance 0", "\005\000a\001\000", "aaaaa", false),
    CASE("distance past the start", "\005\000a\001\002", "aaaaa", false),
    CASE("copy past the end", "\004\000a\001\001", "aaaa", false),
    CASE("copy cut short", "\005\000a\002\001", "aaaaa", false),
    CASE("literal cut short", "\005\020abc", "abcde", false),
    CASE("literal past the end", "\002\010abc", "ab", false),
    CASE("literal of 2^32", "\005\374\377\377\377\377abcde", "abcde", false),
    CASE("output short of its length", "\005\010abc", "abcde", false),
    CASE("length in 6 bytes", "\203\200\200\200\200\000\010abc", "abc", false),
    CASE("no length", "", "", false),
};

TEST(decode)
{
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        print_message("%s\n", cases[i].name);
        /* A heap copy of just the size, so that a sanitizer sees a byte too far. */
        size_t size = cases[i].block_len;
        uint8_t *block = malloc(size ? size : 1);
        for (size_t k = 0; k < size; k++)
            block[k] = (uint8_t)cases[i].block[k];
        struct bytes in = {block, size};
        uint64_t len = 0;
        bool ok = snappy_length(in, &len) && len <= 64;
        uint8_t *out = malloc(len ? len : 1);
        ok = ok && snappy_decode(in, out, len);
        if (ok) {
            assert_int_equal(len, cases[i].text_len);
            assert_memory_equal(out, cases[i].text, len);
        }
        assert_int_equal(ok, cases[i].ok);
        free(out);
        free(block);
    }
}

/* A declared length that no block of this size can reach is refused before it is
 * allocated; the best that a block can do is not. */
TEST(bomb)
{
    uint64_t len;
    assert_false(
        snappy_length((struct bytes){(const uint8_t *)"\377\377\377\377\017abc", 8}, &len));
    uint8_t best[2 + 2 + 3 * 100] = {0x81, 0x32, 0x00, 'x'}; /* 6401 bytes */
    for (size_t i = 0; i < 100; i++)
        best[4 + 3 * i] = 0xFE, best[5 + 3 * i] = 1; /* 64 bytes, from 1 back */
    assert_true(snappy_length((struct bytes){best, sizeof(best)}, &len));
    assert_int_equal(len, 6401);
    uint8_t *out = malloc(len);
    assert_true(snappy_decode((struct bytes){best, sizeof(best)}, out, len));
    for (size_t i = 0; i < len; i++)
        assert_int_equal(out[i], 'x');
    free(out);
}

RUN_TESTS(NULL, NULL)

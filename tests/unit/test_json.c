/* test_json.c - the JSON scanner: what it accepts, refuses and returns. */

#include "catalog/base/json.h"
#include "tests/unit/unit.h"

/* A text and what json_copy() writes for it; NULL: refused. */
static const struct {
    const char *text, *copy;
} texts[] = {
    {"{}", "{}"},
    {" \t\r\n[ ] ", "[]"},
    {"null", "null"},
    {"[true,false,null]", "[true,false,null]"},
    {"{\"a\" : [ 1 , { \"b\" : \"c\" } ] , \"d\" : -0.5e+10 }",
     "{\"a\":[1,{\"b\":\"c\"}],\"d\":-0.5e+10}"},
    {"{\"a\":1,\"a\":2}", "{\"a\":1,\"a\":2}"}, /* a caller that minds has a strmap */
    {"\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\\"\\\\/\\u0008\\u000c\\n\\u000d\\t\""},
    {"\"\\u0041\\u00e4\\u65E5\\ud83d\\ude42\"", "\"Aä日🙂\""},
    {"\"ä日🙂\"", "\"ä日🙂\""},
    {"\"12345678\\n12345678901\"", "\"12345678\\n12345678901\""},
    {"0", "0"},
    {"-0", "-0"},
    {"123456789012345678901234567890", "123456789012345678901234567890"},
    {"1.5E-7", "1.5E-7"},
    {"", NULL},
    {" ", NULL},
    {"{", NULL},
    {"[", NULL},
    {"]", NULL},
    {"[}", NULL},
    {"{]", NULL},
    {"[1,]", NULL},
    {"[,1]", NULL},
    {"[1 2]", NULL},
    {"{\"a\":1,}", NULL},
    {"{\"a\"}", NULL},
    {"{\"a\":}", NULL},
    {"{\"a\" 1}", NULL},
    {"{1:2}", NULL},
    {"{\"a\":1 \"b\":2}", NULL},
    {"{} {}", NULL},
    {"nul", NULL},
    {"nulL", NULL},
    {"True", NULL},
    {"NaN", NULL},
    {"-Infinity", NULL},
    {"'a'", NULL},
    {"// no\n1", NULL},
    {"01", NULL},
    {"-", NULL},
    {"+1", NULL},
    {".5", NULL},
    {"1.", NULL},
    {"1e", NULL},
    {"1e+", NULL},
    {"0x10", NULL},
    {"1_000", NULL},
    {"\"", NULL},
    {"\"a", NULL},
    {"\"\\", NULL},
    {"\"\\\"", NULL},
    {"\"\\x41\"", NULL},
    {"\"\\u12\"", NULL},
    {"\"\\u12G4\"", NULL},
    {"\"\\ud83d\"", NULL},
    {"\"\\ude42\"", NULL},
    {"\"\\ud83d\\u0041\"", NULL},
    {"\"\\ud83d\\ud83d\"", NULL},
    {"\"a\nb\"", NULL},
    {"\"a\tb\"", NULL},
    {"\"\x80\"", NULL},
    {"\"\xc0\x80\"", NULL},
    {"\"\xed\xa0\x80\"", NULL},
    {"\"\xf4\x90\x80\x80\"", NULL},
    {"\"\xe2\x82\"", NULL},
    {"\xef\xbb\xbf{}", NULL},
};

static struct json start(const char *text, struct arena *arena, struct error *err)
{
    struct json j;
    size_t len = strlen(text);
    *err = (struct error){.offset = NO_OFFSET};
    /* In a block of its own size, so that a sanitizer sees each byte too far. */
    char *exact = arena_alloc(arena, len ? len : 1);
    memcpy(exact, text, len);
    json_init(&j, cursor_over((struct bytes){(const uint8_t *)exact, len}, 100), arena, "t", err);
    return j;
}

TEST(test_texts)
{
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct arena arena = {0};
        struct text copy = {0};
        struct error err;
        struct json j = start(texts[i].text, &arena, &err);
        bool ok = json_next(&j) != JSON_FAIL && json_copy(&j, &copy) && json_next(&j) == JSON_END;
        if (ok != (texts[i].copy != NULL) || (!ok && err.offset < 100))
            print_error("%s\n", texts[i].text);
        assert_int_equal(ok, texts[i].copy != NULL);
        assert_int_equal(err.status, ok ? OK : ERR_CORRUPT);
        if (ok)
            assert_string_equal(text_str(&copy), texts[i].copy);
        else
            assert_int_equal(json_next(&j), JSON_FAIL);
        text_release(&copy);
        arena_release(&arena);
    }
}

/* The forms of a number. */
static const struct {
    const char *text;
    bool is_u64, is_i64;
    uint64_t u64;
    int64_t i64;
    double real;
} numbers[] = {
    {"0", true, true, 0, 0, 0},
    {"-0", false, true, 0, 0, -0.0},
    {"42", true, true, 42, 42, 42},
    {"-42", false, true, 0, -42, -42},
    {"9223372036854775807", true, true, INT64_MAX, INT64_MAX, 9223372036854775807.0},
    {"-9223372036854775808", false, true, 0, INT64_MIN, -9223372036854775808.0},
    {"9223372036854775808", true, false, 9223372036854775808u, 0, 9223372036854775808.0},
    {"-9223372036854775809", false, false, 0, 0, -9223372036854775808.0},
    {"9999999999999999999", true, false, 9999999999999999999u, 0, 1e19},
    {"18446744073709551615", true, false, UINT64_MAX, 0, 18446744073709551615.0},
    {"18446744073709551616", false, false, 0, 0, 18446744073709551616.0},
    {"100000000000000000000000", false, false, 0, 0, 1e23},
    {"1.0", false, false, 0, 0, 1},
    {"1e2", false, false, 0, 0, 100},
    {"0.1", false, false, 0, 0, 0.1},
    {"1e-400", false, false, 0, 0, 0},
};

TEST(test_numbers)
{
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        struct arena arena = {0};
        struct error err;
        uint64_t u = 0;
        int64_t s = 0;
        double d = 0;
        struct json j = start(numbers[i].text, &arena, &err);
        print_message("%s\n", numbers[i].text);
        assert_int_equal(json_next(&j), JSON_NUMBER);
        assert_int_equal(json_u64(&j, &u), numbers[i].is_u64);
        assert_int_equal(json_i64(&j, &s), numbers[i].is_i64);
        assert_true(json_real(&j, &d));
        if (numbers[i].is_u64)
            assert_true(u == numbers[i].u64);
        if (numbers[i].is_i64)
            assert_true(s == numbers[i].i64);
        assert_true(d == numbers[i].real);
        arena_release(&arena);
    }
}

TEST(test_skip)
{
    struct arena arena = {0};
    struct error err;
    struct json j = start("{\"a\":{\"b\":[1,{\"c\":[]}]},\"d\":[[]],\"e\":7}", &arena, &err);
    assert_true(json_want(&j, JSON_OBJECT, "an object"));
    assert_int_equal(json_next(&j), JSON_KEY);
    assert_int_equal(json_next(&j), JSON_OBJECT);
    assert_true(json_skip(&j));
    assert_int_equal(json_next(&j), JSON_KEY);
    assert_true(json_is(&j, "d"));
    assert_int_equal(json_next(&j), JSON_ARRAY);
    assert_true(json_skip(&j));
    assert_int_equal(json_next(&j), JSON_KEY);
    assert_int_equal(json_next(&j), JSON_NUMBER);
    assert_true(json_skip(&j)); /* a leaf has no rest */
    assert_int_equal(json_next(&j), JSON_OBJECT_END);
    assert_int_equal(json_next(&j), JSON_END);
    assert_int_equal(err.status, OK);
    assert_false(json_want(&j, JSON_OBJECT, "something more"));
    assert_int_equal(err.status, ERR_CORRUPT);
    arena_release(&arena);
}

/* Without an arena strings stay as written. */
TEST(test_raw)
{
    struct arena arena = {0};
    struct error err;
    struct json j = start("[\"a\\\\\\\"1\",\"b\"]", &arena, &err);
    j.arena = NULL;
    assert_true(json_want(&j, JSON_ARRAY, "an array"));
    assert_int_equal(json_next(&j), JSON_STRING);
    assert_true(json_is(&j, "a\\\\\\\"1"));
    assert_int_equal(json_next(&j), JSON_STRING);
    assert_true(json_is(&j, "b"));
    assert_int_equal(json_next(&j), JSON_ARRAY_END);
    assert_int_equal(json_next(&j), JSON_END);
    arena_release(&arena);
}

/* 64 levels are read, 65 are a limit, not a crash. */
TEST(test_depth)
{
    for (size_t depth = 64; depth <= 65; depth++) {
        char text[2 * 65 + 1];
        struct arena arena = {0};
        struct error err;
        memset(text, '[', depth);
        memset(text + depth, ']', depth);
        text[2 * depth] = '\0';
        struct json j = start(text, &arena, &err);
        json_next(&j);
        assert_int_equal(json_skip(&j), depth == 64);
        assert_int_equal(err.status, depth == 64 ? OK : ERR_LIMIT);
        arena_release(&arena);
    }
}

/* NUL is a character like others; the text says how long it is. */
TEST(test_nul)
{
    struct arena arena = {0};
    struct error err;
    struct json j = start("\"a\\u0000b\"", &arena, &err);
    assert_int_equal(json_next(&j), JSON_STRING);
    assert_int_equal(j.text.len, 3);
    assert_memory_equal(j.text.at, "a\0b", 3);
    arena_release(&arena);
}

/* --- members by a table ----------------------------------------------------------------------- */

struct members {
    uint64_t a;
    unsigned as, others;
};

static bool read_a(void *context, struct json *j)
{
    struct members *m = context;
    m->as++;
    return json_want(j, JSON_NUMBER, "a number") && json_u64(j, &m->a);
}

static bool read_other(void *context, struct json *j)
{
    struct members *m = context;
    m->others++;
    return json_pass(j);
}

/* How objects are read by a table of "a", with and without a reader for all others. */
static const struct {
    const char *text;
    bool read;
    uint64_t a;
    unsigned as, others;
    const char *message; /* NULL: none, or the text's own error */
} objects[] = {
    {"{}", true, 0, 0, 0, NULL},
    {"{\"a\":1}", true, 1, 1, 0, NULL},
    {"{\"b\":[{\"a\":9}],\"a\":1,\"\":{}}", true, 1, 1, 2, NULL}, /* inner keys are not its own */
    {"{\"a\":1,\"a\":2}", true, 2, 2, 0, NULL},
    {"{\"ab\":1,\"\":2}", true, 0, 0, 2, NULL},
    {"{\"a\":\"1\"}", false, 0, 1, 0, "a number expected"},
    {"{\"a\":[1]}", false, 0, 1, 0, "a number expected"},
    {"[1]", false, 0, 0, 0, "a thing expected"},
    {"null", false, 0, 0, 0, "a thing expected"},
    {"{\"a\":1,\"b\":", false, 1, 1, 1, NULL},
    {"{\"a\":1", false, 1, 1, 0, NULL},
};

TEST(test_members)
{
    static const struct json_member tables[][2] = {{{"a", read_a}, {0}},
                                                   {{"a", read_a}, {NULL, read_other}}};
    for (size_t i = 0; i < sizeof(objects) / sizeof(objects[0]); i++) {
        for (size_t k = 0; k < 2; k++) {
            struct arena arena = {0};
            struct members m = {0};
            struct error err;
            struct json j = start(objects[i].text, &arena, &err);
            print_message("%s\n", objects[i].text);
            assert_int_equal(json_object(&j, "a thing", tables[k], &m), objects[i].read);
            assert_int_equal(err.status, objects[i].read ? OK : ERR_CORRUPT);
            assert_int_equal(m.a, objects[i].a);
            assert_int_equal(m.as, objects[i].as);
            assert_int_equal(m.others, k ? objects[i].others : 0);
            if (objects[i].message)
                assert_string_equal(err.message, objects[i].message);
            else
                assert_true(json_next(&j) == (objects[i].read ? JSON_END : JSON_FAIL));
            arena_release(&arena);
        }
    }
}

/* A reader that finds no memory ends the reading: a member that it could not keep is not taken for absent. */
static bool read_kept(void *context, struct json *j)
{
    return json_pass(j) && arena_alloc(context, 100) != NULL;
}

TEST(test_members_memory)
{
    static const struct json_member table[] = {{NULL, read_kept}};
    struct arena arena = {0};
    struct error err, lack = {.offset = NO_OFFSET};
    struct arena small = {.ceiling = 250, .err = &lack};
    struct json j = start("{\"a\":1,\"b\":2,\"c\":3,\"d\":4}", &arena, &err);
    assert_false(json_object(&j, "a thing", table, &small));
    assert_int_equal(j.type, JSON_NUMBER);
    assert_true(json_is(&j, "3"));
    assert_int_equal(lack.status, ERR_MEMORY);
    arena_release(&small);
    arena_release(&arena);
}

RUN_TESTS(NULL, NULL)

#include "catalog/base/text.h"
#include "catalog/maps/regex/regex.h"
#include "tests/unit/unit.h"

/* What CPython 3.11's Match.expand gives: a result of `len` bytes, or an exception. */
static const struct {
    const char *pattern, *text, *template;
    const char *class, *result;
    size_t len;
} cases[] = {
    {"(a)(b)?", "a", "[\\1\\2]", NULL, "[a]", 3},
    {"(a)", "a", "\\0", NULL, "\x00", 1},
    {"(a)", "a", "\\01", NULL, "\x01", 1},
    {"(a)", "a", "\\101", NULL, "A", 1},
    {"(a)", "a", "\\10", "error", "invalid group reference 10 at position 1", 0},
    {"(a)", "a", "\\1a", NULL, "aa", 2},
    {"(a)", "a", "\\g<1>0", NULL, "a0", 2},
    {"(a)", "a", "\\g<0>", NULL, "a", 1},
    {"(a)", "a", "\\g<01>", NULL, "a", 1},
    {"(a)", "a", "\\g<>", "error", "missing group name at position 3", 0},
    {"(a)", "a", "\\g<1", "error", "missing >, unterminated name at position 3", 0},
    {"(a)", "a", "\\g", "error", "missing < at position 2", 0},
    {"(a)", "a", "\\g1", "error", "missing < at position 2", 0},
    {"(a)", "a", "\\g<-1>", "error", "bad character in group name '-1' at position 3", 0},
    {"(?P<n>a)", "a", "\\g<n>", NULL, "a", 1},
    {"(a)", "a", "\\g<n>", "IndexError", "unknown group name 'n'", 0},
    {"(?P<n>a)|b", "b", "<\\g<n>>", NULL, "<>", 2},
    {"(a)", "a", "x\\/y", NULL, "x\\/y", 4},
    {"(a)", "a", "x\\.y", NULL, "x\\.y", 4},
    {"(a)", "a", "\\_x", NULL, "\\_x", 3},
    {"(a)", "a", "a&$1", NULL, "a&$1", 4},
    {"(a)", "a", "\\\\", NULL, "\\", 1},
    {"(a)", "a", "\\d", "error", "bad escape \\d at position 0", 0},
    {"(a)", "a", "\\x41", "error", "bad escape \\x at position 0", 0},
    {"(a)", "a", "\\Z", "error", "bad escape \\Z at position 0", 0},
    {"(a)", "a", "end\\", "error", "bad escape (end of pattern) at position 3", 0},
    {"(a)", "a", "\\400", "error",
     "octal escape value \\400 outside of range 0-0o377 at position 0", 0},
    {"(a)", "a", "\\377", NULL, "\xC3\xBF", 2},
    {"(a)", "a", "\\099", NULL,
     "\x00"
     "99",
     3},
    {"(a)", "a", "\\8", "error", "invalid group reference 8 at position 1", 0},
    {"(a)", "a", "\\100", NULL, "@", 1},
    {"(a)", "a", "\\1234", NULL, "S4", 2},
    {"(.)(.)(.)(.)(.)(.)(.)(.)(.)(.)(.)(.)(.)(.)(.)(.)(.)(.)", "abcdefghijklmnopqrs", "\\18", NULL,
     "r", 1},
    {"(.)(.)(.)(.)(.)(.)(.)(.)(.)(.)(.)(.)(.)(.)(.)(.)(.)(.)", "abcdefghijklmnopqrs", "\\19",
     "error", "invalid group reference 19 at position 1", 0},
    {"(a)", "a", "\\08", NULL,
     "\x00"
     "8",
     2},
    {"(a)", "a", "\\\xC3\xA9", NULL, "\\\xC3\xA9", 3},
    {"(a)", "a", "\\\n", NULL, "\\\n", 2},
    {"(a)", "a", "\\a\\b\\f\\n\\r\\t\\v", NULL, "\x07\x08\x0C\n\x0D\x09\x0B", 7},
    {"(a)", "a", "\\g<+1>", NULL, "a", 1},
    {"(a)", "a", "\\g< 1 >", NULL, "a", 1},
    {"(a)", "a", "\\g<0_1>", NULL, "a", 1},
    {"(a)", "a", "\\g<\xD9\xA1>", NULL, "a", 1},
    {"(a)", "a", "\\g<1_>", "error", "bad character in group name '1_' at position 3", 0},
    {"(a)", "a", "\\g<99999999999999999999>", "error",
     "invalid group reference 99999999999999999999 at position 3", 0},
    {"(a)", "a", "\\g<a b>", "error", "bad character in group name 'a b' at position 3", 0},
    {"(a)", "a", "\\g<a'b>", "error", "bad character in group name \"a'b\" at position 3", 0},
    {"(a)", "a", "x\n\\g<zz", "error",
     "missing >, unterminated name at position 5 (line 2, column 4)", 0},
    {"(a)", "a", "x\n\\2", "error", "invalid group reference 2 at position 3 (line 2, column 2)",
     0},
    {"(?P<\xC3\xA9>a)", "a", "\\g<\xC3\xA9>", NULL, "a", 1},
    {"(a)", "a", "", NULL, "", 0},
    {"(a)", "a", "\xE6\x97\xA5\xE6\x9C\xAC", NULL, "\xE6\x97\xA5\xE6\x9C\xAC", 6},
    {"a", "a", "\\1", "error", "invalid group reference 1 at position 1", 0},
    {"", "", "\\g<0>", NULL, "", 0},
};

TEST(expands_as_python)
{
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const char *pattern = cases[i].pattern, *text = cases[i].text;
        const char *source = cases[i].template;
        struct error err = {.offset = NO_OFFSET};
        struct regex *re = NULL;
        struct template *t = NULL;
        struct text out = {0};
        bool index_error = false;
        print_message("template %s for %s\n", source, pattern);
        assert_int_equal(regex_compile(pattern, strlen(pattern), REGEX_SEARCH, &re, &err), OK);
        assert_int_equal(regex_exec(re, text, strlen(text), 0, &err), 1);
        template_compile(source, strlen(source), re, &t, &index_error, &err);
        if (cases[i].class) {
            assert_string_equal(err.message, cases[i].result);
            assert_string_equal(error_word(&err), cases[i].class);
            assert_int_equal(index_error, strcmp(cases[i].class, "IndexError") == 0);
            assert_null(t);
        } else {
            assert_int_equal(err.status, OK);
            assert_true(template_expand(t, re, text, &out));
            assert_int_equal(out.len, cases[i].len);
            assert_memory_equal(text_str(&out), cases[i].result, cases[i].len);
        }
        text_release(&out);
        template_free(t);
        regex_free(re);
    }
}

TEST(bad_bytes)
{
    struct error err = {.offset = NO_OFFSET};
    struct regex *re = NULL;
    struct template *t = NULL;
    assert_int_equal(regex_compile("a", 1, REGEX_SEARCH, &re, &err), OK);
    assert_int_equal(template_compile("\xFF", 1, re, &t, NULL, &err), ERR_ARGUMENT);
    assert_null(t);
    regex_free(re);
}

TEST(keeps_nul_and_limit)
{
    struct error err = {.offset = NO_OFFSET};
    struct regex *re = NULL;
    struct template *t = NULL;
    assert_int_equal(regex_compile("a+", 2, REGEX_SEARCH, &re, &err), OK);
    assert_int_equal(regex_exec(re, "aaa", 3, 0, &err), 1);
    assert_int_equal(template_compile("x\0\\g<0>", 7, re, &t, NULL, &err), OK);
    struct text out = {.limit = 5}, small = {.limit = 4};
    assert_true(template_expand(t, re, "aaa", &out));
    assert_memory_equal(out.at, "x\0aaa", 5);
    assert_false(template_expand(t, re, "aaa", &small));
    text_release(&out);
    text_release(&small);
    template_free(t);
    regex_free(re);
}

RUN_TESTS(NULL, NULL)

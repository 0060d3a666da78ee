#include <sys/resource.h>
#include <sys/wait.h>

#include "catalog/base/text.h"
#include "catalog/maps/regex/regex.h"
#include "tests/unit/unit.h"

#define LEN(a) (sizeof(a) / sizeof((a)[0]))

/* CPython 3.11's answers: the spans of group 0, 1, ... in bytes; NULL without a match. */
static const struct {
    const char *pattern;
    enum regex_how how;
    const char *text, *spans;
} matches[] = {
    {"a|ab", REGEX_FULLMATCH, "ab", "0:2"},
    {"a|b$", REGEX_MATCH, "abc", "0:1"},
    {"a|b$", REGEX_MATCH, "xb", NULL},
    {"a$", REGEX_MATCH, "a\n", "0:1"},
    {"a$", REGEX_FULLMATCH, "a\n", NULL},
    {"b", REGEX_MATCH, "ab", NULL},
    {"", REGEX_FULLMATCH, "", "0:0"},
    {"(.*)foo/bar.*", REGEX_FULLMATCH, "asfoo/bar/qux", "0:13 0:2"},
    {"(?P<layer>\\d+)/(\\w+)", REGEX_SEARCH, "x/12/k_1", "2:8 2:4 5:8"},
    {"(a)(b)?", REGEX_SEARCH, "a", "0:1 0:1 -"},
    {"(?:.|)a*b", REGEX_SEARCH, "b", "0:1"},
    {"b(?:(\\wc|[ab])a*){2}", REGEX_SEARCH, "bbcc", "0:4 2:4"},
    {"(?:b(a)*+$|)", REGEX_MATCH, "ba/", "0:0 -"},
    {"(?x)(K(_) *+)* [ ]", REGEX_SEARCH, "iK_0 KP", "4:5 - -"},
    {"(?:b(a)(?#x)*+$|)\\)?+", REGEX_MATCH, "ba/", "0:0 -"},
    {"(a)|(b)", REGEX_SEARCH, "b", "0:1 - 0:1"},
    {"a{,2}", REGEX_SEARCH, "aaaa", "0:2"},
    {"^a{,}$", REGEX_SEARCH, "aaa", "0:3"},
    {"a{ 2 }", REGEX_SEARCH, "a{ 2 }", "0:6"},
    {"a{2", REGEX_SEARCH, "a{2", "0:3"},
    {"x{}", REGEX_SEARCH, "x{}", "0:3"},
    {"[[:alpha:]]", REGEX_SEARCH, ":]", "0:2"},
    {"[:a:]", REGEX_SEARCH, "a", "0:1"},
    {"[.a.]+", REGEX_SEARCH, ".a", "0:2"},
    {"a\\Z", REGEX_SEARCH, "a\n", NULL},
    {"a\\Z", REGEX_SEARCH, "a", "0:1"},
    {"\\u00e9\\U0001F600\\x41", REGEX_SEARCH,
     "\xC3\xA9\xF0\x9F\x98\x80"
     "A",
     "0:7"},
    {"[\\u00e0-\\u00ff]", REGEX_SEARCH, "\xC3\xA9", "0:2"},
    {"\\ud800", REGEX_SEARCH, "a", NULL},
    {"[\\ud800-\\ue000]", REGEX_SEARCH, "\xEE\x80\x80", "0:3"},
    {"[^\\ud800]", REGEX_SEARCH, "a", "0:1"},
    {"(?a)\\w+", REGEX_SEARCH,
     "\xC3\xA9"
     "1_",
     "2:4"},
    {"\\w+", REGEX_SEARCH, "\xC3\xA9\xC2\xB2\xC2\xBD\xE2\x85\xA7_\xCC\x81", "0:10"},
    {"\\w", REGEX_SEARCH, "\xE2\x80\xBF", NULL},
    {"\\d", REGEX_SEARCH, "\xD9\xA3", "0:2"},
    {"(?a)\\d", REGEX_SEARCH, "\xD9\xA3", NULL},
    {"(?a:\\d)|\\D", REGEX_SEARCH, "\xD9\xA3", NULL},
    {"(?u)\\d", REGEX_SEARCH, "\xD9\xA3", "0:2"},
    {"\\s", REGEX_SEARCH, "\x1C", "0:1"},
    {"\\s", REGEX_SEARCH, "\xE1\xA0\x8E", NULL},
    {"(?a)\\s", REGEX_SEARCH, "\x1C", NULL},
    {"\\s", REGEX_SEARCH, "\xC2\x85", "0:2"},
    {"[^\\s]", REGEX_SEARCH, "\xE1\xA0\x8E", "0:3"},
    {"[\\S]", REGEX_SEARCH, "\x1F", NULL},
    {"[\\W]+", REGEX_SEARCH, "_a\xE2\x80\xBF\xCC\x81 ", "2:8"},
    {"[\\D]", REGEX_SEARCH,
     "\xD9\xA3"
     "a",
     "2:3"},
    {"(?i)i", REGEX_SEARCH, "\xC4\xB0", "0:2"},
    {"(?i)[a-z]", REGEX_SEARCH, "\xC4\xB0", "0:2"},
    {"(?i)\xC4\xB0", REGEX_SEARCH, "I", "0:1"},
    {"(?i)i", REGEX_SEARCH, "\xC4\xB1", "0:2"},
    {"(?i)[a-z]", REGEX_SEARCH, "\xC4\xB1", "0:2"},
    {"(?i)\xC4\xB1", REGEX_SEARCH, "I", "0:1"},
    {"(?i)[^i]", REGEX_SEARCH, "\xC4\xB1", NULL},
    {"(?i)k", REGEX_SEARCH, "\xE2\x84\xAA", "0:3"},
    {"(?ai)k", REGEX_SEARCH, "\xE2\x84\xAA", NULL},
    {"(?ai)k[A-C]", REGEX_SEARCH, "KbB", "0:2"},
    {"(?ai)\xC3\xA9", REGEX_SEARCH, "\xC3\x89", NULL},
    {"(?i)\xC3\xA9", REGEX_SEARCH, "\xC3\x89", "0:2"},
    {"(?i)\xC3\x9F", REGEX_SEARCH, "\xE1\xBA\x9E", "0:3"},
    {"(?i)\xC3\x9F", REGEX_SEARCH, "ss", NULL},
    {"(?i)\xCE\x90", REGEX_SEARCH, "\xE1\xBF\x93", "0:3"},
    {"(?i)[\xEF\xAC\x85]", REGEX_SEARCH, "\xEF\xAC\x86", "0:3"},
    {"(?i:a)b", REGEX_SEARCH, "Ab", "0:2"},
    {"(?i:a)b", REGEX_SEARCH, "AB", NULL},
    {"(?i)a(?-i:b)", REGEX_SEARCH, "AB", NULL},
    {"(?ia:k)|k", REGEX_SEARCH, "\xE2\x84\xAA", NULL},
    {"(?i)(a)\\1", REGEX_SEARCH, "aA", "0:2 0:1"},
    {"(?ai)(k)\\1", REGEX_SEARCH, "kK", "0:2 0:1"},
    {"\\101\\x2d\\060", REGEX_SEARCH, "A-0", "0:3"},
    {"(a)\\1\\07", REGEX_SEARCH, "aa\x07", "0:3 0:1"},
    {"(.)(.)(.)(.)(.)(.)(.)(.)(.)(.)\\10", REGEX_SEARCH, "abcdefghijj",
     "0:11 0:1 1:2 2:3 3:4 4:5 5:6 6:7 7:8 8:9 9:10"},
    {"[\\101\\0]", REGEX_SEARCH, "A", "0:1"},
    {"(a)?(?(1)b|c)", REGEX_SEARCH, "ab", "0:2 0:1"},
    {"(a)?(?(1)b|c)", REGEX_SEARCH, "c", "0:1 -"},
    {"(?P<n>a)?(?(n)b)c", REGEX_SEARCH, "c", "0:1 -"},
    {"(?(2)x|y)(a)(b)", REGEX_SEARCH, "yab", "0:3 1:2 2:3"},
    {"(?( 1_0 )a|b)()()()()()()()()()()", REGEX_SEARCH, "b",
     "0:1 1:1 1:1 1:1 1:1 1:1 1:1 1:1 1:1 1:1 1:1"},
    {"(?<=a)b", REGEX_SEARCH, "ab", "1:2"},
    {"(?<!a)b", REGEX_SEARCH, "ab", NULL},
    {"(?<=ab|cd)e", REGEX_SEARCH, "cde", "2:3"},
    {"(a)b(?<=\\1b)c", REGEX_SEARCH, "abc", "0:3 0:1"},
    {"(?<=(?:a|b)c)d", REGEX_SEARCH, "bcd", "2:3"},
    {"(?x) a b # c\n [ #] \\ ", REGEX_SEARCH, "ab# ", "0:4"},
    {"(?x: a ) b", REGEX_SEARCH, "a b", "0:3"},
    {"(?x)a(?-x: )b", REGEX_SEARCH, "a b", "0:3"},
    {"(?x)a * b", REGEX_SEARCH, "aab", "0:3"},
    {"a++a", REGEX_SEARCH, "aaa", NULL},
    {"(?>a|ab)c", REGEX_SEARCH, "abc", NULL},
    {"a?+b", REGEX_SEARCH, "ab", "0:2"},
    {"a{1,2}+a", REGEX_SEARCH, "aaa", "0:3"},
    {"\\bfoo\\b", REGEX_SEARCH, "a foo b", "2:5"},
    {"\\B", REGEX_SEARCH, "", NULL},
    {"\\B", REGEX_SEARCH, "ab", "1:1"},
    {"(?a)\\b\xC3\xA9", REGEX_SEARCH, "a\xC3\xA9", "1:3"},
    {"(?m)^b$", REGEX_SEARCH, "a\nb\nc", "2:3"},
    {"(?m)^$", REGEX_SEARCH, "a\n", "2:2"},
    {".", REGEX_SEARCH, "\n", NULL},
    {"(?s).", REGEX_SEARCH, "\n", "0:1"},
    {".", REGEX_SEARCH, "\x0D", "0:1"},
    {"a.b", REGEX_SEARCH, "a/b", "0:3"},
    {"x*", REGEX_SEARCH, "aaa", "0:0"},
    {"(?=a)*b", REGEX_SEARCH, "ab", "1:2"},
    {"(?#comment)a(?#more)+", REGEX_SEARCH, "aa", "0:2"},
    {"(?:a|b)+?c", REGEX_SEARCH, "abc", "0:3"},
    {"(?P<nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn>a)(?P=nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn)",
     REGEX_SEARCH, "aa", "0:2 0:1"},
    {"(?P<\xC3\xA9>a)(?P=\xC3\xA9)", REGEX_SEARCH, "aa", "0:2 0:1"},
    {"[]a]+", REGEX_SEARCH, "a]", "0:2"},
    {"[^]a]", REGEX_SEARCH, "b", "0:1"},
    {"[a-]", REGEX_SEARCH, "-", "0:1"},
    {"[\\]\\-\\\\]+", REGEX_SEARCH, "\\-]", "0:3"},
    {"\\/\\.\\\xC3\xA9", REGEX_SEARCH, "/.\xC3\xA9", "0:4"},
    {"[0-9][a&&b]", REGEX_SEARCH, "1&", "0:2"},
    {"(?i)(?s)(?m)^.A$", REGEX_SEARCH, "\nA", "0:2"},
};

/* Exceptions that CPython 3.11 raises. */
static const struct {
    const char *pattern, *class, *message;
} errors[] = {
    {"(", "error", "missing ), unterminated subpattern at position 0"},
    {")", "error", "unbalanced parenthesis at position 0"},
    {"a)", "error", "unbalanced parenthesis at position 1"},
    {"(a", "error", "missing ), unterminated subpattern at position 0"},
    {"a\n(", "error", "missing ), unterminated subpattern at position 2 (line 2, column 1)"},
    {"(?:", "error", "missing ), unterminated subpattern at position 0"},
    {"\\", "error", "bad escape (end of pattern) at position 0"},
    {"a\\", "error", "bad escape (end of pattern) at position 1"},
    {"*", "error", "nothing to repeat at position 0"},
    {"a**", "error", "multiple repeat at position 2"},
    {"a{2}{3}", "error", "multiple repeat at position 4"},
    {"a+*", "error", "multiple repeat at position 2"},
    {"^*", "error", "nothing to repeat at position 1"},
    {"\\b+", "error", "nothing to repeat at position 2"},
    {"(?i)*", "error", "nothing to repeat at position 4"},
    {"|*", "error", "nothing to repeat at position 1"},
    {"a{3,2}", "error", "min repeat greater than max repeat at position 2"},
    {"a{4294967295}", "OverflowError", "the repetition number is too large"},
    {"a{5,99999999999}", "OverflowError", "the repetition number is too large"},
    {"\\h", "error", "bad escape \\h at position 0"},
    {"[\\h]", "error", "bad escape \\h at position 1"},
    {"\\R", "error", "bad escape \\R at position 0"},
    {"\\K", "error", "bad escape \\K at position 0"},
    {"\\G", "error", "bad escape \\G at position 0"},
    {"\\Q", "error", "bad escape \\Q at position 0"},
    {"\\X", "error", "bad escape \\X at position 0"},
    {"\\z", "error", "bad escape \\z at position 0"},
    {"\\c.", "error", "bad escape \\c at position 0"},
    {"\\o{1}", "error", "bad escape \\o at position 0"},
    {"\\p{L}", "error", "bad escape \\p at position 0"},
    {"\\e", "error", "bad escape \\e at position 0"},
    {"\\g<1>", "error", "bad escape \\g at position 0"},
    {"\\k<n>", "error", "bad escape \\k at position 0"},
    {"[\\A]", "error", "bad escape \\A at position 1"},
    {"[\\8]", "error", "bad escape \\8 at position 1"},
    {"\\8", "error", "invalid group reference 8 at position 1"},
    {"\\1", "error", "invalid group reference 1 at position 1"},
    {"(a)\\2", "error", "invalid group reference 2 at position 4"},
    {"(a\\1)", "error", "cannot refer to an open group at position 2"},
    {"\\x4", "error", "incomplete escape \\x4 at position 0"},
    {"\\xg", "error", "incomplete escape \\x at position 0"},
    {"\\u12", "error", "incomplete escape \\u12 at position 0"},
    {"\\U0011", "error", "incomplete escape \\U0011 at position 0"},
    {"\\U00110000", "error", "bad escape \\U00110000 at position 0"},
    {"[\\U00110000]", "error", "bad escape \\U00110000 at position 1"},
    {"\\400", "error", "octal escape value \\400 outside of range 0-0o377 at position 0"},
    {"[\\400]", "error", "octal escape value \\400 outside of range 0-0o377 at position 1"},
    {"\\N", "error", "missing { at position 2"},
    {"\\N{}", "error", "missing character name at position 3"},
    {"\\N{x", "error", "missing }, unterminated name at position 3"},
    {"[a", "error", "unterminated character set at position 0"},
    {"[", "error", "unterminated character set at position 0"},
    {"[]", "error", "unterminated character set at position 0"},
    {"[a-", "error", "unterminated character set at position 0"},
    {"[z-a]", "error", "bad character range z-a at position 1"},
    {"[a-\\d]", "error", "bad character range a-\\d at position 1"},
    {"[\\w-a]", "error", "bad character range \\w-a at position 1"},
    {"[\\x62-\\x61]", "error", "bad character range \\x-\\x at position 5"},
    {"(?|a)", "error", "unknown extension ?| at position 1"},
    {"(?<n>a)", "error", "unknown extension ?<n at position 1"},
    {"(?'n'a)", "error", "unknown extension ?' at position 1"},
    {"(*VERB)", "error", "nothing to repeat at position 1"},
    {"(?", "error", "unexpected end of pattern at position 2"},
    {"(?P", "error", "unexpected end of pattern at position 3"},
    {"(?Px)", "error", "unknown extension ?Px at position 1"},
    {"(?P<", "error", "missing group name at position 4"},
    {"(?P<>a)", "error", "missing group name at position 4"},
    {"(?P<n", "error", "missing >, unterminated name at position 4"},
    {"(?P<1n>a)", "error", "bad character in group name '1n' at position 4"},
    {"(?P<a'b>a)", "error", "bad character in group name \"a'b\" at position 4"},
    {"(?P<a b>a)", "error", "bad character in group name 'a b' at position 4"},
    {"(?P<\xD9\xA1>a)", "error", "bad character in group name '\xD9\xA1' at position 4"},
    {"(?P<n>a)(?P<n>b)", "error",
     "redefinition of group name 'n' as group 2; was group 1 at position 12"},
    {"(?P=n)", "error", "unknown group name 'n' at position 4"},
    {"(?P=", "error", "missing group name at position 4"},
    {"(?P=1)", "error", "bad character in group name '1' at position 4"},
    {"(?P<n>(?P=n))", "error", "cannot refer to an open group at position 10"},
    {"(?<", "error", "unexpected end of pattern at position 3"},
    {"(?<x", "error", "unknown extension ?<x at position 1"},
    {"(?#a", "error", "missing ), unterminated comment at position 0"},
    {"(?\xC3\xA9)", "error", "unknown extension ?\xC3\xA9 at position 1"},
    {"(?z)", "error", "unknown extension ?z at position 1"},
    {"a(?i)b", "error", "global flags not at the start of the expression at position 1"},
    {"(?iz)", "error", "unknown flag at position 3"},
    {"(?i\xC3\xA9)", "error", "unknown flag at position 3"},
    {"(?i", "error", "missing -, : or ) at position 3"},
    {"(?i-", "error", "missing flag at position 4"},
    {"(?i-)", "error", "missing flag at position 4"},
    {"(?-i", "error", "missing : at position 4"},
    {"(?-i)", "error", "missing : at position 4"},
    {"(?i-i:a)", "error", "bad inline flags: flag turned on and off at position 5"},
    {"(?L)", "error", "bad inline flags: cannot use 'L' flag with a str pattern at position 3"},
    {"(?au)", "error", "bad inline flags: flags 'a', 'u' and 'L' are incompatible at position 4"},
    {"(?a-u:x)", "error", "bad inline flags: cannot turn off flags 'a', 'u' and 'L' at position 5"},
    {"(?-a:x)", "error", "bad inline flags: cannot turn off flags 'a', 'u' and 'L' at position 4"},
    {"(?m-:a)", "error", "missing flag at position 4"},
    {"(?t:a)", "error", "bad inline flags: cannot turn on global flag at position 3"},
    {"(?-t:a)", "error", "bad inline flags: cannot turn off global flag at position 4"},
    {"(?a)(?u)", "ValueError", "ASCII and UNICODE flags are incompatible"},
    {"(?(1)a)", "error", "invalid group reference 1 at position 3"},
    {"(?(n)a)", "error", "unknown group name 'n' at position 3"},
    {"(?(0)a)", "error", "bad group number at position 3"},
    {"(?(-1)a)", "error", "bad character in group name '-1' at position 3"},
    {"(?(+)a)", "error", "bad character in group name '+' at position 3"},
    {"(?(99999999999)a)", "error", "invalid group reference 99999999999 at position 3"},
    {"(a)(?(1)b|c|d)", "error", "conditional backref with more than two branches at position 11"},
    {"(?(", "error", "missing group name at position 3"},
    {"(?(1", "error", "missing ), unterminated name at position 3"},
    {"(?(2)a)(?(3)b)(c)", "error", "invalid group reference 2 at position 3"},
    {"(?(1)a", "error", "missing ), unterminated subpattern at position 0"},
    {"(?<=a|bc)", "error", "look-behind requires fixed-width pattern"},
    {"(?<=a*)", "error", "look-behind requires fixed-width pattern"},
    {"(?<!a?)b", "error", "look-behind requires fixed-width pattern"},
    {"(a+)(?<=\\1)", "error", "look-behind requires fixed-width pattern"},
    {"(?<=(a)\\1)", "error",
     "cannot refer to group defined in the same lookbehind subpattern at position 9"},
    {"(?<=(?P<n>a)(?P=n))", "error",
     "cannot refer to group defined in the same lookbehind subpattern at position 18"},
    {"(?<=(a)(?(1)b|c))", "error",
     "cannot refer to group defined in the same lookbehind subpattern at position 12"},
    {"(?=a", "error", "missing ), unterminated subpattern at position 0"},
    {"\xC3\xA9(?i)", "error", "global flags not at the start of the expression at position 1"},
    {"a\nb\n  *\n**", "error", "multiple repeat at position 9 (line 4, column 2)"},
    {"(?x)a # (\n)", "error", "unbalanced parenthesis at position 10 (line 2, column 1)"},
    {"(?P<a>x)(?P<a\n>y)", "error",
     "bad character in group name 'a\\n' at position 12 (line 1, column 13)"},
    {"((((", "error", "missing ), unterminated subpattern at position 3"},
};

/* Valid in Python, and refused here with our own message. */
static const struct {
    const char *pattern, *message;
} unsupported[] = {
    {"a{65536}", "more than 65535 repetitions are not supported"},
    {"(?:a{65535}){65535}", "PCRE2: regular expression is too large"},
    {"\\N{EM DASH}", "\\N{EM DASH} is not supported: write the character or its \\uXXXX"},
    {"(?t)a", "the flag t (TEMPLATE) is not supported"},
    {"(?<=(?:\\b)*)a", "PCRE2: lookbehind assertion is not fixed length"},
};

static struct regex *compile(const char *pattern, enum regex_how how)
{
    struct regex *re = NULL;
    struct error err = {.offset = NO_OFFSET};
    print_message("pattern %s\n", pattern);
    if (regex_compile(pattern, strlen(pattern), how, &re, &err) != OK)
        fail_msg("%s", err.message);
    return re;
}

static void add_spans(const struct regex *re, struct text *out)
{
    for (unsigned g = 0; g <= regex_groups(re); g++) {
        size_t begin = 0, end = 0;
        text_adds(out, g ? " " : "");
        if (regex_span(re, g, &begin, &end))
            text_addf(out, "%zu:%zu", begin, end);
        else
            text_adds(out, "-");
    }
}

TEST(matches_as_python)
{
    for (size_t i = 0; i < LEN(matches); i++) {
        struct regex *re = compile(matches[i].pattern, matches[i].how);
        struct error err = {.offset = NO_OFFSET};
        struct text spans = {0};
        int found = regex_exec(re, matches[i].text, strlen(matches[i].text), 0, &err);
        assert_int_equal(found, matches[i].spans != NULL);
        add_spans(re, &spans);
        if (found)
            assert_string_equal(text_str(&spans), matches[i].spans);
        text_release(&spans);
        regex_free(re);
    }
}

static void add_literal(struct text *out, struct regex_literal l)
{
    for (size_t at = 0; at < l.len; at++)
        text_addc(out, l.at[at] == REGEX_BEGIN ? '^' : l.at[at] == REGEX_END ? '$' : l.at[at]);
}

/* The literals in a pattern's matches: sets of literals, with ^ and $ for the ends of the text. */
TEST(keys_of_patterns)
{
    static const struct {
        const char *pattern, *keys;
    } cases[] = {
        {"ab", "^ab$"},
        {"a/(.*)b", "^a/ b$"},
        {"(.*)mlp\\/expert(.*)", "mlp/expert"},
        {"(.*)/x/(.*)/y/(.*)", "/x/ /y/"},
        {"(q|k)/(\\d+)/w|end", "^q/|^k/|^end /w$|end$ q/|k/|end"},
        {"(Self|EncDec)Attention/q", "^SelfAttention/q$|^EncDecAttention/q$"},
        {"(?:a|)b", "^ab$|^b$"},
        {"a?", ""},
        {"x(ab)?c{0}d*e{0,2}f{,3}y", "^xab|^x y$"},
        {"(ab)+", "^ab ab$"},
        {"(ab)+c", "^ab abc$"},
        {"a{2}b{1}", "^a ab$"},
        {"[ab]/[.][0-9]", "^a/.|^b/."},
        {"[a-c]x[^y]\\w", "^ax|^bx|^cx"},
        {"(?i)a/b_1", "_1$ /"},
        {"(?i:a)b", "b$"},
        {"(?i:[/_.])b", "^/b$|^_b$|^.b$"},
        {"(?!a)(?<!c)b(?=x)x", "^bx$"},
        {"(a)?(?(1)b|c)d", "^abd$|^acd$|^bd$|^cd$"},
        {"(a)?(?(1)b)", ""},
        {"\\x61\\.\\/", "^a./$"},
        {"(?x) a # b\n c", "^ac$"},
        {"(ab)\\1c", "^ab c$"},
        {"\xC3\xA9[\xC3\xA8x]", "^\xC3\xA9\xC3\xA8$|^\xC3\xA9x$"},
        {"\\ud800", ""},
        {"(?m)^a$", "^a$"},
        {"[", ""},
        {"\xFF", ""},
        {"", ""},
        {".*", ""},
    };
    for (size_t i = 0; i < LEN(cases); i++) {
        struct arena arena = {0};
        struct regex_keys keys;
        struct text out = {0};
        print_message("pattern %s\n", cases[i].pattern);
        assert_true(regex_find_keys(cases[i].pattern, strlen(cases[i].pattern), REGEX_FULLMATCH,
                                    &arena, &keys));
        for (size_t k = 0; k < keys.count; k++)
            for (size_t j = 0; j < keys.set[k].count; j++) {
                text_adds(&out, j ? "|" : k ? " " : "");
                add_literal(&out, keys.set[k].at[j]);
            }
        assert_string_equal(out.len ? text_str(&out) : "", cases[i].keys);
        text_release(&out);
        arena_release(&arena);
    }
}

/* A $ is the end of the text if nothing of the pattern comes after it; and a search begins anywhere. */
TEST(keys_by_how)
{
    static const struct {
        const char *pattern;
        enum regex_how how;
        const char *literal; /* the first */
    } cases[] = {
        {"ab", REGEX_SEARCH, "ab"},
        {"ab$", REGEX_SEARCH, "ab\xFF"},
        {"^ab", REGEX_SEARCH, "ab"},
        {"ab", REGEX_MATCH,
         "\xFE"
         "ab"},
        {"ab$", REGEX_MATCH,
         "\xFE"
         "ab\xFF"},
        {"ab\\Z", REGEX_MATCH,
         "\xFE"
         "ab\xFF"},
        {"ab$\\n", REGEX_MATCH,
         "\xFE"
         "ab\n"},
        {"(?:ab$)", REGEX_MATCH,
         "\xFE"
         "ab"},
        {"(?m)ab$", REGEX_MATCH,
         "\xFE"
         "ab"},
        {"ab$\\b", REGEX_MATCH,
         "\xFE"
         "ab"},
        {"ab$", REGEX_FULLMATCH,
         "\xFE"
         "ab\xFF"},
    };
    for (size_t i = 0; i < LEN(cases); i++) {
        struct arena arena = {0};
        struct regex_keys keys;
        print_message("pattern %s\n", cases[i].pattern);
        assert_true(regex_find_keys(cases[i].pattern, strlen(cases[i].pattern), cases[i].how,
                                    &arena, &keys));
        assert_int_equal(keys.count, 1);
        assert_int_equal(keys.set->at->len, strlen(cases[i].literal));
        assert_memory_equal(keys.set->at->at, cases[i].literal, keys.set->at->len);
        arena_release(&arena);
    }
}

TEST(errors_as_python)
{
    for (size_t i = 0; i < LEN(errors); i++) {
        struct regex *re = NULL;
        struct error err = {.offset = NO_OFFSET};
        const char *p = errors[i].pattern;
        print_message("pattern %s\n", p);
        assert_int_equal(regex_compile(p, strlen(p), REGEX_SEARCH, &re, &err), ERR_ARGUMENT);
        assert_string_equal(err.message, errors[i].message);
        assert_string_equal(error_word(&err), errors[i].class);
        assert_null(re);
    }
}

TEST(refuses_what_it_cannot)
{
    for (size_t i = 0; i < LEN(unsupported); i++) {
        struct regex *re = NULL;
        struct error err = {.offset = NO_OFFSET};
        const char *p = unsupported[i].pattern;
        print_message("pattern %s\n", p);
        assert_int_equal(regex_compile(p, strlen(p), REGEX_SEARCH, &re, &err), ERR_UNSUPPORTED);
        assert_string_equal(err.message, unsupported[i].message);
    }
}

TEST(refuses_size)
{
    size_t len = 70000;
    char *pattern = malloc(len);
    assert_non_null(pattern);
    static const struct {
        char fill;
        size_t len;
    } cases[] = {{'a', 70000}, {'(', 300}, {'(', 65536}};
    for (size_t i = 0; i < LEN(cases); i++) {
        struct regex *re = NULL;
        struct error err = {.offset = NO_OFFSET};
        print_message("%zu times %c\n", cases[i].len, cases[i].fill);
        memset(pattern, cases[i].fill, cases[i].len);
        assert_int_equal(regex_compile(pattern, cases[i].len, REGEX_SEARCH, &re, &err),
                         ERR_UNSUPPORTED);
    }
    free(pattern);
}

/* All matches, as re.finditer finds them. */
static const struct {
    const char *pattern, *text, *spans;
} walks[] = {
    {"x*", "axb", "0:0,1:2,2:2,3:3,"},
    {"", "a\xC3\xA9", "0:0,1:1,3:3,"},
    {"a|", "aab", "0:1,1:2,2:2,3:3,"},
    {"\\b|a", "a a", "0:0,0:1,1:1,2:2,2:3,3:3,"},
    {"^", "aa", "0:0,"},
    {"(?m)^", "a\nb\n", "0:0,2:2,4:4,"},
    {"(?<=a)b", "abab", "1:2,3:4,"},
    {"z", "abab", ""},
};

TEST(walks_as_python)
{
    for (size_t i = 0; i < LEN(walks); i++) {
        struct regex *re = compile(walks[i].pattern, REGEX_SEARCH);
        struct error err = {.offset = NO_OFFSET};
        struct text spans = {0};
        size_t len = strlen(walks[i].text);
        int found = regex_exec(re, walks[i].text, len, 0, &err);
        for (; found == 1; found = regex_exec_next(re, walks[i].text, len, &err)) {
            add_spans(re, &spans);
            text_addc(&spans, ',');
        }
        assert_int_equal(found, 0);
        assert_string_equal(text_str(&spans), walks[i].spans);
        assert_int_equal(regex_exec_next(re, walks[i].text, len, &err), 0);
        text_release(&spans);
        regex_free(re);
    }
}

TEST(names_and_lengths)
{
    struct error err = {.offset = NO_OFFSET};
    struct regex *re = compile("(?P<a>x)(y)?(?P<\xC3\xA9>z)", REGEX_SEARCH);
    assert_int_equal(regex_groups(re), 3);
    assert_int_equal(regex_group_named(re, "a", 1), 1);
    assert_int_equal(regex_group_named(re, "\xC3\xA9", 2), 3);
    assert_int_equal(regex_group_named(re, "b", 1), -1);
    assert_int_equal(regex_exec(re, "axz", 3, 1, &err), 1);
    assert_int_equal(regex_exec(re, "axz", 3, 2, &err), 0);
    regex_free(re);

    re = compile("a.b", REGEX_FULLMATCH);
    assert_int_equal(regex_exec(re, "a\0b", 3, 0, &err), 1);
    regex_free(re);
    assert_int_equal(regex_compile("a\0+", 3, REGEX_FULLMATCH, &re, &err), OK);
    assert_int_equal(regex_exec(re, "a\0\0", 3, 0, &err), 1);
    regex_free(re);
    re = compile("", REGEX_FULLMATCH);
    assert_int_equal(regex_exec(re, NULL, 0, 0, &err), 1);
    regex_free(re);
}

TEST(bad_text)
{
    static const struct {
        const char *text;
        size_t len, start;
    } cases[] = {
        {"ab\xFF", 3, 0}, {"\xC3", 1, 0}, {"\xED\xA0\x80", 3, 0}, {"a", 1, 2}, {"\xC3\xA9", 2, 1}};
    struct regex *re = compile("a*", REGEX_SEARCH);
    for (size_t i = 0; i < LEN(cases); i++) {
        struct error err = {.offset = NO_OFFSET};
        size_t begin = 0, end = 0;
        print_message("case %zu\n", i);
        assert_int_equal(regex_exec(re, cases[i].text, cases[i].len, cases[i].start, &err), -1);
        assert_int_equal(err.status, ERR_ARGUMENT);
        assert_false(regex_span(re, 0, &begin, &end));
    }
    regex_free(re);
    struct error err = {.offset = NO_OFFSET};
    assert_int_equal(regex_compile("\xFF", 1, REGEX_SEARCH, &re, &err), ERR_ARGUMENT);
}

/* A pattern that would run for years ends in an error, and the regex stays usable. */
TEST(runaway_ends)
{
    struct error err = {.offset = NO_OFFSET};
    struct regex *re = compile("(a+)+$", REGEX_SEARCH);
    char text[41];
    memset(text, 'a', 40);
    text[40] = 'b';
    assert_int_equal(regex_exec(re, text, 41, 0, &err), -1);
    assert_int_equal(err.status, ERR_LIMIT);
    error_clear(&err);
    assert_int_equal(regex_exec(re, text, 40, 0, &err), 1);
    regex_free(re);
}

/* More backtracking than the machine's own stack has room for. */
TEST(long_text)
{
    size_t len = 200000, begin = 0, end = 0;
    struct error err = {.offset = NO_OFFSET};
    char *text = malloc(len);
    assert_non_null(text);
    memset(text, 'a', len);
    struct regex *re = compile("(?:(a)|b)*", REGEX_FULLMATCH);
    assert_int_equal(regex_exec(re, text, len, 0, &err), 1);
    assert_true(regex_span(re, 1, &begin, &end));
    assert_int_equal(begin, len - 1);
    regex_free(re);
    free(text);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
/* In a process of its own: what a match of this pattern, whose frames take 40 MB, ends with where there
 * is room for 20 MB more. */
static enum status status_without_memory(void)
{
    static char text[1 << 18];
    struct error err = {.offset = NO_OFFSET};
    struct regex *re = NULL;
    unsigned long pages = 0;
    FILE *statm = fopen("/proc/self/statm", "r");
    if (!statm || fscanf(statm, "%lu", &pages) != 1)
        return ERR_IO;
    fclose(statm);
    memset(text, 'a', sizeof(text));
    /* The possessive repeat keeps JIT off. */
    regex_compile("(?:(a)|b)*(x)*+c", 16, REGEX_MATCH, &re, &err);
    const struct rlimit room = {pages * (rlim_t)sysconf(_SC_PAGESIZE) + (20 << 20), RLIM_INFINITY};
    setrlimit(RLIMIT_AS, &room);
    if (err.status == OK)
        regex_exec(re, text, sizeof(text), 0, &err);
    return err.status;
}

TEST(no_memory_is_no_limit)
{
    int how = 0;
    pid_t child = fork();
    assert_true(child >= 0);
    if (!child)
        _exit((int)status_without_memory());
    assert_int_equal(waitpid(child, &how, 0), child);
    assert_true(WIFEXITED(how));
    assert_int_equal(WEXITSTATUS(how), ERR_MEMORY);
}
#endif

RUN_TESTS(NULL, NULL)

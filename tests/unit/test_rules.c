#include "catalog/maps/map/rules.h"
#include "catalog/maps/regex/regex.h"
#include "tests/unit/unit.h"

#define LEN(array) (sizeof(array) / sizeof(array)[0])

#define WORDS_MAX 6

/* The allocation that fails, by countdown; the linker puts __wrap_X in the place of X (Makefile). */
static unsigned long fail_in;

static bool fails(void)
{
    return fail_in && --fail_in == 0;
}

void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_malloc(size_t size)
{
    return fails() ? NULL : __real_malloc(size);
}

void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size)
{
    return fails() ? NULL : __real_calloc(count, size);
}

void *__real_realloc(void *at, size_t size);
void *__wrap_realloc(void *at, size_t size);
void *__wrap_realloc(void *at, size_t size)
{
    return fails() ? NULL : __real_realloc(at, size);
}

/*
 * One rule on one name. Steps are parted by "; ", their words by spaces; '' is an empty
 * word. The answer begins with '=' (the new name), '!' (the error), '-' (dropped) or '?'
 * (unmatched). The formatter would give every string of the table a line of its own.
 */
static const struct rule_case {
    const char *what;
    enum rules_shape shape;
    const char *pattern, *replacement, *steps, *name, *answer;
} rule_cases[] = {
/* clang-format off */
#define F RULES_FULLMATCH
#define T RULES_TRANSLATOR
    {"plain", F, "a", "b", NULL, "a", "=b"},
    {"groups", F, "(.*)/(.*)", "\\2/\\1", NULL, "x/y", "=y/x"},
    {"groups amid text", F, "(.)(b)?(.)", "x\\1y\\2z\\3\\1", NULL, "ac", "=xayzca"},
    {"a digit after a group is text only with \\g", F, "(a)", "\\g<1>1\\1", NULL, "a", "=a1a"},
    {"groups of two digits", F, "(a)(.)(.)(.)(.)(.)(.)(.)(.)(.)(k)", "x\\11\\1", NULL, "abcdefghijk", "=xka"},
    {"a group that is not there", F, "(a)", "\\1x\\2", NULL, "a",
     "!error: invalid group reference 2 at position 4"},
    {"the whole", F, "a(.)", "[\\g<0>]", NULL, "ab", "=[ab]"},
    {"drops", F, "a", NULL, NULL, "a", "-"},
    {"empty replacement", F, "a", "", NULL, "a", "="},
    {"empty name", F, "", "x", NULL, "", "=x"},
    {"an unset group is empty", F, "a(b)?", "\\1c", NULL, "a", "=c"},
    {"only an unset group", F, "a(b)?", "\\1", NULL, "a", "="},
    {"fullmatch means the end", F, "a", "b", NULL, "a\n", "?"},
    {"$ forgives one newline", T, "a", "b", NULL, "a\n", "=b"},
    {"$ forgives no second", T, "a", "b", NULL, "a\n\n", "?"},
    {"$ binds to the last branch", T, "a|b", "x", NULL, "abc", "=x"},
    {"and only to it", T, "a|b", "x", NULL, "bc", "?"},
    {"bad pattern", F, "(", "x", NULL, "a",
     "!error: missing ), unterminated subpattern at position 0"},
    {"bad template", F, "a", "\\d", NULL, "a", "!error: bad escape \\d at position 0"},
    {"bad template, not reached", F, "a", "\\d", NULL, "b", "?"},
    {"unknown group", F, "(a)", "\\g<n>", NULL, "a",
     "!IndexError: unknown group name 'n'"},

    {"table", F, "(.*)", "<\\g<v>>", "v table t \\1", "k", "=<one>"},
    {"key put together", F, "(.)(.)", "\\g<v>", "v table t \\2-\\1", "ba", "=both"},
    {"no such key", F, "(.*)", "\\g<v>", "v table t \\1", "it's", "!KeyError: \"it's\""},
    {"default", F, "(.*)", "\\g<v>", "v table t \\1 ?\\1", "zz", "=?zz"},
    {"no such table", F, "(.*)", "\\g<v>", "v table no \\1", "k", "!KeyError: 'k'"},
    {"table of lists", F, "(.*)", "\\g<v>", "v table l \\1", "k",
     "!ValueError: a list is looked up with index, not with table: l"},

    {"int", F, "(.*)", "\\g<n>", "n int \\1", "007", "=7"},
    {"int of zeros", F, "(.*)", "\\g<n>", "n int \\1", "000", "=0"},
    {"int of other digits", F, "(.*)", "\\g<n>", "n int \\1", "\xD9\xA3", "=3"},
    {"int of many digits", F, "(.*)", "\\g<n>", "n int \\1", "99999999999999999999",
     "=99999999999999999999"},
    {"int of none", F, "(.*)", "\\g<n>", "n int \\1", "x",
     "!ValueError: invalid literal for int() with base 10: 'x'"},

    {"index", F, "(.)(.*)", "\\g<v>", "v index l \\1 \\2", "k01", "=second"},
    {"index from the end", F, "(.)(.*)", "\\g<v>", "v index l \\1 \\2", "k-2", "=first"},
    {"index past the end", F, "(.)(.*)", "\\g<v>", "v index l \\1 \\2", "k2",
     "!IndexError: list index out of range"},
    {"index past the begin", F, "(.)(.*)", "\\g<v>", "v index l \\1 \\2", "k-3",
     "!IndexError: list index out of range"},
    {"index in nothing", F, "(.)(.*)", "\\g<v>", "v index l \\1 \\2", "e0",
     "!IndexError: list index out of range"},
    {"index too large", F, "(.)(.*)", "\\g<v>", "v index l \\1 \\2",
     "k9223372036854775808", "!IndexError: cannot fit 'int' into an index-sized integer"},
    {"the key before the index", F, "(.)(.*)", "\\g<v>", "v index l \\1 \\2", "zx",
     "!KeyError: 'z'"},

    {"if", F, "a(b)?", "\\g<v>", "v if \\1 _\\1 none", "ab", "=_b"},
    {"if not", F, "a(b)?", "\\g<v>", "v if \\1 _\\1 none", "a", "=none"},
    {"name", T, "a|b", "\\g<n>!", "n name", "abc", "=abc!"},

    {"sub", F, ".*", "\\g<n>", "n sub (b)(.) <\\2\\1> \\g<0>", "abcabd", "=a<cb>a<db>"},
    {"sub of nothing", F, ".*", "\\g<n>", "n sub x y \\g<0>", "abc", "=abc"},
    {"sub of a group", F, "(a)(.*)", "\\1\\g<n>", "n sub a b \\2", "aaa", "=abb"},
    {"sub, empty matches", F, ".*", "\\g<n>", "n sub x* - \\g<0>", "ab", "=-a-b-"},
    {"sub, bad pattern", F, ".*", "\\g<n>", "n sub ( y \\g<0>", "a",
     "!error: missing ), unterminated subpattern at position 0"},
    {"sub, bad template", F, ".*", "\\g<n>", "n sub x \\1 \\g<0>", "a",
     "!error: invalid group reference 1 at position 1"},
    {"sub, too little", F, ".*", "\\g<n>", "n sub x y", "a",
     "!ValueError: wrong number of arguments for step sub"},

    {"steps see earlier ones", F, "(.*)", "\\g<v>", "n int \\1; v if \\g<n> n\\g<n> ''",
     "05", "=n5"},
    {"a step hides a group", F, "(?P<g>.*)", "\\g<g>", "g if \\g<g> [\\g<g>] ''", "x",
     "=[x]"},
    {"the first error is told", F, "(.*)", "\\d", "v table t \\1; n int \\1", "x",
     "!KeyError: 'x'"},
    {"an escaped backslash", F, "(.*)", "\\\\g<n>", "n int \\1", "1", "=\\g<n>"},
    {"places in the whole template", F, "(.*)", "\\g<n>/\\d", "n int \\1", "1",
     "!error: bad escape \\d at position 6"},
    {"setting", F, "(.*)", "\\g<h>", "h setting \\1", "heads", "=32"},
    {"setting that is not known", F, "(.*)", "\\g<h>", "h setting \\1", "size",
     "!KeyError: size is not known"},
    {"setting that is none", F, "(.*)", "\\g<h>", "h setting \\1", "x",
     "!KeyError: no setting is called 'x'"},
    {"drop", F, "a(b?)", "x", "d drop \\1", "ab", "-"},
    {"drop not", F, "a(b?)", "x\\g<d>", "d drop \\1", "a", "=x"},
    {"unknown step", F, ".*", "x", "n hash \\0", "1", "!ValueError: unknown step hash"},
    {"too few arguments", F, ".*", "x", "n if \\0", "1",
     "!ValueError: wrong number of arguments for step if"},
#undef F
#undef T
    /* clang-format on */
};

static void add_step(struct rules *r, char *step)
{
    const char *word[WORDS_MAX];
    unsigned count = 0;
    char *rest = step;
    for (char *w; (w = strtok_r(rest, " ", &rest)) && count < WORDS_MAX;)
        word[count++] = strcmp(w, "''") == 0 ? "" : w;
    assert_true(rules_add_step(r, word, count));
}

static void add_steps(struct rules *r, const char *steps)
{
    char *copy = strdup(steps ? steps : ""), *rest = copy;
    assert_non_null(copy);
    for (char *step; (step = strtok_r(rest, ";", &rest));)
        add_step(r, step);
    free(copy);
}

static void add_tables(struct rules *r)
{
    assert_true(rules_add_value(r, "t", "k", "one", false));
    assert_true(rules_add_value(r, "t", "a-b", "both", false));
    assert_true(rules_add_value(r, "l", "k", "first", true));
    assert_true(rules_add_value(r, "l", "k", "second", true));
    assert_true(rules_add_value(r, "l", "e", NULL, true));
    assert_true(rules_add_setting(r, "heads", "32", NULL));
    assert_true(rules_add_setting(r, "size", NULL, "KeyError: size is not known"));
}

static void check_case(const struct rule_case *c, const struct rule_result *got)
{
    static const char marks[] = {
        [RULE_UNMATCHED] = '?',
        [RULE_OK] = '=',
        [RULE_DROPPED] = '-',
        [RULE_ERROR] = '!',
    };
    assert_int_equal(marks[got->outcome], c->answer[0]);
    assert_int_equal(got->len, strlen(c->answer + 1));
    assert_memory_equal(got->text, c->answer + 1, got->len);
}

static void check(struct rules *r, const char *name, size_t len, enum rule_outcome outcome,
                  const char *want)
{
    const struct rule_result *got = rules_apply(r, name, len);
    assert_int_equal(got->outcome, outcome);
    assert_int_equal(got->len, strlen(want));
    assert_memory_equal(got->text, want, got->len);
}

TEST(one_rule)
{
    for (size_t i = 0; i < sizeof(rule_cases) / sizeof(rule_cases[0]); i++) {
        const struct rule_case *c = &rule_cases[i];
        print_message("%s\n", c->what);
        struct rules *r = rules_new(c->shape);
        assert_non_null(r);
        assert_true(rules_add(r, 7, c->pattern, c->replacement, NULL, NULL));
        add_steps(r, c->steps);
        add_tables(r);
        /* Fresh, as remembered, and made again. */
        for (int round = 0; round < 3; round++) {
            check_case(c, rules_apply(r, c->name, strlen(c->name)));
            if (round == 1)
                rules_apply(r, "another", 7);
        }
        rules_free(r);
    }
}

/* Each allocation of an answer fails once: either it is right all the same or it says that there was no
 * memory, and it is right when asked again. */
TEST(no_memory)
{
    unsigned long told = 0;
    for (size_t i = 0; i < sizeof(rule_cases) / sizeof(rule_cases[0]); i++) {
        const struct rule_case *c = &rule_cases[i];
        print_message("%s\n", c->what);
        bool more = true;
        for (unsigned long at = 1; more; at++) {
            struct rules *r = rules_new(c->shape);
            assert_non_null(r);
            assert_true(rules_add(r, 7, c->pattern, c->replacement, NULL, NULL));
            add_steps(r, c->steps);
            add_tables(r);
            fail_in = at;
            const struct rule_result *got = rules_apply(r, c->name, strlen(c->name));
            more = fail_in == 0;
            fail_in = 0;
            told += got->no_memory;
            if (!got->no_memory)
                check_case(c, got);
            got = rules_apply(r, c->name, strlen(c->name));
            assert_false(got->no_memory);
            check_case(c, got);
            rules_free(r);
        }
    }
    assert_true(told > 100);
}

TEST(first_rule_decides)
{
    struct rules *r = rules_new(RULES_FULLMATCH);
    assert_non_null(r);
    assert_true(rules_add(r, 1, "a.*", "first", "int32", NULL));
    assert_true(rules_add(r, 2, "ab", "second", NULL, NULL));
    assert_true(rules_add(r, 3, "b", "third", NULL, "ValueError: no such operation"));
    assert_true(rules_add(r, 4, "[", "never", NULL, NULL));
    check(r, "ab", 2, RULE_OK, "first");
    assert_int_equal(rules_apply(r, "ab", 2)->ord, 1);
    assert_string_equal(rules_apply(r, "ab", 2)->cast, "int32");
    check(r, "b", 1, RULE_ERROR, "ValueError: no such operation");
    check(r, "c", 1, RULE_ERROR, "error: unterminated character set at position 0");
    assert_int_equal(rules_apply(r, "c", 1)->ord, 4);
    assert_null(rules_apply(r, "c", 1)->cast);
    rules_free(r);
    rules_free(NULL);
}

TEST(numbers_have_a_limit)
{
    static const char want[] =
        "ValueError: Exceeds the limit (4300 digits) for integer string conversion: value has "
        "4301 digits; use sys.set_int_max_str_digits() to increase the limit";
    struct rules *r = rules_new(RULES_FULLMATCH);
    const char *const step[] = {"n", "int", "\\1"};
    char digits[4301];
    memset(digits, '0', sizeof(digits));
    assert_non_null(r);
    assert_true(rules_add(r, 1, "(.*)", "\\g<n>", NULL, NULL));
    assert_true(rules_add_step(r, step, 3));
    check(r, digits, 4300, RULE_OK, "0");
    check(r, digits, 4301, RULE_ERROR, want);
    rules_free(r);
}

TEST(bytes_that_are_no_text)
{
    struct rules *r = rules_new(RULES_FULLMATCH);
    assert_non_null(r);
    assert_true(rules_add(r, 1, ".*", "\\g<0>", NULL, NULL));
    assert_int_equal(rules_apply(r, "\xFF", 1)->outcome, RULE_ERROR);
    const struct rule_result *got = rules_apply(r, "a\0b", 3);
    assert_int_equal(got->outcome, RULE_OK);
    assert_int_equal(got->len, 3);
    assert_memory_equal(got->text, "a\0b", 3);
    rules_free(r);
}

/* More keys than a step remembers, asked for in turn and again: each is found, and what is not there
 * is not. */
TEST(many_keys)
{
    struct rules *r = rules_new(RULES_FULLMATCH);
    const char *const step[] = {"v", "table", "t", "\\1"};
    char key[16], value[32];
    assert_non_null(r);
    assert_true(rules_add(r, 1, "(.*)", "\\g<v>", NULL, NULL));
    assert_true(rules_add_step(r, step, 4));
    for (int i = 0; i < 200; i += 2) {
        snprintf(key, sizeof(key), "k%d", i);
        snprintf(value, sizeof(value), "value of %d", i);
        assert_true(rules_add_value(r, "t", key, value, false));
    }
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 200; i++) {
            int n = round == 1 ? 199 - i : i;
            snprintf(key, sizeof(key), "k%d", n);
            snprintf(value, sizeof(value), n % 2 ? "KeyError: 'k%d'" : "value of %d", n);
            check(r, key, strlen(key), n % 2 ? RULE_ERROR : RULE_OK, value);
        }
    }
    rules_free(r);
}

/* --- the index of rules ------------------------------------------------------------------ */

/* Parts of patterns, and texts that they match or almost match. */
static const struct {
    const char *pattern, *text[4];
} parts[] = {
    {"encoder", {"encoder"}},
    {"encoder/", {"encoder/"}},
    {"block_", {"block_"}},
    {"layer", {"layer", "Layer", "layers"}},
    {"/", {"/", "."}},
    {"\\.", {".", "/"}},
    {"[.]", {".", "/"}},
    {"kernel", {"kernel"}},
    {"a", {"a", "b", "A"}},
    {"(\\d+)", {"1", "17", "\xD9\xA3"}},
    {"(\\w*)", {"", "_slot", "\xC3\xA9"}},
    {"(.*)", {"", "x/y", "a\nb"}},
    {".", {"x", "\xE2\x82\xAC"}},
    {"[^/]+", {"q", "query"}},
    {"[qkv]", {"q", "v", "o"}},
    {"[a-z]", {"q", "Q"}},
    {"[0-3x]", {"0", "3", "x"}},
    {"[]-]", {"]", "-"}},
    {"(q|k|v|o)", {"q", "o", "w"}},
    {"(?:Self|EncDec)Attention", {"SelfAttention", "EncDecAttention", "Attention"}},
    {"(?:wi|wo)(?:_(\\d))?", {"wi", "wo_1", "wi_"}},
    {"(?:|x|xy)", {"", "x", "xy"}},
    {"|", {"", "a"}},
    {"(_v)?", {"_v", ""}},
    {"(ab)+", {"ab", "abab"}},
    {"a{2}", {"aa", "a"}},
    {"a{0}", {"", "a"}},
    {"x{1,}?", {"x", "xxx"}},
    {"(?>ab|a)", {"ab", "a"}},
    {"(?i:Ks)", {"ks", "KS", "\xE2\x84\xAA\xC5\xBF"}},
    {"(?i:[/k])", {"/", "K", "\xE2\x84\xAA"}},
    {"(?a:\\w)", {"w", "\xC3\xA9"}},
    {"(?x: a # b\n c)", {"ac", "a c"}},
    {"(?-i:q)", {"q", "Q"}},
    {"(?s:.)", {"\n", "x"}},
    {"(?m:^)", {""}},
    {"(?m:$)", {"", "\n"}},
    {"^", {""}},
    {"$", {"", "\n"}},
    {"\\A", {""}},
    {"\\Z", {"", "\n"}},
    {"\\b", {"", "/"}},
    {"\n", {"\n"}},
    {"(?=k)", {"", "k"}},
    {"(?!k)", {"", "k"}},
    {"(?<=r)", {"", "r"}},
    {"(?<!r)", {"", "r"}},
    {"(?P<n>a|b)(?P=n)", {"aa", "ab"}},
    {"(?P<m>a)(?i:(?P=m))", {"aA", "ab"}},
    {"(a)?(?(1)b|c)", {"ab", "c", "ac"}},
    {"((a)|b)(?(2)c)", {"ac", "b"}},
    {"\xC3\xA9", {"\xC3\xA9", "\xC3\x89"}},
    {"[\xC3\xA9\xE2\x82\xAC]", {"\xE2\x82\xAC", "\xC3\x89"}},
    {"\\x61\\u0062\\143", {"abc"}},
    {"target/decoder/layers_0/encoder_decoder_attention/query/kernel/"
     "target/decoder/layers_0/encoder_decoder_attention/query/kernel",
     {"target/decoder/layers_0/encoder_decoder_attention/query/kernel/"
      "target/decoder/layers_0/encoder_decoder_attention/query/kernel"}},
    {"[", {"["}},
    {"*", {""}},
};

static uint64_t next_number(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

#define RULES 24

/* A set of rules, its patterns also compiled one by one, and texts that each may match. */
struct rule_world {
    enum rules_shape shape;
    struct rules *rules;
    struct regex *regex[RULES];
    struct text text[RULES];
    size_t count;
};

/* Append a part to a pattern, and a text that it matches; not a group that the pattern has already, nor
 * a condition that could be about another group. */
static void add_part(struct text *pattern, struct text *text, size_t part, size_t length,
                     uint64_t *state)
{
    size_t texts = 1;
    while (texts < 4 && parts[part].text[texts])
        texts++;
    const bool twice = strstr(parts[part].pattern, "?P<") && strstr(text_str(pattern), "?P<");
    const bool counts = strstr(parts[part].pattern, "?(") && length > 1;
    if (twice || counts)
        return;
    text_adds(pattern, parts[part].pattern);
    text_adds(text, parts[part].text[next_number(state) % texts]);
}

static void make_world(struct rule_world *w, uint64_t *state)
{
    struct text pattern = {0};
    const size_t usual = next_number(state) % LEN(parts); /* many rules begin alike */
    w->shape = next_number(state) % 2 ? RULES_TRANSLATOR : RULES_FULLMATCH;
    assert_non_null(w->rules = rules_new(w->shape));
    w->count = next_number(state) % (RULES + 1);
    for (size_t i = 0; i < w->count; i++) {
        struct error err = {0};
        size_t length = next_number(state) % 7;
        text_reset(&pattern);
        text_adds(&pattern, next_number(state) % 12 == 0 ? "(?i)" : "");
        for (size_t k = 0; k < length; k++) {
            size_t part = next_number(state) % (LEN(parts) - 2);
            part = next_number(state) % 200 == 0 ? LEN(parts) - 1 - part % 2 : part;
            part = k == 0 && next_number(state) % 2 ? usual : part;
            add_part(&pattern, &w->text[i], part, length, state);
        }
        assert_true(rules_add(w->rules, (int64_t)i, text_str(&pattern), "x", NULL, NULL));
        text_adds(&pattern, w->shape == RULES_TRANSLATOR ? "$" : "");
        if (regex_compile(pattern.at, pattern.len,
                          w->shape == RULES_TRANSLATOR ? REGEX_MATCH : REGEX_FULLMATCH,
                          &w->regex[i], &err) != OK)
            w->regex[i] = NULL; /* the error of every name that reaches the rule */
    }
    text_release(&pattern);
}

static void release_world(struct rule_world *w)
{
    rules_free(w->rules);
    for (size_t i = 0; i < w->count; i++) {
        regex_free(w->regex[i]);
        text_release(&w->text[i]);
    }
    *w = (struct rule_world){0};
}

/* Each rule alone, all rules one after another, and the first: they say the same. */
static size_t check_name(struct rule_world *w, const char *name, size_t len)
{
    size_t matches = 0, at = 0;
    struct error err = {0};
    int64_t first = -1;
    for (size_t i = 0; i < w->count; i++) {
        if (w->regex[i] && regex_exec(w->regex[i], name, len, 0, &err) == 0)
            continue;
        const struct rule_result *r = rules_apply_from(w->rules, &at, name, len);
        if (r->outcome == RULE_UNMATCHED || r->ord != (int64_t)i)
            fail_msg("rule %zu matches '%s', and is not found", i, name);
        assert_int_equal(at, i + 1);
        first = matches++ ? first : (int64_t)i;
    }
    assert_int_equal(rules_apply_from(w->rules, &at, name, len)->outcome, RULE_UNMATCHED);
    const struct rule_result *r = rules_apply(w->rules, name, len);
    assert_int_equal(r->outcome == RULE_UNMATCHED ? -1 : r->ord, first);
    return matches;
}

TEST(index_finds_what_matches)
{
    uint64_t random = 21;
    size_t matches = 0;
    struct rule_world w = {0};
    struct text name = {0};
    for (int round = 0; round < 6000; round++) {
        make_world(&w, &random);
        check_name(&w, "", 0);
        check_name(&w, "\xFF/\xFE", 3);
        for (size_t i = 0; i < w.count; i++) {
            text_reset(&name);
            text_add(&name, w.text[i].len ? w.text[i].at : "", w.text[i].len);
            matches += check_name(&w, text_str(&name), name.len);
            const size_t change = next_number(&random) % 5;
            if (change == 0)
                text_adds(&name, "\n");
            else if (change == 1)
                text_adds(&name, parts[next_number(&random) % LEN(parts)].text[0]);
            else if (change == 2 && name.len && (name.at[name.len - 1] & 0x80) == 0)
                name.at[--name.len] = '\0';
            else if (change == 3)
                text_add(&name, w.text[0].len ? w.text[0].at : "", w.text[0].len);
            matches += check_name(&w, text_str(&name), name.len);
        }
        release_world(&w);
    }
    print_message("%zu matches\n", matches);
    assert_true(matches > 100000);
    text_release(&name);
}

/* Only those rules are tried that could match: 20,000 rules, whose literals begin alike, end
 * alike, or are in the middle, take no longer for a name than a few. */
TEST(many_rules)
{
    static const struct {
        const char *before, *after, *name, *rest;
    } forms[] = {
        {"model/layer_", "/(.*)", "model/layer_", "/q"},
        {"(.*)/layer_", "", "model/x/layer_", ""},
        {"(.*)[.]layer_", "[.](\\w+)", "model.layer_", ".w"},
        {"(?:q|k)/", "/(?i:End)", "k/", "/eNd"},
    };
    struct rules *r = rules_new(RULES_FULLMATCH);
    char text[64];
    assert_non_null(r);
    for (int i = 0; i < 20000; i++) {
        snprintf(text, sizeof(text), "%s%d%s", forms[i % 4].before, i, forms[i % 4].after);
        assert_true(rules_add(r, i, text, "x", NULL, NULL));
    }
    for (int i = 0; i < 200000; i++) {
        int rule = (int)(i * 7919LL % 20000);
        int len = snprintf(text, sizeof(text), "%s%d%s", forms[rule % 4].name, rule,
                           forms[rule % 4].rest);
        const struct rule_result *found = rules_apply(r, text, (size_t)len);
        assert_int_equal(found->outcome, RULE_OK);
        assert_int_equal(found->ord, rule);
    }
    rules_free(r);
}

RUN_TESTS(NULL, NULL)

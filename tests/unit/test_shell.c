#include "catalog/base/nearest.h"
#include "catalog/data/model/module_tree.h"
#include "shell/command/statements.h"
#include "shell/session/human.h"
#include "tests/unit/unit.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* --- statements --------------------------------------------------------------------------- */

/* Units of a script as "S1:text" and "D2:text" (kind and first line), joined by '|'. */
static const struct {
    const char *script, *units;
} scripts[] = {
    {"", ""},
    {"\n \t\n", ""},
    {"SELECT 1;", "S1:SELECT 1;\n"},
    {"SELECT 1", "S1:SELECT 1\n"},
    {"SELECT\n1\n;\nSELECT 2;\n", "S1:SELECT\n1\n;\n|S4:SELECT 2;\n"},
    {"SELECT 1; SELECT 2;", "S1:SELECT 1; SELECT 2;\n"},
    {"SELECT 1; SELECT\n2;", "S1:SELECT 1; SELECT\n2;\n"},
    {".mode json\nSELECT 1;", "D1:.mode json|S2:SELECT 1;\n"},
    {"  .mode json  \r\n", "D1:  .mode json"},
    {"SELECT\n.5;", "S1:SELECT\n.5;\n"},
    {"SELECT 1; -- done\n.tables", "S1:SELECT 1; -- done\n|D2:.tables"},
    {"-- only a comment;\n.tables", "D2:.tables"},
    {"/* two\n.lines; */\n.tables", "D3:.tables"},
    {"/* two\n.lines; */ SELECT 1;\n", "S1:/* two\n.lines; */ SELECT 1;\n"},
    {"SELECT ';\n.x;\n';\n", "S1:SELECT ';\n.x;\n';\n"},
    {"SELECT 'it''s;\n';", "S1:SELECT 'it''s;\n';\n"},
    {"SELECT \";\n\", [;\n], `;\n`;", "S1:SELECT \";\n\", [;\n], `;\n`;\n"},
    {"SELECT '-- no comment';\nSELECT 2;", "S1:SELECT '-- no comment';\n|S2:SELECT 2;\n"},
    {"SELECT 1 - -1;\nSELECT 4 / 2;", "S1:SELECT 1 - -1;\n|S2:SELECT 4 / 2;\n"},
    {"SELECT 'open", "S1:SELECT 'open\n"},
    {"CREATE TRIGGER t AFTER INSERT ON x BEGIN\nSELECT 1;\nEND;\n.tables",
     "S1:CREATE TRIGGER t AFTER INSERT ON x BEGIN\nSELECT 1;\nEND;\n|D4:.tables"},
    {"\xEF\xBB\xBFSELECT 1;", "S1:SELECT 1;\n"},
    {";\n;;\nSELECT 1;", "S1:;\n|S2:;;\n|S3:SELECT 1;\n"},
};

static void add_unit(struct text *out, enum unit kind, struct splitter *p)
{
    if (out->len)
        text_addc(out, '|');
    text_addf(out, "%c%u:%s", kind == UNIT_SQL ? 'S' : 'D', p->first, splitter_text(p));
    splitter_next(p);
}

TEST(splits_scripts)
{
    for (size_t i = 0; i < COUNT(scripts); i++) {
        struct splitter p = {0};
        struct text units = {0};
        print_message("script %zu: %s\n", i, scripts[i].script);
        for (const char *at = scripts[i].script; *at;) {
            size_t len = strcspn(at, "\n");
            len += at[len] == '\n';
            enum unit kind = splitter_line(&p, at, len);
            if (kind != UNIT_MORE)
                add_unit(&units, kind, &p);
            at += len;
        }
        if (splitter_end(&p) != UNIT_MORE)
            add_unit(&units, UNIT_SQL, &p);
        assert_string_equal(text_str(&units), scripts[i].units);
        text_release(&units);
        splitter_release(&p);
    }
}

static bool is_ls(const char *line, size_t len)
{
    return len >= 2 && memcmp(line, "ls", 2) == 0;
}

/* When a person types, a command needs no dot, unless a statement has begun. */
TEST(takes_bare_commands)
{
    struct splitter p = {.command = is_ls};
    assert_int_equal(splitter_line(&p, " ls x\n", 6), UNIT_DOT);
    assert_string_equal(splitter_text(&p), " ls x");
    splitter_next(&p);
    assert_int_equal(splitter_line(&p, "SELECT\n", 7), UNIT_MORE);
    assert_int_equal(splitter_line(&p, "ls\n", 3), UNIT_MORE);
    assert_int_equal(splitter_line(&p, "FROM x;\n", 8), UNIT_SQL);
    assert_string_equal(splitter_text(&p), "SELECT\nls\nFROM x;\n");
    splitter_release(&p);
}

TEST(refuses_a_nul)
{
    struct splitter p = {0};
    assert_int_equal(splitter_line(&p, "SELECT 1\0;\n", 11), UNIT_BAD);
    splitter_release(&p);
}

/* Words joined by '|', or the number below zero. */
static const struct {
    const char *line, *words;
    int count;
} word_cases[] = {
    {"", "", 0},
    {"  ", "", 0},
    {"mode json", "mode|json", 2},
    {"  a\tb  ", "a|b", 2},
    {"a 'b c' d", "a|b c|d", 3},
    {"a \"b\\n\\\"\\\\c\" d", "a|b\n\"\\c|d", 3},
    {"a 'b\\n'", "a|b\\n", 2},
    {"a ''", "a|", 2},
    {"'a'b\"c\"", "abc", 1},
    {"a 'b", NULL, -1},
    {"a \"b\\", NULL, -1},
    {"a b c d e f", NULL, -2},
};

TEST(splits_words)
{
    for (size_t i = 0; i < COUNT(word_cases); i++) {
        char line[64], *words[5];
        struct text joined = {0};
        print_message("words %zu: %s\n", i, word_cases[i].line);
        snprintf(line, sizeof(line), "%s", word_cases[i].line);
        int count = split_words(line, words, 5);
        assert_int_equal(count, word_cases[i].count);
        for (int k = 0; k < count; k++)
            text_addf(&joined, "%s%s", k ? "|" : "", words[k]);
        if (count >= 0)
            assert_string_equal(text_str(&joined), word_cases[i].words);
        text_release(&joined);
    }
}

/* --- nearest ------------------------------------------------------------------------------ */

static const struct {
    const char *a, *b;
    unsigned limit, distance;
} distances[] = {
    {"", "", 2, 0},
    {"", "ab", 2, 2},
    {"ab", "", 1, 2},
    {"import", "import", 2, 0},
    {"imprt", "import", 2, 1},
    {"ipmort", "import", 2, 1},
    {"improt", "import", 2, 1},
    {"export", "import", 2, 2},
    {"tables", "tensors", 2, 3},
    {"kitten", "sitting", 5, 3},
    {"kitten", "sitting", 2, 3},
    {"abcdef", "badcfe", 3, 3},
};

TEST(measures_distance)
{
    for (size_t i = 0; i < COUNT(distances); i++) {
        print_message("%s %s\n", distances[i].a, distances[i].b);
        assert_int_equal(edit_distance(distances[i].a, distances[i].b, distances[i].limit),
                         distances[i].distance);
        assert_int_equal(edit_distance(distances[i].b, distances[i].a, distances[i].limit),
                         distances[i].distance);
    }
}

TEST(keeps_the_nearest)
{
    static const char *const names[] = {
        "model.embed.bias",    "model.embd.weight",   "lm_head",
        "model.embed.weights", "xmodel.embed.weight", "model.embed.wait"};
    struct nearest n = {.wanted = "model.embed.weight"};
    for (size_t i = 0; i < COUNT(names); i++)
        nearest_offer(&n, names[i], names[i]);
    assert_int_equal(n.count, 3);
    assert_string_equal(n.name[0], "model.embed.weights"); /* it holds what was typed */
    assert_string_equal(n.name[1], "xmodel.embed.weight");
    assert_string_equal(n.name[2], "model.embd.weight");
    nearest_release(&n);
}

/* --- numbers and widths ------------------------------------------------------------------- */

static const struct {
    uint64_t n;
    const char *bytes, *count;
} humans[] = {
    {0, "0 B", "0"},
    {999, "999 B", "999"},
    {1000, "1.00 kB", "1.00 K"},
    {9994, "9.99 kB", "9.99 K"},
    {9995, "10.0 kB", "10.0 K"},
    {123456, "123 kB", "123 K"},
    {999499, "999 kB", "999 K"},
    {999500, "1.00 MB", "1.00 M"},
    {8030261248, "8.03 GB", "8.03 B"},
    {UINT64_MAX, "18.4 EB", "18446744 T"},
};

TEST(says_numbers)
{
    for (size_t i = 0; i < COUNT(humans); i++) {
        char out[HUMAN_MAX];
        print_message("%s\n", humans[i].bytes);
        assert_string_equal(human_bytes(humans[i].n, out), humans[i].bytes);
        assert_string_equal(human_count(humans[i].n, out), humans[i].count);
    }
    char out[HUMAN_MAX];
    assert_string_equal(human_time(42, out), "0:42");
    assert_string_equal(human_time(3723, out), "1:02:03");
}

static const struct {
    const char *text;
    size_t width;
    const char *tail; /* the last 3 columns at most */
} widths[] = {
    {"", 0, ""},
    {"abc", 3, "abc"},
    {"abcd", 4, "bcd"},
    {"größe", 5, "öße"},
    {"e\u0301x", 2, "e\u0301x"},
    {"層重み", 6, "み"},
    {"a\xFF\xC3", 3, "a\xFF\xC3"},
    {"\U0001F642abc", 5, "abc"},
};

TEST(measures_text)
{
    for (size_t i = 0; i < COUNT(widths); i++) {
        const char *text = widths[i].text;
        print_message("%s\n", text);
        assert_int_equal(text_width(text, strlen(text)), widths[i].width);
        assert_string_equal(text + text_tail(text, strlen(text), 3), widths[i].tail);
    }
}

/* --- modules ------------------------------------------------------------------------------ */

/* Names (each of 2 parameters and 8 bytes, dtype f unless it says so after '=') and the nodes
 * seen: depth:label=tensors. */
static const struct {
    const char *names, *seen;
} trees[] = {
    {"", ""},
    {"w", "1:w=1"},
    {"a.w a.b", "1:a=2 2:w=1 2:b=1"},
    {"a.b.c.w a.b.c.x", "1:a.b.c=2 2:w=1 2:x=1"},
    {"l.0.w l.1.w l.2.w", "1:l.{0..2}.w=3"},
    {"l.0.w l.0.b l.1.w l.1.b", "1:l.{0,1}=4 2:w=2 2:b=2"},
    {"l.10.w l.9.w l.8.w", "1:l.{8..10}.w=3"},
    {"l.0.w l.1.w l.2.w=i", "1:l=3 2:{0,1}.w=2 2:2.w=1"},
    {"l.0.w l.2.w l.5.w l.6.w l.7.w", "1:l.{0,2,5..7}.w=5"},
    {"l.0 l.2 l.4 l.6 l.8 l.10 l.12", "1:l.{0,2,4,6,...,12}=7"},
    {"h_00.w h_01.w h_10.w h_11.w", "1:h_0{0,1}.w=2 1:h_{10,11}.w=2"},
    {"e.0.x.0.w e.0.x.1.w e.1.x.0.w e.1.x.1.w", "1:e.{0,1}.x.{0,1}.w=4"},
    {"l.0.b l.0.w l.1.w l.1.b", "1:l.{0,1}=4 2:b=2 2:w=2"},
    {"a a.b", "1:a=2 2:b=1"},
    {"l.99999999999999999999999.w l.1.w", "1:l=2 2:99999999999999999999999.w=1 2:1.w=1"},
    {"a..b .c", "1:a..b=1 1:.c=1"},
};

static void see(void *context, const struct module_visit *v)
{
    struct text *out = ((void **)context)[0];
    const struct module_tree *tree = ((void **)context)[1];
    const struct module *m = &tree->nodes[v->node];
    text_addf(out, "%s%u:%s=%llu", out->len ? " " : "", v->depth, v->label,
              (unsigned long long)m->tensors);
    assert_int_equal(m->parameters, m->tensors * 2);
    assert_int_equal(m->nbytes, m->tensors * 8);
}

TEST(folds_modules)
{
    for (size_t i = 0; i < COUNT(trees); i++) {
        struct module_tree tree;
        struct text seen = {0};
        char names[128], *rest = names, *name;
        print_message("tree %zu: %s\n", i, trees[i].names);
        snprintf(names, sizeof(names), "%s", trees[i].names);
        assert_true(module_tree_init(&tree, '.', i % 2 * 1000));
        while ((name = strtok_r(rest, " ", &rest))) {
            char *dtype = strchr(name, '=');
            if (dtype)
                *dtype++ = '\0';
            assert_true(module_tree_add(&tree, name, dtype ? dtype : "f", "[2]", 2, 8));
        }
        assert_true(module_tree_finish(&tree));
        void *context[] = {&seen, &tree};
        assert_true(module_tree_visit(&tree, see, context));
        assert_string_equal(text_str(&seen), trees[i].seen);
        text_release(&seen);
        module_tree_release(&tree);
    }
}

/* Layer i has shape i % kinds, so that as many groups of layers are alike. */
static void check_many(unsigned layers, unsigned kinds, bool borrows)
{
    struct module_tree tree;
    struct text seen = {0};
    char(*texts)[2][24] = calloc(layers, sizeof(*texts));
    assert_non_null(texts);
    assert_true(module_tree_init(&tree, '.', layers % 7 ? layers : 0));
    tree.borrows = borrows;
    for (unsigned i = 0; i < layers; i++) {
        char *name = texts[borrows ? i : 0][0], *shape = texts[borrows ? i : 0][1];
        snprintf(name, sizeof(texts[0][0]), "m.%u.w", i);
        snprintf(shape, sizeof(texts[0][1]), "[%u]", i % kinds);
        assert_true(module_tree_add(&tree, name, "f", shape, 2, 8));
    }
    assert_true(module_tree_finish(&tree));
    void *context[] = {&seen, &tree};
    assert_true(module_tree_visit(&tree, see, context));
    size_t lines = 1;
    for (const char *at = text_str(&seen); (at = strchr(at, ' ')); at++)
        lines++;
    assert_int_equal(lines, kinds == 1 ? 1 : kinds + 1);
    assert_int_equal(tree.nodes[0].tensors, layers);
    for (unsigned i = 0; i < layers; i++) {
        char name[24];
        snprintf(name, sizeof(name), "m.%u.w", i);
        const struct module *m = &tree.nodes[module_tree_shown(&tree, name)];
        assert_int_equal(strtoul(module_tree_shape(&tree, m) + 1, NULL, 10), i % kinds);
        assert_int_equal(m->tensors, layers / kinds + (i % kinds < layers % kinds));
    }
    text_release(&seen);
    module_tree_release(&tree);
    free(texts);
}

TEST(folds_many)
{
    static const unsigned layers[] = {32, 33, 511, 512, 513, 8191, 8192, 20000};
    static const unsigned kinds[] = {1, 2, 15, 16, 17, 31};
    for (size_t i = 0; i < COUNT(layers); i++)
        for (size_t k = 0; k < COUNT(kinds); k++) {
            check_many(layers[i], kinds[k], false);
            check_many(layers[i], kinds[k], true);
        }
}

/* A name of nothing but separators is cut at a depth, not followed. */
TEST(bounds_the_depth)
{
    enum { LEN = 100000 };
    char *name = malloc(LEN + 1);
    struct module_tree tree;
    struct text seen = {0};
    memset(name, '.', LEN);
    name[LEN] = '\0';
    assert_true(module_tree_init(&tree, '.', 0));
    assert_true(module_tree_add(&tree, name, "f", "[2]", 2, 8));
    name[LEN - 1] = 'x';
    assert_true(module_tree_add(&tree, name, "f", "[2]", 2, 8));
    assert_true(module_tree_finish(&tree));
    void *context[] = {&seen, &tree};
    assert_true(module_tree_visit(&tree, see, context));
    assert_true(tree.count <= MODULE_DEPTH + 2);
    text_release(&seen);
    module_tree_release(&tree);
    free(name);
}

RUN_TESTS(NULL, NULL)

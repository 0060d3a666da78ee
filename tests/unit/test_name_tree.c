/* test_name_tree.c - names of nested values: how they are joined, and their limits. */
#include "catalog/base/limits.h"
#include "importer/job/name_tree.h"
#include "tests/unit/unit.h"

/* realloc(), by which texts grow, fails from now on; the linker puts __wrap_X in the place of X (Makefile). */
static bool lacking;

void *__real_realloc(void *at, size_t size);
void *__wrap_realloc(void *at, size_t size);
void *__wrap_realloc(void *at, size_t size)
{
    return lacking ? NULL : __real_realloc(at, size);
}

/* --- values of JSON ------------------------------------------------------------------------- */

struct seen {
    struct name_tree tree;
    struct json json;
    struct text names; /* "NAME=KIND " of each value that see() gets */
    bool refuse;
};

/* Kinds by JSON's types: '{' and '[' are entered, '}' and ']' end an empty one. */
static bool see(void *context)
{
    struct seen *s = context;
    static const char kinds[] = "?e{}[]ksn10z";
    text_add(&s->names, s->tree.path.at, s->tree.path.len);
    text_addf(&s->names, "=%c ", kinds[s->json.type]);
    return !s->refuse;
}

static bool walk(struct seen *s, const char *text, bool prefixed, struct error *err)
{
    *s = (struct seen){.refuse = s->refuse};
    *err = (struct error){.offset = NO_OFFSET};
    json_init(&s->json, cursor_over((struct bytes){(const uint8_t *)text, strlen(text)}, 0), NULL,
              "t", err);
    name_tree_init(&s->tree, '/', "t", err);
    if (prefixed) {
        text_adds(&s->tree.path, "top");
        s->tree.prefixed = true;
    }
    return name_tree_json(&s->tree, &s->json, see, s);
}

static void end(struct seen *s)
{
    name_tree_release(&s->tree);
    text_release(&s->names);
}

static const struct {
    const char *text, *names;
    bool prefixed;
} walks[] = {
    {"7", "=n ", false},
    {"null", "top=z ", true},
    {"{}", "={ =} ", false},
    {"[]", "=[ =] ", false},
    {"{\"a\":1,\"b\":{\"c\":\"x\"}}", "={ =k a=n =k b={ b=k b/c=s ", false},
    {"{\"a\":1}", "top={ top=k top/a=n ", true},
    {"[true,[null],{}]", "=[ 0=1 1=[ 1/0=z 2={ 2=} ", false},
    {"{\"a\":[],\"b\":{}}", "={ =k a=[ a=] =k b={ b=} ", false},
    {"{\"\":{\"\":1}}", "={ =k ={ =k /=n ", false},    /* empty keys are keys */
    {"{\"a\":1,\"a\":2}", "={ =k a=n =k a=n ", false}, /* a caller that minds keeps the names */
    {"[[1],2]", "=[ 0=[ 0/0=n 1=n ", false},
};

TEST(test_walks)
{
    for (size_t i = 0; i < sizeof(walks) / sizeof(walks[0]); i++) {
        struct seen s = {0};
        struct error err;
        assert_true(walk(&s, walks[i].text, walks[i].prefixed, &err));
        assert_string_equal(text_str(&s.names), walks[i].names);
        assert_int_equal(s.tree.depth, 0);
        assert_int_equal(json_next(&s.json), JSON_END);
        end(&s);
    }
}

/* A walk ends where the text is damaged, and where see() says no. */
TEST(test_ends)
{
    struct seen s = {0};
    struct error err;
    assert_false(walk(&s, "{\"a\":[1,}", false, &err));
    assert_int_equal(err.status, ERR_CORRUPT);
    assert_string_equal(text_str(&s.names), "={ =k a=[ a/0=n ");
    end(&s);
    s.refuse = true;
    assert_false(walk(&s, "[1,2]", false, &err));
    assert_int_equal(err.status, OK);
    assert_string_equal(text_str(&s.names), "=[ ");
    end(&s);
}

/* --- limits --------------------------------------------------------------------------------- */

TEST(test_depth)
{
    struct error err = {.offset = NO_OFFSET};
    struct name_tree t;
    name_tree_init(&t, '.', "t", &err);
    for (unsigned d = 0; d < NAME_TREE_DEPTH; d++)
        assert_true(name_tree_enter(&t, true, d) && name_tree_child(&t, NULL, d));
    assert_false(name_tree_enter(&t, true, 99));
    assert_int_equal(err.status, ERR_LIMIT);
    assert_int_equal(err.offset, 99);
    assert_int_equal(t.depth, NAME_TREE_DEPTH);
    assert_int_equal(name_tree_leave(&t)->next, 1);
    assert_int_equal(t.path.len, 2 * (NAME_TREE_DEPTH - 1) - 1);
    name_tree_release(&t);
}

/* A name of LIMIT_NAME_BYTES is taken, one more byte is not. */
TEST(test_name_bytes)
{
    char *key = calloc(1, LIMIT_NAME_BYTES + 1);
    assert_non_null(key);
    for (size_t more = 0; more < 2; more++) {
        const struct bytes text = {(const uint8_t *)key, LIMIT_NAME_BYTES + more};
        struct error err = {.offset = NO_OFFSET};
        struct name_tree t;
        name_tree_init(&t, '.', "t", &err);
        assert_true(name_tree_enter(&t, false, 0));
        assert_int_equal(name_tree_child(&t, &text, 5), !more);
        assert_int_equal(err.status, more ? ERR_LIMIT : OK);
        name_tree_release(&t);
    }
    free(key);
}

/* Of all names, LIMIT_KEYS_FREE bytes and LIMIT_KEY_GROWTH for each of the file's are counted. */
TEST(test_all_bytes)
{
    static const uint8_t key[1 << 16];
    struct error err = {.offset = NO_OFFSET};
    struct name_tree t;
    name_tree_init(&t, '.', "t", &err);
    t.size = sizeof(key) / LIMIT_KEY_GROWTH;
    assert_true(name_tree_enter(&t, false, 0) &&
                name_tree_child(&t, &(struct bytes){key, sizeof(key)}, 0));
    for (uint64_t i = 0; i < LIMIT_KEYS_FREE / sizeof(key) + 1; i++)
        assert_true(name_tree_count(&t, 0));
    assert_false(name_tree_count(&t, 8));
    assert_int_equal(err.status, ERR_LIMIT);
    assert_int_equal(err.offset, 8);
    name_tree_release(&t);
}

/* A name that finds no memory counts as a lack of memory, so that a job does not report it as too long. */
TEST(test_no_memory)
{
    static const uint8_t key[4096];
    struct error err = {.offset = NO_OFFSET};
    struct name_tree t;
    name_tree_init(&t, '.', "t", &err);
    assert_true(name_tree_enter(&t, false, 0));
    const struct error *last;
    const unsigned long before = error_troubles(&last);
    lacking = true;
    assert_false(name_tree_child(&t, &(struct bytes){key, sizeof(key)}, 0));
    assert_int_equal(error_troubles(&last), before + 1);
    assert_int_equal(last->status, ERR_MEMORY);
    name_tree_release(&t);
    err = (struct error){.offset = NO_OFFSET};
    name_tree_init(&t, '.', "t", &err);
    lacking = false;
    assert_int_equal(err.status, ERR_MEMORY);
    name_tree_release(&t);
}

RUN_TESTS(NULL, NULL)

#include "catalog/sql/regex_cache.h"
#include "tests/unit/unit.h"

static struct cached_regex *borrow(struct regex_cache *c, const char *pattern, enum regex_how how)
{
    struct cached_regex *e = NULL;
    struct error err = {.offset = NO_OFFSET};
    assert_int_equal(regex_cache_borrow(c, pattern, strlen(pattern), how, &e, &err), OK);
    return e;
}

TEST(finds_again)
{
    struct regex_cache *c = regex_cache_new();
    struct cached_regex *a = borrow(c, "a+", REGEX_SEARCH);
    struct cached_regex *whole = borrow(c, "a+", REGEX_FULLMATCH);
    struct cached_regex *again = borrow(c, "a+", REGEX_SEARCH);
    assert_ptr_equal(cached_regex(a), cached_regex(again));
    assert_ptr_not_equal(cached_regex(a), cached_regex(whole));
    regex_cache_return(a);
    regex_cache_return(whole);
    regex_cache_return(again);
    again = borrow(c, "a+", REGEX_SEARCH);
    assert_ptr_equal(a, again);
    regex_cache_return(again);
    regex_cache_return(NULL);
    regex_cache_free(c);
}

/* Far more patterns than the cache keeps, all borrowed at once, then all again one by one. */
TEST(borrowed_patterns_stay)
{
    enum { MANY = 600 };
    static struct cached_regex *e[MANY];
    struct regex_cache *c = regex_cache_new();
    char pattern[32];
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < MANY; i++) {
            snprintf(pattern, sizeof(pattern), "layer_%d$", i);
            e[i] = borrow(c, pattern, REGEX_SEARCH);
            if (round)
                regex_cache_return(e[i]);
        }
        for (int i = 0; i < MANY && !round; i++) {
            struct error err = {.offset = NO_OFFSET};
            int len = snprintf(pattern, sizeof(pattern), "x/layer_%d", i);
            assert_int_equal(regex_exec(cached_regex(e[i]), pattern, (size_t)len, 0, &err), 1);
            regex_cache_return(e[i]);
        }
    }
    regex_cache_free(c);
}

TEST(templates_stay_while_borrowed)
{
    enum { MANY = 20 };
    const struct template *t[MANY], *again = NULL;
    struct error err = {.offset = NO_OFFSET};
    struct regex_cache *c = regex_cache_new();
    struct cached_regex *e = borrow(c, "(a)", REGEX_SEARCH);
    struct cached_regex *second = borrow(c, "(a)", REGEX_SEARCH);
    char source[32];
    for (int i = 0; i < MANY; i++) {
        int len = snprintf(source, sizeof(source), "%d\\1", i);
        assert_int_equal(cached_template(e, source, (size_t)len, &t[i], &err), OK);
    }
    regex_cache_return(second);
    assert_int_equal(cached_template(e, "3\\1", 3, &again, &err), OK);
    assert_ptr_equal(again, t[3]);
    assert_int_equal(regex_exec(cached_regex(e), "a", 1, 0, &err), 1);
    struct text out = {0};
    assert_true(template_expand(t[0], cached_regex(e), "a", &out));
    assert_string_equal(text_str(&out), "0a");
    text_release(&out);
    regex_cache_return(e);

    e = borrow(c, "(a)", REGEX_SEARCH);
    assert_int_equal(cached_template(e, "3\\1", 3, &again, &err), OK);
    assert_ptr_equal(again, t[3]);
    regex_cache_return(e);
    regex_cache_free(c);
}

TEST(errors_leave_nothing)
{
    struct regex_cache *c = regex_cache_new();
    struct cached_regex *e = NULL;
    const struct template *t = NULL;
    for (int round = 0; round < 2; round++) {
        struct error err = {.offset = NO_OFFSET};
        assert_int_equal(regex_cache_borrow(c, "(", 1, REGEX_SEARCH, &e, &err), ERR_ARGUMENT);
        assert_string_equal(err.message, "missing ), unterminated subpattern at position 0");
        assert_null(e);
    }
    e = borrow(c, "a", REGEX_SEARCH);
    struct error err = {.offset = NO_OFFSET};
    assert_int_equal(cached_template(e, "\\1", 2, &t, &err), ERR_ARGUMENT);
    assert_null(t);
    regex_cache_return(e);
    regex_cache_free(c);
}

TEST(last_owner_frees)
{
    struct regex_cache *c = regex_cache_new();
    assert_ptr_equal(sql_hold(&c->shared), c);
    sql_hold(&c->shared);
    sql_drop(c);
    regex_cache_return(borrow(c, "a", REGEX_SEARCH));
    sql_drop(c);
    regex_cache_free(NULL);
}

RUN_TESTS(NULL, NULL)

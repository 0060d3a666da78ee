#include "catalog/sql/tensor_test.h"

#include <stdlib.h>
#include <string.h>

#include "catalog/base/list.h"

char test_operator(unsigned char op)
{
    switch (op) {
    case SQLITE_INDEX_CONSTRAINT_EQ: return TEST_EQ;
    case SQLITE_INDEX_CONSTRAINT_IS: return TEST_IS;
    case SQLITE_INDEX_CONSTRAINT_NE: return TEST_NE;
    case SQLITE_INDEX_CONSTRAINT_LT: return TEST_LT;
    case SQLITE_INDEX_CONSTRAINT_LE: return TEST_LE;
    case SQLITE_INDEX_CONSTRAINT_GT: return TEST_GT;
    case SQLITE_INDEX_CONSTRAINT_GE: return TEST_GE;
    case SQLITE_INDEX_CONSTRAINT_LIKE: return TEST_LIKE;
    case SQLITE_INDEX_CONSTRAINT_GLOB: return TEST_GLOB;
    case SQLITE_INDEX_CONSTRAINT_REGEXP: return TEST_REGEXP;
    case SQLITE_INDEX_CONSTRAINT_ISNULL: return TEST_NULL;
    case SQLITE_INDEX_CONSTRAINT_ISNOTNULL: return TEST_NOTNULL;
    default: return 0;
    }
}

static bool matches_pattern(char op)
{
    return op == TEST_LIKE || op == TEST_GLOB || op == TEST_REGEXP;
}

/* A number, or a text that is one, is compared as a number; SQLite sorts any other text above all
 * numbers, and whether it would be made a number depends on where it comes from. */
static void take_number(struct tensor_test *t, sqlite3_value *v)
{
    switch (sqlite3_value_numeric_type(v)) {
    case SQLITE_INTEGER:
        t->kind = TEST_INTEGER;
        t->integer = sqlite3_value_int64(v);
        break;
    case SQLITE_FLOAT:
        t->kind = TEST_REAL;
        t->real = sqlite3_value_double(v);
        break;
    default: break;
    }
}

/* Only with a text is it certain that texts are compared. */
static bool take_text(struct tensor_test *t, sqlite3_value *v, struct regex_cache *cache)
{
    struct error ignored = {.offset = NO_OFFSET};
    if (sqlite3_value_type(v) != SQLITE_TEXT)
        return true;
    t->value = sqlite3_value_dup(v);
    const unsigned char *text = t->value ? sqlite3_value_text(t->value) : NULL;
    if (!text)
        return false;
    t->text = (struct cell){(const char *)text, (size_t)sqlite3_value_bytes(t->value)};
    t->kind = TEST_TEXT;
    /* LIKE and GLOB stop at a NUL. A pattern that is wrong fails where SQLite tries it. */
    if ((matches_pattern(t->op) && strlen(t->text.at) != t->text.len) ||
        (t->op == TEST_REGEXP && regex_cache_borrow(cache, t->text.at, t->text.len, REGEX_SEARCH,
                                                    &t->regex, &ignored) != OK))
        t->kind = TEST_NOTHING;
    return ignored.status != ERR_MEMORY;
}

/* Take the values of a list, which SQLite gives one after the other. */
static bool take_list(struct tensor_test *t, bool on_text, sqlite3_value *list,
                      struct regex_cache *cache)
{
    size_t space = 0;
    sqlite3_value *v = NULL;
    int rc = sqlite3_vtab_in_first(list, &v);
    for (; rc == SQLITE_OK && v; rc = sqlite3_vtab_in_next(list, &v)) {
        struct tensor_test *among = list_grow(t->among, t->among_count, &space, sizeof(*among));
        if (!among)
            return false;
        t->among = among;
        t->among[t->among_count] = (struct tensor_test){.column = t->column, .op = TEST_EQ};
        if (!test_begin(&t->among[t->among_count++], on_text, v, cache))
            return false;
    }
    return rc == SQLITE_DONE || rc == SQLITE_OK;
}

bool test_begin(struct tensor_test *t, bool on_text, sqlite3_value *v, struct regex_cache *cache)
{
    t->kind = TEST_NOTHING;
    if (t->op == TEST_IN)
        return take_list(t, on_text, v, cache);
    if (t->op == TEST_NULL || t->op == TEST_NOTNULL)
        return true;
    if (sqlite3_value_type(v) == SQLITE_NULL) {
        if (t->op == TEST_IS)
            t->op = TEST_NULL;
        else
            t->kind = TEST_NEVER;
        return true;
    }
    if (on_text)
        return take_text(t, v, cache);
    if (!matches_pattern(t->op))
        take_number(t, v);
    return true;
}

void test_end(struct tensor_test *t)
{
    if (t->regex)
        regex_cache_return(t->regex);
    for (size_t i = 0; i < t->among_count; i++)
        test_end(&t->among[i]);
    free(t->among);
    t->among = NULL;
    t->among_count = 0;
    sqlite3_value_free(t->value);
    t->regex = NULL;
    t->value = NULL;
}

static bool ordered(char op, int sign)
{
    switch (op) {
    case TEST_EQ:
    case TEST_IS: return sign == 0;
    case TEST_NE: return sign != 0;
    case TEST_LT: return sign < 0;
    case TEST_LE: return sign <= 0;
    case TEST_GT: return sign > 0;
    case TEST_GE: return sign >= 0;
    default: return true;
    }
}

/* Decides without the value: 1 passes, 0 does not, -1 the value decides. */
static int without_value(const struct tensor_test *t, bool null)
{
    if (t->op == TEST_NULL || t->op == TEST_NOTNULL)
        return null == (t->op == TEST_NULL);
    if (t->kind == TEST_NEVER)
        return 0;
    if (t->kind == TEST_NOTHING)
        return 1;
    return null ? 0 : -1;
}

bool test_number(const struct tensor_test *t, int64_t number)
{
    for (size_t i = 0; i < t->among_count; i++)
        if (test_number(&t->among[i], number))
            return true;
    if (t->op == TEST_IN)
        return false;
    const int sure = without_value(t, number == NUMBER_NULL);
    if (sure >= 0)
        return sure;
    if (t->kind == TEST_INTEGER)
        return ordered(t->op, number < t->integer ? -1 : number > t->integer);
    /* Its 64 bits of precision hold both exactly. */
    const long double a = (long double)number, b = (long double)t->real;
    return ordered(t->op, a < b ? -1 : a > b);
}

bool test_text(const struct tensor_test *t, struct cell cell)
{
    struct error err = {.offset = NO_OFFSET};
    for (size_t i = 0; i < t->among_count; i++)
        if (test_text(&t->among[i], cell))
            return true;
    if (t->op == TEST_IN)
        return false;
    const int sure = without_value(t, !cell.at);
    if (sure >= 0 || !cell.at || !t->text.at)
        return sure != 0;
    if (matches_pattern(t->op) && strlen(cell.at) != cell.len)
        return true;
    if (t->op == TEST_LIKE)
        return sqlite3_strlike(t->text.at, cell.at, 0) == 0;
    if (t->op == TEST_GLOB)
        return sqlite3_strglob(t->text.at, cell.at) == 0;
    if (t->op == TEST_REGEXP)
        return regex_exec(cached_regex(t->regex), cell.at, cell.len, 0, &err) != 0;
    const size_t less = cell.len < t->text.len ? cell.len : t->text.len;
    const int sign = memcmp(cell.at, t->text.at, less);
    return ordered(t->op, sign ? sign : (cell.len > less) - (t->text.len > less));
}

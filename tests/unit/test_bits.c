/* Functions that look at eight bytes at once (bits.h, text.h) against those that look at one, around all edges. */

#include "catalog/base/bits.h"
#include "catalog/base/text.h"
#include "tests/unit/unit.h"

#define MOST 40

static size_t one_by_one(const char *a, const char *b, size_t n)
{
    size_t i = 0;
    while (i < n && a[i] == b[i])
        i++;
    return i;
}

/* Every length, every place of the first difference, and another one after it. */
TEST(test_in_common)
{
    for (size_t n = 0; n <= MOST; n++) {
        for (size_t at = 0; at <= n; at++) {
            /* On the heap, so that a byte too many is found. */
            char *a = malloc(n + 1), *b = malloc(n + 1);
            memset(a, 'x', n);
            memset(b, 'x', n);
            if (at < n)
                a[at] = '\x80';
            if (at + 3 < n)
                b[at + 3] = 'y';
            char *x = realloc(a, n ? n : 1), *y = realloc(b, n ? n : 1);
            assert_int_equal(bytes_in_common(x, y, n), one_by_one(x, y, n));
            assert_int_equal(bytes_in_common(x, x, n), n);
            free(x);
            free(y);
        }
    }
}

static bool valid_one_by_one(const char *bytes, size_t len)
{
    size_t i = 0;
    for (int step; i < len; i += (size_t)step)
        if (!(step = utf8_length((const unsigned char *)bytes + i, len - i)))
            return false;
    return true;
}

/* Each piece at every place of an ASCII text of every length, whole and cut. */
TEST(test_utf8)
{
    static const char *const pieces[] = {"é",    "日",   "🙂",    "\x80", "\xC3", "\xED\xA0\x80",
                                         "\xFF", "\x7F", "\xC0\x80"};
    for (size_t p = 0; p < sizeof(pieces) / sizeof(pieces[0]); p++) {
        for (size_t n = 1; n <= MOST; n++) {
            for (size_t at = 0; at < n; at++) {
                char *text = malloc(n);
                size_t len = strlen(pieces[p]) < n - at ? strlen(pieces[p]) : n - at;
                memset(text, 'a', n);
                memcpy(text + at, pieces[p], len);
                assert_int_equal(utf8_valid(text, n), valid_one_by_one(text, n));
                free(text);
            }
        }
    }
    assert_true(utf8_valid("", 0));
}

RUN_TESTS(NULL, NULL)

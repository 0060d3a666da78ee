/*
 * test_error.c - what an error says when its texts are too long, or are no texts at all.
 */
#include "catalog/base/error.h"
#include "catalog/base/text.h"
#include "tests/unit/unit.h"

#define ROOM (sizeof(((struct error *)0)->source) - 1)

static bool ends_in(const char *text, const char *end)
{
    return text_ends_in(text, strlen(text), end);
}

/* Paths around the size of the buffer, of characters of one to three bytes: the end is there. */
TEST(long_paths)
{
    static const char *const letters[] = {"a", "\xc3\xa9", "\xe2\x82\xac"};
    for (size_t l = 0; l < sizeof(letters) / sizeof(letters[0]); l++) {
        for (size_t len = ROOM - 8; len < ROOM + 9; len++) {
            struct error err = {.offset = NO_OFFSET};
            struct text path = {0};
            text_addc(&path, '/');
            while (path.len + strlen("/w.npy") < len)
                text_adds(&path, letters[l]);
            text_adds(&path, "/w.npy");
            error_set(&err, ERR_CORRUPT, text_str(&path), NO_OFFSET, "no");
            if (path.len <= ROOM)
                assert_string_equal(err.source, text_str(&path));
            else
                assert_memory_equal(err.source, "...", 3);
            assert_true(ends_in(err.source, "/w.npy"));
            assert_true(utf8_valid(err.source, strlen(err.source)));
            assert_in_range(strlen(err.source), ROOM - 8, ROOM);
            text_release(&path);
        }
    }
}

/* Messages that grow by escapes, or are cut within a character: the beginning is there. */
TEST(long_messages)
{
    static const char *const letters[] = {"a", "\xc3\xa9", "\xe2\x82\xac", "\x01", "\xff"};
    for (size_t l = 0; l < sizeof(letters) / sizeof(letters[0]); l++) {
        for (size_t count = 100; count < 600; count++) {
            struct error err = {.offset = NO_OFFSET};
            struct text name = {0}, whole = {0};
            for (size_t i = 0; i < count; i++)
                text_adds(&name, letters[l]);
            text_adds(&whole, "bad name ");
            text_escape(&whole, text_str(&name), name.len);
            error_set(&err, ERR_CORRUPT, NULL, NO_OFFSET, "bad name %s", text_str(&name));
            error_prefix(&err, "tensor");
            assert_memory_equal(err.message, "tensor: bad name ", 17);
            if (whole.len + 8 <= ROOM)
                assert_string_equal(err.message + 8, text_str(&whole));
            assert_true(utf8_valid(err.message, strlen(err.message)));
            assert_in_range(strlen(err.message), whole.len < 400 ? 100 : 400, ROOM);
            text_release(&name);
            text_release(&whole);
        }
    }
}

RUN_TESTS(NULL, NULL)

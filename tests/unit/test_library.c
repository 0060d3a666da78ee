/* Decoding where the libraries of codecs are absent, or lack a function. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "catalog/codec/block.h"

#define BYTES(text) text, sizeof(text) - 1

void *__real_dlopen(const char *path, int flags);
void *__wrap_dlopen(const char *path, int flags);

/* liblz4 is there, but is another library: the program itself. */
void *__wrap_dlopen(const char *path, int flags)
{
    return strncmp(path, "liblz4", 6) == 0 ? __real_dlopen(NULL, flags) : NULL;
}

static void test_absent(void **state)
{
    (void)state;
    static const struct {
        const char *chain, *stored;
        size_t stored_len;
        enum status status;
        const char *message; /* or the bytes */
    } cases[] = {
#include "tests/unit/data/library_absent.h"
    };
    struct block_decoder *decoder = block_decoder_new();
    assert_non_null(decoder);
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct error err = {.offset = NO_OFFSET};
        uint8_t out[10];
        struct block block = {cases[i].chain,
                              {(const uint8_t *)cases[i].stored, cases[i].stored_len},
                              "chunk",
                              0};
        enum status status = block_decode(decoder, &block, out, sizeof(out), &err);
        printf("%zu: %s: %s\n", i, cases[i].chain, err.message);
        assert_int_equal(cases[i].status, status);
        if (status == OK)
            assert_memory_equal(cases[i].message, out, sizeof(out));
        else
            assert_non_null(strstr(err.message, cases[i].message));
    }
    block_decoder_free(decoder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_absent)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

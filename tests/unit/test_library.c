/* Decoding where the libraries of codecs are absent, or lack a function. */

#include "catalog/data/codec/block.h"
#include "catalog/data/codec/encode.h"
#include "tests/unit/unit.h"

#define BYTES(text) text, sizeof(text) - 1

void *__real_dlopen(const char *path, int flags);
void *__wrap_dlopen(const char *path, int flags);

/* liblz4 is there, but is another library: the program itself. */
void *__wrap_dlopen(const char *path, int flags)
{
    return strncmp(path, "liblz4", 6) == 0 ? __real_dlopen(NULL, flags) : NULL;
}

TEST(test_absent)
{
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
        struct block block = {
            cases[i].chain, {(const uint8_t *)cases[i].stored, cases[i].stored_len}, "chunk", 0};
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

/* zlib, which is always there, encodes gzip; the others say what is missing. */
TEST(test_encode)
{
    struct encoder *encoder = NULL;
    struct error err = {.offset = NO_OFFSET};
    struct bytes stored;
    uint8_t out[5];
    assert_int_equal(encoder_open("gzip:5", &encoder, &err), OK);
    assert_int_equal(
        encoder_run(encoder, (struct bytes){(const uint8_t *)"hello", 5}, &stored, &err), OK);
    struct block_decoder *decoder = block_decoder_new();
    struct block block = {"gzip:5", stored, "chunk", 0};
    assert_int_equal(block_decode(decoder, &block, out, sizeof(out), &err), OK);
    assert_memory_equal(out, "hello", 5);
    block_decoder_free(decoder);
    encoder_close(encoder);
    encoder = NULL;
    assert_int_equal(encoder_open("zstd:3", &encoder, &err), ERR_IO);
    assert_null(encoder);
    assert_non_null(strstr(err.message, "libzstd1"));
}

RUN_TESTS(NULL, NULL)

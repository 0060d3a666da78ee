/* Chains on blocks. The stored bytes were made by numcodecs 0.16 and Python's own modules. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "catalog/codec/block.h"
#include "catalog/codec/codec.h"

#define BYTES(text) text, sizeof(text) - 1

/* What most chains decode to: the beginning of this. */
#define PAYLOAD 512

static const uint8_t *payload(uint8_t *at)
{
    for (size_t i = 0; i < PAYLOAD; i++)
        at[i] = (uint8_t)(i / 4 % 8);
    return at;
}

struct golden {
    const char *chain, *stored;
    size_t stored_len, out_len;
};

static const struct golden golden[] = {
#include "tests/unit/data/block_golden.h"
};

struct decoder {
    struct block_decoder *decoder;
    uint8_t *out;
    struct error err;
};

/* Decode a copy of the bytes that ends where its memory ends, so that ASan sees overruns. */
static enum status decode(struct decoder *d, const char *chain, const void *stored,
                          size_t len, uint64_t out_len)
{
    uint8_t *copy = malloc(len + !len);
    free(d->out);
    d->out = malloc((size_t)out_len + !out_len);
    assert_non_null(copy);
    assert_non_null(d->out);
    if (len)
        memcpy(copy, stored, len);
    error_clear(&d->err);
    struct block block = {
        chain, {copy, len},
         "chunk", 1000
    };
    enum status status = block_decode(d->decoder, &block, d->out, out_len, &d->err);
    free(copy);
    return status;
}

static struct decoder decoder_open(void)
{
    struct decoder d = {.decoder = block_decoder_new(), .err = {.offset = NO_OFFSET}};
    assert_non_null(d.decoder);
    return d;
}

static void decoder_close(struct decoder *d)
{
    block_decoder_free(d->decoder);
    free(d->out);
}

static void title(const struct golden *g, const char *what)
{
    printf("%s of %zu bytes to %zu, %s\n", g->chain, g->stored_len, g->out_len, what);
}

static void check_source(const struct golden *g, const uint8_t *expected)
{
    struct error err = {.offset = NO_OFFSET};
    struct source *s = NULL;
    uint8_t got[PAYLOAD];
    struct bytes stored = {(const uint8_t *)g->stored, g->stored_len};
    title(g, "as a source");
    assert_int_equal(OK, source_open_memory("chunk", stored, true, &s, &err));
    assert_int_equal(OK, codec_chain_open(s, g->chain, &s, NULL, &err));
    assert_int_equal(g->out_len, s->size);
    assert_int_equal(OK, source_read(s, 0, got, g->out_len, &err));
    assert_memory_equal(expected, got, g->out_len);
    source_close(s);
}

static void check_all(struct decoder *d, const struct golden *g, const uint8_t *expected)
{
    uint8_t *out = NULL;
    uint64_t len;
    struct block block = {
        g->chain, {(const uint8_t *)g->stored, g->stored_len},
         "chunk", 0
    };
    title(g, "without a size");
    assert_int_equal(
        OK, block_decode_all(d->decoder, &block, g->out_len, &out, &len, &d->err));
    assert_int_equal(g->out_len, len);
    assert_memory_equal(expected, out, g->out_len);
    free(out);
    if (!g->out_len)
        return;
    title(g, "past a cap");
    assert_int_equal(ERR_CORRUPT, block_decode_all(d->decoder, &block, g->out_len - 1,
                                                   &out, &len, &d->err));
}

static void test_golden(void **state)
{
    (void)state;
    uint8_t expected[PAYLOAD];
    struct decoder d = decoder_open();
    payload(expected);
    for (size_t i = 0; i < sizeof(golden) / sizeof(*golden); i++) {
        const struct golden *g = &golden[i];
        title(g, "as a block");
        assert_true(block_decodable(g->chain));
        assert_true(block_memory(g->chain, g->stored_len, g->out_len) < UINT64_C(1)
                                                                            << 40);
        enum status status = decode(&d, g->chain, g->stored, g->stored_len, g->out_len);
        if (status)
            printf("%s\n", d.err.message);
        assert_int_equal(OK, status);
        assert_memory_equal(expected, d.out, g->out_len);
        check_source(g, expected);
        check_all(&d, g, expected);
    }
    decoder_close(&d);
}

/* Every byte of every golden block is cut off, and turned: never more than a wrong value. */
static void test_damaged(void **state)
{
    (void)state;
    struct decoder d = decoder_open();
    for (size_t i = 0; i < sizeof(golden) / sizeof(*golden); i++) {
        const struct golden *g = &golden[i];
        uint8_t copy[PAYLOAD + 100];
        assert_true(g->stored_len <= sizeof(copy));
        title(g, "damaged");
        for (size_t n = 0; n < g->stored_len; n++) {
            if (decode(&d, g->chain, g->stored, n, g->out_len) == OK)
                assert_true(g->stored[n] == 0 && strncmp(g->chain, "gzip", 4) == 0);
            memcpy(copy, g->stored, g->stored_len);
            copy[n] ^= 0xFF;
            decode(&d, g->chain, copy, g->stored_len, g->out_len);
        }
        title(g, "to other sizes");
        if (g->out_len)
            assert_int_not_equal(
                OK, decode(&d, g->chain, g->stored, g->stored_len, g->out_len - 1));
        assert_int_not_equal(
            OK, decode(&d, g->chain, g->stored, g->stored_len, g->out_len + 1));
    }
    decoder_close(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_golden),
        cmocka_unit_test(test_damaged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Chains on blocks. The stored bytes were made by numcodecs 0.16 and Python's own modules. */
#include <zlib.h>

#include "catalog/data/codec/block.h"
#include "catalog/data/codec/codec.h"
#include "tests/unit/unit.h"

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
static enum status decode(struct decoder *d, const char *chain, const void *stored, size_t len,
                          uint64_t out_len)
{
    uint8_t *copy = malloc(len + !len);
    free(d->out);
    d->out = malloc((size_t)out_len + !out_len);
    assert_non_null(copy);
    assert_non_null(d->out);
    if (len)
        memcpy(copy, stored, len);
    error_clear(&d->err);
    struct block block = {chain, {copy, len}, "chunk", 1000};
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
    for (size_t at = g->out_len, step = 1; at > 0; step = step * 3 % 101) {
        size_t n = step < at ? step : at;
        at -= n;
        assert_int_equal(OK, source_read(s, at, got, n, &err));
        assert_memory_equal(expected + at, got, n);
    }
    source_close(s);
}

static void check_all(struct decoder *d, const struct golden *g, const uint8_t *expected)
{
    uint8_t *out = NULL;
    uint64_t len;
    struct block block = {g->chain, {(const uint8_t *)g->stored, g->stored_len}, "chunk", 0};
    title(g, "without a size");
    assert_int_equal(OK, block_decode_all(d->decoder, &block, g->out_len, &out, &len, &d->err));
    assert_int_equal(g->out_len, len);
    assert_memory_equal(expected, out, g->out_len);
    free(out);
    if (!g->out_len)
        return;
    title(g, "past a cap");
    assert_int_equal(ERR_CORRUPT,
                     block_decode_all(d->decoder, &block, g->out_len - 1, &out, &len, &d->err));
}

TEST(test_golden)
{
    uint8_t expected[PAYLOAD];
    struct decoder d = decoder_open();
    payload(expected);
    for (size_t i = 0; i < sizeof(golden) / sizeof(*golden); i++) {
        const struct golden *g = &golden[i];
        title(g, "as a block");
        assert_true(block_decodable(g->chain));
        assert_true(block_memory(g->chain, g->stored_len, g->out_len) < UINT64_C(1) << 40);
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

/* Whether the bytes from n on mean nothing: zeros after gzip's streams, the last byte or two
 * that HDF5 writes after packed numbers. */
static bool ends_in_nothing(const struct golden *g, size_t n)
{
    if (strncmp(g->chain, "gzip", 4) == 0)
        return g->stored[n] == 0;
    return g->stored_len - n <= 2 &&
           (strncmp(g->chain, "scaleoffset", 11) == 0 || strncmp(g->chain, "nbit", 4) == 0 ||
            strncmp(g->chain, "szip", 4) == 0);
}

/* Every byte of every golden block is cut off, and turned: never more than a wrong value. */
TEST(test_damaged)
{
    struct decoder d = decoder_open();
    for (size_t i = 0; i < sizeof(golden) / sizeof(*golden); i++) {
        const struct golden *g = &golden[i];
        uint8_t copy[PAYLOAD + 100];
        assert_true(g->stored_len <= sizeof(copy));
        title(g, "damaged");
        for (size_t n = 0; n < g->stored_len; n++) {
            if (decode(&d, g->chain, g->stored, n, g->out_len) == OK)
                assert_true(ends_in_nothing(g, n));
            memcpy(copy, g->stored, g->stored_len);
            copy[n] ^= 0xFF;
            decode(&d, g->chain, copy, g->stored_len, g->out_len);
        }
        title(g, "to other sizes");
        if (g->out_len)
            assert_int_not_equal(OK,
                                 decode(&d, g->chain, g->stored, g->stored_len, g->out_len - 1));
        assert_int_not_equal(OK, decode(&d, g->chain, g->stored, g->stored_len, g->out_len + 1));
    }
    decoder_close(&d);
}

/* --- small steps -------------------------------------------------------------------------- */

static const struct {
    const char *chain, *stored;
    size_t stored_len;
    const char *out;
    size_t out_len;
} small[] = {
#include "tests/unit/data/block_numbers.h"
};

TEST(test_small)
{
    struct decoder d = decoder_open();
    for (size_t i = 0; i < sizeof(small) / sizeof(*small); i++) {
        printf("%zu: \"%s\" of %zu bytes\n", i, small[i].chain, small[i].stored_len);
        enum status status =
            decode(&d, small[i].chain, small[i].stored, small[i].stored_len, small[i].out_len);
        if (status)
            printf("%s\n", d.err.message);
        assert_int_equal(OK, status);
        assert_memory_equal(small[i].out, d.out, small[i].out_len);
        assert_true(block_decodable(small[i].chain));
    }
    decoder_close(&d);
}

/* --- refusals ----------------------------------------------------------------------------- */

#define EMPTY_GZIP "\x1f\x8b\x08\0\0\0\0\0\2\xff\3\0\0\0\0\0\0\0\0\0"

TEST(test_refused)
{
    static const struct {
        const char *chain, *stored;
        size_t stored_len;
        uint64_t out_len;
        enum status status;
        const char *message;
    } cases[] = {
#define CASE(...) {__VA_ARGS__},
#include "tests/unit/refused_chunks.def"
#undef CASE
    };
    struct decoder d = decoder_open();
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        const char *chain = cases[i].chain, *message = cases[i].message;
        size_t either = strcspn(message, "|");
        char first[100];
        snprintf(first, sizeof(first), "%.*s", (int)either, message);
        enum status status =
            decode(&d, chain, cases[i].stored, cases[i].stored_len, cases[i].out_len);
        printf("%zu: \"%s\": %s\n", i, chain, d.err.message);
        assert_int_equal(cases[i].status, status);
        assert_non_null(strstr(d.err.message, cases[i].message));
        assert_string_equal("chunk", d.err.source);
        assert_int_equal(1000, d.err.offset);
    }
    decoder_close(&d);
}

/* Little data that claims to be much, and much that claims to be little. */
TEST(test_bombs)
{
    enum { ZEROS = 64 << 20 };
    struct decoder d = decoder_open();
    uint8_t *zeros = calloc(ZEROS, 1);
    uLongf len = compressBound(ZEROS);
    uint8_t *stored = malloc(len);
    uint8_t *out = NULL;
    uint64_t out_len = 0;
    assert_true(zeros && stored);
    assert_int_equal(Z_OK, compress(stored, &len, zeros, ZEROS));
    puts("64 MiB in a chunk of 16 bytes");
    assert_int_equal(ERR_CORRUPT, decode(&d, "zlib:16", stored, len, 16));
    assert_int_equal(ERR_CORRUPT, decode(&d, "zlib:<16", stored, len, 16));
    assert_int_equal(ERR_CORRUPT, decode(&d, "zlib:16|skip:1", stored, len, 15));
    puts("64 MiB past a cap");
    struct block block = {"zlib:<999999999999|strings:vlen", {stored, len}, "chunk", 0};
    assert_int_equal(ERR_CORRUPT,
                     block_decode_all(d.decoder, &block, 1 << 20, &out, &out_len, &d.err));
    puts("64 MiB where they are wanted");
    error_clear(&d.err);
    assert_int_equal(OK, block_decode_all(d.decoder, &block, ZEROS, &out, &out_len, &d.err));
    assert_int_equal(ZEROS, out_len);
    assert_memory_equal(zeros, out, ZEROS);
    assert_int_equal(OK, decode(&d, "zlib:67108864|skip:0", stored, len, ZEROS));
    assert_memory_equal(zeros, d.out, ZEROS);
    puts("8 bytes that claim 2^60");
    assert_int_equal(ERR_CORRUPT,
                     decode(&d, "zlib:1152921504606846976|skip:1", "\x78\x9c\3\0\0\0\0\1", 8, 5));
    puts("zeros that libaec would count beyond its numbers");
    zeros[0] = 8;
    assert_int_equal(ERR_CORRUPT, decode(&d, "szip:8,0,6,8,8", zeros, ZEROS, 8));
    assert_non_null(strstr(d.err.message, "more zeros than a line"));
    free(out);
    free(zeros);
    free(stored);
    decoder_close(&d);
}

/* --- what is needed ----------------------------------------------------------------------- */

TEST(test_decodable)
{
    static const struct {
        const char *chain;
        bool decodable;
        uint64_t least, most; /* of the memory for 1000 stored bytes and 4000 decoded ones */
    } cases[] = {
        {NULL, true, 0, 0},
        {"", true, 0, 0},
        {"crc32c:end", true, 0, 0},
        {"strings:vlen", true, 0, 0},
        {"zstd:4000", true, 0, 2 << 20},
        {"zstd:4000|swap:4", true, 0, 2 << 20},
        {"zstd:4000|shuffle:4", true, 4000, 3 << 20},
        {"zstd:<50000000|crc32c:end|shuffle:4", true, 50000000, 60000000},
        {"zstd:5000000|shuffle:4|shuffle:4", true, 10000000, 12000000},
        {"zlib:<18446744073709551615|crc32c:end", true, UINT64_MAX, UINT64_MAX},
        {"nosuch:4000", false, UINT64_MAX, UINT64_MAX},
        {"zstd", false, UINT64_MAX, UINT64_MAX},
        {"zstd:1|strings:tf|swap:4", false, 0, UINT64_MAX},
        {"swap:99", false, UINT64_MAX, UINT64_MAX},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        uint64_t memory = block_memory(cases[i].chain, 1000, 4000);
        printf("%s: %llu\n", cases[i].chain ? cases[i].chain : "none", (unsigned long long)memory);
        assert_int_equal(cases[i].decodable, block_decodable(cases[i].chain));
        assert_true(memory >= cases[i].least && memory <= cases[i].most);
    }
}

RUN_TESTS(NULL, NULL)

/* The decoders of the same names undo what encoders make. */

#include "catalog/data/codec/block.h"
#include "catalog/data/codec/encode.h"
#include "tests/unit/unit.h"

static const struct {
    const char *encode, *decode; /* decode: before the size */
} chains[] = {
    {"gzip:0", "gzip"},
    {"gzip:5", "gzip"},
    {"gzip:9", "gzip"},
    {"zlib:0", "zlib"},
    {"zlib:6", "zlib"},
    {"zstd:-7", "zstd"},
    {"zstd:3", "zstd"},
    {"zstd:19", "zstd"},
    {"blosc:zstd,5,1,4", "blosc"},
    {"blosc:lz4,0,0,1", "blosc"},
    {"blosc:lz4,9,2,255", "blosc"},
    {"", NULL},
    {NULL, NULL},
};

static const size_t sizes[] = {0,      1,      3,      1024,    65535,   65536,  65537,
                               131071, 131072, 131073, 1048575, 1048576, 1048577};

#define LONGEST 1048577

/* Half noise, half repeats. */
static uint8_t *payload(void)
{
    uint8_t *bytes = malloc(LONGEST);
    uint32_t x = 1;
    assert_non_null(bytes);
    for (size_t i = 0; i < LONGEST; i++) {
        x = x * 1664525 + 1013904223;
        bytes[i] = i / 4096 % 2 ? (uint8_t)(x >> 24) : (uint8_t)(i / 4);
    }
    return bytes;
}

static void check_round(struct block_decoder *decoder, const char *name, struct bytes in,
                        struct bytes stored, uint8_t *out)
{
    struct error err = {.offset = NO_OFFSET};
    char chain[64] = "";
    if (name)
        snprintf(chain, sizeof(chain), "%s:%zu", name, in.len);
    struct block block = {name ? chain : NULL, stored, "chunk", 0};
    assert_int_equal(block_decode(decoder, &block, out, in.len, &err), OK);
    assert_memory_equal(out, in.at, in.len);
}

/* One encoder for all sizes, up and down: its state must not show. */
TEST(test_round)
{
    uint8_t *bytes = payload(), *out = malloc(LONGEST);
    struct block_decoder *decoder = block_decoder_new();
    const size_t count = sizeof(sizes) / sizeof(sizes[0]);
    for (size_t c = 0; c < sizeof(chains) / sizeof(chains[0]); c++) {
        struct error err = {.offset = NO_OFFSET};
        struct encoder *encoder = NULL;
        assert_int_equal(encoder_open(chains[c].encode, &encoder, &err), OK);
        for (size_t i = 0; i < 2 * count; i++) {
            struct bytes in = {bytes, sizes[i < count ? i : 2 * count - 1 - i]}, stored;
            printf("%s %zu\n", chains[c].encode ? chains[c].encode : "-", in.len);
            assert_int_equal(encoder_run(encoder, in, &stored, &err), OK);
            check_round(decoder, chains[c].decode, in, stored, out);
        }
        encoder_close(encoder);
    }
    block_decoder_free(decoder);
    free(bytes);
    free(out);
}

TEST(test_refused)
{
    static const char *const bad[] = {
        "gzip",
        "gzip:10",
        "gzip:-1",
        "gzip:5x",
        "zstd:23",
        "zstd:-8",
        "zstd:",
        "blosc:zstd,5,1",
        "blosc:zstd,5,3,4",
        "blosc:zstd,5,1,0",
        "blosc:zstd,5,1,256",
        "blosc:zstd,5,1,4,",
        "lzma:1",
        "nonsense",
        "zstd:3|nonsense",
        "zstd:3|zstd:3|zstd:3|zstd:3|zstd:3",
        "blosc:nosuch,5,1,4",
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct error err = {.offset = NO_OFFSET};
        struct encoder *encoder = NULL;
        printf("%s\n", bad[i]);
        assert_int_not_equal(encoder_open(bad[i], &encoder, &err), OK);
        assert_null(encoder);
    }
}

/* Two steps. */
TEST(test_chain)
{
    uint8_t *bytes = payload(), *out = malloc(LONGEST);
    struct block_decoder *decoder = block_decoder_new();
    struct error err = {.offset = NO_OFFSET};
    struct encoder *encoder = NULL;
    struct bytes in = {bytes, 100000}, stored;
    assert_int_equal(encoder_open("zstd:1|gzip:1", &encoder, &err), OK);
    assert_int_equal(encoder_run(encoder, in, &stored, &err), OK);
    struct block block = {"gzip:<200000|zstd:100000", stored, "chunk", 0};
    assert_int_equal(block_decode(decoder, &block, out, in.len, &err), OK);
    assert_memory_equal(out, bytes, in.len);
    encoder_close(encoder);
    block_decoder_free(decoder);
    free(bytes);
    free(out);
}

RUN_TESTS(NULL, NULL)

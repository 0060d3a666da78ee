/*
 * fuzz_block.c - chains on blocks. An input is a chain, a newline, and the stored
 * bytes. What is decoded without a size must be what is decoded with it, and what a source of
 * the same chain reads.
 */
#include <stdlib.h>

#include "catalog/data/codec/block.h"
#include "catalog/data/codec/codec.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define CHAIN_MOST 200
#define CAP        ((uint64_t)1 << 20)
#define MEMORY_CAP ((uint64_t)300 << 20)

/* With the right size, and with two wrong ones. */
static void decode_again(struct block_decoder *decoder, const struct block *block,
                         const uint8_t *expected, uint64_t len)
{
    for (uint64_t n = len ? len - 1 : 0; n <= len + 1; n++) {
        struct error err = {.offset = NO_OFFSET};
        uint8_t *out = malloc((size_t)n + !n);
        if (!out)
            abort();
        bool done = block_decode(decoder, block, out, n, &err) == OK;
        if (done != (n == len) || (done && memcmp(out, expected, (size_t)n) != 0))
            abort();
        if (done == (err.status != OK))
            abort();
        free(out);
    }
}

static void read_source(const struct block *block, const uint8_t *expected, uint64_t len)
{
    struct error err = {.offset = NO_OFFSET};
    struct source *s = NULL;
    char *strings = NULL;
    uint8_t *got = malloc((size_t)len + !len);
    if (!got || source_open_memory("fuzzed", block->stored, true, &s, &err) != OK)
        abort();
    if (codec_chain_open(s, block->chain, &s, &strings, &err) == OK) {
        if (s->size != len || source_read(s, 0, got, (size_t)len, &err) != OK ||
            memcmp(got, expected, (size_t)len) != 0)
            abort();
        source_close(s);
    } else {
        abort();
    }
    free(strings);
    free(got);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char chain[CHAIN_MOST];
    const uint8_t *end = memchr(data, '\n', size);
    size_t chain_len = end ? (size_t)(end - data) : 0;
    if (!end || chain_len >= sizeof(chain))
        return 0;
    memcpy(chain, data, chain_len);
    chain[chain_len] = '\0';
    size_t len = size - chain_len - 1;
    if (block_decodable(chain) && block_memory(chain, len, CAP) > MEMORY_CAP)
        return 0;
    uint8_t *stored = malloc(len + !len), *out = NULL;
    struct block_decoder *decoder = block_decoder_new();
    if (!stored || !decoder)
        abort();
    memcpy(stored, end + 1, len);
    struct error err = {.offset = NO_OFFSET};
    struct block block = {chain, {stored, len}, "fuzzed", 0};
    uint64_t out_len;
    if (block_decode_all(decoder, &block, CAP, &out, &out_len, &err) == OK) {
        if (!block_decodable(chain))
            abort();
        decode_again(decoder, &block, out, out_len);
        read_source(&block, out, out_len);
    } else if (err.status == OK) {
        abort();
    }
    free(out);
    free(stored);
    block_decoder_free(decoder);
    return 0;
}

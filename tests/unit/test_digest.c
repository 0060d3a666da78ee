/* XXH3-128: known digests, and each kernel for this CPU on bytes in any pieces. */

#include "catalog/data/kernel/cpu.h"
#include "catalog/data/kernel/digest.h"
#include "catalog/data/kernel/digest_kernels.h"
#include "tests/unit/unit.h"

#define ROOM (DIGEST_BLOCK + 64)

static uint8_t *bytes_of_all_kinds(void)
{
    uint8_t *b = malloc(ROOM);
    uint32_t state = 2463534242U;
    assert_non_null(b);
    for (size_t i = 0; i < ROOM; i++) {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        b[i] = (uint8_t)(state >> 11);
    }
    return b;
}

/* The digest of bytes that come in pieces of `step` (0: in one). */
static void digest_in_pieces(const struct digest_kernels *k, const uint8_t *at, size_t len,
                             size_t step, uint8_t out[DIGEST_BYTES])
{
    void *state = k->create();
    assert_non_null(state);
    k->update(state, at, len / 2); /* an ended digest leaves nothing behind */
    k->end(state, out);
    for (size_t done = 0; step && len - done > step; done += step, at += step)
        k->update(state, at, step);
    k->update(state, at, step && len ? (len - 1) % step + 1 : len);
    k->end(state, out);
    k->free(state);
}

static void assert_alike(const struct digest_kernels *k, const uint8_t *bytes)
{
    static const size_t lens[] = {
        0,           1,   16,   17,   128,  129,  240,  241,   256,    257,
        511,         512, 1023, 1024, 1025, 4096, 5000, 65536, 262144, DIGEST_BLOCK - 1,
        DIGEST_BLOCK};
    static const size_t steps[] = {0, 7, 64, 255, 256, 257, 1024, 262144};
    for (size_t i = 0; i < sizeof(lens) / sizeof(*lens); i++)
        for (size_t s = 0; s < sizeof(steps) / sizeof(*steps); s++)
            for (size_t from = 0; from < 64; from += 21) {
                uint8_t want[DIGEST_BYTES], have[DIGEST_BYTES];
                if (lens[i] / (steps[s] + 1) > 20000)
                    continue;
                digest_in_pieces(&digest_plain, bytes + from, lens[i], 0, want);
                digest_in_pieces(k, bytes + from, lens[i], steps[s], have);
                assert_memory_equal(have, want, sizeof(want));
            }
}

TEST(test_kernels)
{
    uint8_t *bytes = bytes_of_all_kinds();
    assert_alike(&digest_plain, bytes);
    assert_alike(digest_kernels(), bytes);
#ifdef __x86_64__
    if (CPU_HAS(AVX2))
        assert_alike(&digest_avx2, bytes);
#endif
    free(bytes);
}

/* What xxhsum -H2 prints. */
TEST(test_known)
{
    static const struct {
        const char *text, *digest;
    } known[] = {
        {"", "99aa06d3014798d86001c324468d497f"},
        {"ckptdb", "31923859fc557d5aa2c44bf0d6fdbc6b"},
    };
    for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
        struct digest *d = digest_new();
        struct digest_block hash;
        char text[DIGEST_TEXT];
        digest_update(d, known[i].text, strlen(known[i].text));
        digest_end(d, &hash);
        digest_print(&hash, text);
        assert_string_equal(text, known[i].digest);
        digest_free(d);
    }
}

RUN_TESTS(NULL, NULL)

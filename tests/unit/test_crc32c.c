#include "catalog/data/kernel/crc32c.h"
#include "tests/unit/unit.h"

/* RFC 3720, B.4, and the check value of every catalogue of CRCs. */
static const struct {
    const char *bytes;
    size_t len;
    uint32_t crc;
} cases[] = {
    {"", 0, 0},
    {"a", 1, 0xC1D04330},
    {"123456789", 9, 0xE3069283},
    {"\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 32, 0x8A9136AA},
};

TEST(known_values)
{
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        print_message("case %zu\n", i);
        assert_int_equal(crc32c_extend(0, cases[i].bytes, cases[i].len), cases[i].crc);
        assert_int_equal(crc32c_extend_portable(0, cases[i].bytes, cases[i].len), cases[i].crc);
    }
    uint8_t rising[32];
    for (unsigned i = 0; i < 32; i++)
        rising[i] = (uint8_t)i;
    assert_int_equal(crc32c_extend(0, rising, 32), 0x46DD794E);
    assert_int_equal(crc32c_extend_portable(0, rising, 32), 0x46DD794E);
}

/* Every length and alignment up to a few words, and every way to cut the run in two. */
TEST(twins_agree)
{
    uint8_t bytes[80];
    uint32_t noise = 1;
    for (size_t i = 0; i < sizeof(bytes); i++) {
        noise = noise * 1664525 + 1013904223;
        bytes[i] = (uint8_t)(noise >> 24);
    }
    for (size_t from = 0; from < 9; from++) {
        for (size_t len = 0; from + len <= sizeof(bytes); len++) {
            uint32_t whole = crc32c_extend(0, bytes + from, len);
            assert_int_equal(whole, crc32c_extend_portable(0, bytes + from, len));
            size_t cut = len / 3;
            uint32_t first = crc32c_extend(0, bytes + from, cut);
            assert_int_equal(whole, crc32c_extend(first, bytes + from + cut, len - cut));
        }
    }
}

/* Around the lengths that are taken in three runs at once, or folded, from any state. */
TEST(long_runs_agree)
{
    static const size_t lengths[] = {255,   256,   257,   511,   512,    513,
                                     700,   1024,  4095,  12287, 12288,  12289,
                                     24575, 24576, 24577, 65536, 131072, 131073};
    uint8_t *bytes = malloc(131080);
    uint32_t noise = 7;
    for (size_t i = 0; i < 131080; i++) {
        noise = noise * 1664525 + 1013904223;
        bytes[i] = (uint8_t)(noise >> 24);
    }
    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++)
        for (size_t from = 0; from < 3; from++)
            for (uint32_t crc = 1; crc; crc <<= 9) {
                const uint32_t want = crc32c_extend_portable(crc, bytes + from, lengths[i]);
                assert_int_equal(crc32c_extend(crc, bytes + from, lengths[i]), want);
                assert_int_equal(crc32c_extend_runs(crc, bytes + from, lengths[i]), want);
            }
    free(bytes);
}

TEST(mask_turns_back)
{
    assert_int_equal(crc32c_mask(0), 0xA282EAD8);
    assert_int_equal(crc32c_unmask(0xA282EAD8), 0);
    for (uint32_t crc = 1; crc; crc <<= 1)
        assert_int_equal(crc32c_unmask(crc32c_mask(~crc)), ~crc);
}

RUN_TESTS(NULL, NULL)

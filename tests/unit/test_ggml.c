/*
 * test_ggml.c - ggml's blocks as numbers: every type's first, second, middle and last value and
 * two sums of a block of known bytes, as ggml's own dequantisation gives them.
 */
#include <math.h>

#include "catalog/data/convert/convert.h"
#include "tests/unit/unit.h"

struct golden {
    const char *dtype;
    int d, least, m; /* where these scales are in the block; -1: nowhere */
    double first, second, middle, last, sum, weighted;
};

/* clang-format off */
static const struct golden goldens[] = {
    {"q1_0",   0,   -1, -1, 0.0999755859, -0.0999755859, 0.0999755859, 0.0999755859, 0, -53.1870117},
    {"q2_0",   0,   -1, -1, 0, 0, 0, 0.0999755859, 2.99926758, 81.2801514},
    {"q4_0",   0,   -1, -1, -0.299926758, 0.199951172, -0.299926758, 0, -2.0994873, -51.7873535},
    {"q4_1",   0,   -1,  2, 0.999633789, -0.100097656, 0.399780273, 0.699707031, 8.49401855, 134.202759},
    {"q5_0",   0,   -1, -1, 0.899780273, -0.199951172, 1.3996582, 0.0999755859, 1.49963379, 11.1972656},
    {"q5_1",   0,   -1,  2, 1.39953613, 1.89941406, 1.39953613, -0.000122070312, 34.4876709, 525.907104},
    {"q8_0",   0,   -1, -1, 8.4979248, 12.1970215, -9.09777832, -4.79882812, -17.5957031, -807.802734},
    {"mxfp4",  -1,  -1, -1, 0, 0.375, 0.1875, 0.375, 1.5625, 39.875},
    {"nvfp4",  -1,  -1, -1, -6, 2, -0.05859375, 224, 2460.33398, 96610.5361},
    {"q2_k",   80,  82, -1, 3.29919434, 0, 0.749816895, 0.449890137, 205.849731, 24307.0642},
    {"q3_k",   108, -1, -1, 8.09802246, -10.7973633, 0.199951172, 4.19897461, 95.7766113, 17710.1752},
    {"q4_k",   0,   2,  -1, 31.5422974, -2.54937744, 42.2896729, 4.84881592, 5442.6709, 757099.116},
    {"q5_k",   0,   2,  -1, 81.130188, -2.54937744, 104.674438, 10.8473511, 11618.7627, 1602353.5},
    {"q6_k",   208, -1, -1, -143.065063, 169.558594, -35.0914307, -5.99853516, 461.087402, 78422.8491},
    {"tq1_0",  52,  -1, -1, -0.0999755859, -0.0999755859, 0, -0.0999755859, -0.199951172, -13.0968018},
    {"tq2_0",  64,  -1, -1, 0.199951172, -0.0999755859, 0.199951172, -0.0999755859, 12.8968506, 1724.07898},
    {"iq4_nl", 0,   -1, -1, -3.49914551, 2.49938965, -3.49914551, 0.0999755859, -25.6937256, -691.731079},
    {"iq4_xs", 0,   -1, -1, 6.49841309, -0.0999755859, -58.4857178, -1.59960938, -1100.23132, -209062.347},
};
/* clang-format on */

/* Byte i is 37 i + 11; the scales are numbers that float16 has. */
static void fill(const struct golden *g, const struct dtype *d, uint8_t *block)
{
    for (unsigned i = 0; i < d->block_bytes; i++)
        block[i] = (uint8_t)(37 * i + 11);
    const struct {
        int at;
        uint16_t half;
    } scales[] = {{g->d, 0x2E66}, {g->least, 0x2A66}, {g->m, 0xB800}};
    for (int i = 0; i < 3; i++)
        if (scales[i].at >= 0)
            memcpy(block + scales[i].at, &scales[i].half, 2);
    if (strcmp(g->dtype, "mxfp4") == 0)
        block[0] = 0x7C;
    if (strcmp(g->dtype, "nvfp4") == 0)
        memcpy(block, "\x38\x30\x05\x7E", 4);
}

static void near(const char *dtype, const char *what, double want, double have)
{
    if (fabs(want - have) > 2e-8 * fabs(want) + 1e-12)
        fail_msg("%s, %s: %.10g, not %.10g", dtype, what, have, want);
}

TEST(test_goldens)
{
    struct error err = {.offset = NO_OFFSET};
    for (size_t i = 0; i < sizeof(goldens) / sizeof(goldens[0]); i++) {
        const struct golden *g = &goldens[i];
        uint8_t block[300];
        float y[GGML_BLOCK_MAX];
        struct dtype from, to;
        struct converter c;
        double sum = 0, weighted = 0;
        dtype_find(g->dtype, &from);
        dtype_find("float32", &to);
        assert_int_equal(from.kind, DTYPE_BLOCK);
        fill(g, &from, block);
        assert_int_equal(OK, converter_find(&from, &to, &c, &err));
        assert_int_equal(OK, converter_run(&c, block, y, from.block_elems, 0, &err));
        const unsigned n = from.block_elems;
        for (unsigned j = 0; j < n; j++) {
            sum += y[j];
            weighted += (double)y[j] * (j + 1);
        }
        near(g->dtype, "first", g->first, y[0]);
        near(g->dtype, "second", g->second, y[1]);
        near(g->dtype, "middle", g->middle, y[n / 2]);
        near(g->dtype, "last", g->last, y[n - 1]);
        near(g->dtype, "sum", g->sum, sum);
        near(g->dtype, "weighted sum", g->weighted, weighted);
    }
}

/* Many blocks, to another dtype, to an address that no float has, with and without vectors. */
TEST(test_many)
{
    enum { BLOCKS = 40, COUNT = BLOCKS * 256 };
    static uint8_t blocks[BLOCKS * 144];
    static float whole[COUNT];
    static uint8_t raw[COUNT * 8 + 1];
    struct error err = {.offset = NO_OFFSET};
    struct dtype from, single, wide;
    struct converter c;
    for (size_t i = 0; i < sizeof(blocks); i++)
        blocks[i] = (uint8_t)(i * 31 % 97);
    dtype_find("q4_k", &from);
    dtype_find("float32", &single);
    dtype_find("float64", &wide);
    for (int scalar = 0; scalar < 2; scalar++) {
        converter_scalar_only = scalar;
        assert_int_equal(OK, converter_find(&from, &single, &c, &err));
        assert_int_equal(OK, converter_run(&c, blocks, raw + 1, COUNT, 0, &err));
        memcpy(whole, raw + 1, sizeof(whole));
        for (int b = 0; b < BLOCKS; b++) {
            float one[256];
            ggml_decoder("q4_k")(blocks + b * 144, one);
            assert_memory_equal(one, whole + b * 256, sizeof(one));
        }
        assert_int_equal(OK, converter_find(&from, &wide, &c, &err));
        assert_int_equal(OK, converter_run(&c, blocks, raw + 1, COUNT, 0, &err));
        for (int i = 0; i < COUNT; i++) {
            double have;
            memcpy(&have, raw + 1 + i * sizeof(have), sizeof(have));
            assert_true(have == (double)whole[i]);
        }
    }
    converter_scalar_only = false;
}

TEST(test_refused)
{
    struct error err = {.offset = NO_OFFSET};
    struct dtype block, internal, single;
    struct converter c;
    uint8_t bytes[36] = {0};
    float out[32];
    dtype_find("q8_0", &block);
    dtype_find("q8_1", &internal);
    dtype_find("float32", &single);
    assert_int_equal(ERR_UNSUPPORTED, converter_find(&internal, &single, &c, &err));
    error_clear(&err);
    assert_int_equal(OK, converter_find(&block, &single, &c, &err));
    assert_int_equal(ERR_ARGUMENT, converter_run(&c, bytes, out, 31, 0, &err));
}

RUN_TESTS(NULL, NULL)

/*
 * test_quantise.c - numbers as ggml's blocks: the bytes that ggml makes of known rows (quantised.def), with and
 * without vector instructions, and how far the decoded numbers are off.
 */
#include <math.h>
#include <zlib.h>

#include "catalog/data/convert/convert.h"
#include "tests/unit/unit.h"

enum { COUNT = 8192, KINDS = 9 };

struct quantised {
    const char *type;
    uint32_t sums[KINDS];
};

static const struct quantised quantised[] = {
#define QUANTISED(type, ...) {#type, {__VA_ARGS__}},
#include "tests/unit/quantised.def"
#undef QUANTISED
};

#define TYPES (sizeof(quantised) / sizeof(quantised[0]))

/* One number of a row; `n` is about normally distributed in +-131070, `e` uniformly in 16 bits. */
static float number(int kind, int n, unsigned e, float before)
{
    static const float odd[] = {0, -0.0F, INFINITY, -INFINITY, NAN, -NAN};
    switch (kind) {
    case 0: return ldexpf((float)n, -20);
    case 1: /* of any size */ return ldexpf((float)n, (int)(e % 41) - 40);
    case 2: /* sparse */ return e % 4 ? 0 : ldexpf((float)n, -18);
    case 3: /* ties */ n /= 16384; return (float)n * 0.125F;
    case 4: /* mostly positive */ return ldexpf((float)n, -20) + 0.25F;
    case 5: /* huge */ return ldexpf((float)n, 110);
    case 6: /* subnormal */ return ldexpf((float)n, -145);
    case 7: /* no numbers */ return e % 8 ? ldexpf((float)n, -17) : odd[e % 6];
    default: /* constant */ return before;
    }
}

static void fill(int kind, float *out)
{
    uint32_t state = 1;
    for (int i = 0; i < COUNT; i++) {
        int n = -131070;
        for (int k = 0; k < 4; k++) {
            state = state * 1664525 + 1013904223;
            n += (int)(state >> 16);
        }
        state = state * 1664525 + 1013904223;
        out[i] = number(i % 32 ? kind : kind % 8, n, state >> 16, i ? out[i - 1] : 0);
    }
}

static struct converter converter_of(const char *from, const char *to)
{
    struct error err = {.offset = NO_OFFSET};
    struct dtype a, b;
    struct converter c;
    dtype_find(from, &a);
    dtype_find(to, &b);
    if (converter_find(&a, &b, &c, &err) != OK)
        fail_msg("%s to %s: %s", from, to, err.message);
    return c;
}

static void run(const struct converter *c, const void *in, void *out)
{
    struct error err = {.offset = NO_OFFSET};
    assert_int_equal(OK, converter_run(c, in, out, COUNT, 0, &err));
}

/* From and to addresses that no float has. */
TEST(test_bytes)
{
    static uint8_t in[COUNT * 4 + 1], out[COUNT * 4 + 1];
    static float x[COUNT];
    for (int kind = 0; kind < KINDS; kind++) {
        fill(kind, x);
        memcpy(in + 1, x, sizeof(x));
        for (size_t t = 0; t < TYPES; t++) {
            const struct converter c = converter_of("float32", quantised[t].type);
            uint64_t nbytes = 0;
            dtype_nbytes(&c.to, COUNT, &nbytes);
            for (int scalar = 0; scalar < 2; scalar++) {
                converter_scalar_only = scalar;
                run(&c, in + 1, out + 1);
                const uint32_t sum = (uint32_t)crc32(0, out + 1, (uInt)nbytes);
                if (sum != quantised[t].sums[kind])
                    fail_msg("%s, rows %d, %s: 0x%08X, not 0x%08X", quantised[t].type, kind,
                             scalar ? "plain" : "vectors", sum, quantised[t].sums[kind]);
            }
        }
    }
    converter_scalar_only = false;
}

/* The largest error of a number, as a part of the largest magnitude in its block: about half a step of the
 * type, or a whole one where the peak's other sign has no code. */
static const struct {
    const char *type;
    double most;
} errors[] = {
    {"q8_0", 0.5 / 127}, {"q4_0", 1.0 / 8},  {"q4_1", 1.0 / 15},  {"q5_0", 1.0 / 16},
    {"q5_1", 1.0 / 31},  {"q2_k", 1.0 / 2},  {"q3_k", 1.0 / 3},   {"q4_k", 1.0 / 8},
    {"q5_k", 1.0 / 16},  {"q6_k", 1.0 / 24}, {"iq4_nl", 1.0 / 6}, {"iq4_xs", 1.0 / 6},
    {"tq1_0", 1.0 / 2},  {"tq2_0", 1.0 / 2}, {"mxfp4", 1.0 / 3},
};

TEST(test_errors)
{
    static float x[COUNT], y[COUNT];
    static uint8_t blocks[COUNT * 4];
    assert_int_equal(TYPES, sizeof(errors) / sizeof(errors[0]));
    fill(0, x);
    for (size_t t = 0; t < TYPES; t++) {
        const struct converter to = converter_of("float32", errors[t].type);
        const struct converter back = converter_of(errors[t].type, "float32");
        run(&to, x, blocks);
        run(&back, blocks, y);
        double worst = 0;
        for (int i = 0; i < COUNT; i += to.to.block_elems) {
            double peak = 0, off = 0;
            for (int j = i; j < i + to.to.block_elems; j++) {
                peak = fmax(peak, fabs((double)x[j]));
                off = fmax(off, fabs((double)x[j] - (double)y[j]));
            }
            worst = fmax(worst, off / peak);
        }
        if (worst > errors[t].most * 1.1 || worst < errors[t].most / 4)
            fail_msg("%s: an error of %.4f of the peak, not %.4f", errors[t].type, worst,
                     errors[t].most);
    }
}

/* Other numbers become float32 first, in as many chunks as it takes. */
TEST(test_sources)
{
    static const char *const sources[] = {"float64", "float16", "bfloat16",
                                          "int8",    "uint4",   "q8_0"};
    static float x[COUNT], single[COUNT];
    static uint8_t other[COUNT * 8], want[COUNT], have[COUNT];
    for (int i = 0; i < COUNT; i++)
        x[i] = (float)(i * 7 % 15);
    const struct converter direct = converter_of("float32", "q4_k");
    for (size_t s = 0; s < sizeof(sources) / sizeof(sources[0]); s++) {
        struct converter c = converter_of("float32", sources[s]);
        run(&c, x, other);
        c = converter_of(sources[s], "float32");
        run(&c, other, single);
        run(&direct, single, want);
        c = converter_of(sources[s], "q4_k");
        run(&c, other, have);
        assert_memory_equal(want, have, COUNT / 256 * 144);
    }
}

TEST(test_refused)
{
    static const char *const pairs[][2] = {
        {"float32", "iq2_xxs"}, {"float32", "q8_1"}, {"complex64", "q8_0"}, {"void16", "q8_0"}};
    struct error err = {.offset = NO_OFFSET};
    struct dtype from, to;
    struct converter c;
    float x[32] = {0};
    uint8_t out[34];
    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
        dtype_find(pairs[i][0], &from);
        dtype_find(pairs[i][1], &to);
        assert_int_equal(ERR_UNSUPPORTED, converter_find(&from, &to, &c, &err));
        error_clear(&err);
    }
    c = converter_of("float32", "q8_0");
    assert_int_equal(ERR_ARGUMENT, converter_run(&c, x, out, 31, 0, &err));
    error_clear(&err);
    assert_int_equal(OK, converter_check_row(&c.from, &c.to, 64, &err));
    assert_int_equal(ERR_UNSUPPORTED, converter_check_row(&c.from, &c.to, 48, &err));
    error_clear(&err);
}

RUN_TESTS(NULL, NULL)

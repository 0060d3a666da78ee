/* Kernels of statistics: both against sums of long doubles, and against each other to the bit. */
#include <math.h>

#include "catalog/content/stat_bins.h"
#include "catalog/content/stat_kernels.h"
#include "catalog/content/stat_read.h"
#include "tests/unit/unit.h"

#define TABLE (1U << STAT_BITS)

static uint64_t state = 88172645463325252U;

static uint32_t random_bits(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)(state >> 16);
}

/* Of kind 0: near 0; 1: far from it and alike; 2: any code; 3: none is finite; 4: one outlier. */
static float any_float(unsigned kind, size_t i)
{
    const uint32_t bits = random_bits();
    float x;
    memcpy(&x, &bits, sizeof(x));
    switch (kind) {
    case 0:
        return ((float)(bits & 0xFFFF) - 32768) / 1e6F;
    case 1:
        return 1e6F + (float)(bits & 0xFFFF) / 65536;
    case 2:
        return x;
    case 3:
        return bits & 1 ? NAN : bits & 2 ? INFINITY : -INFINITY;
    default:
        return i == 0 ? 1e30F : (float)(bits & 0xFF);
    }
}

struct numbers {
    float of_32[STAT_BLOCK];
    double of_64[STAT_BLOCK];
    size_t count;
};

static void make(struct numbers *n, unsigned kind, size_t count)
{
    n->count = count;
    for (size_t i = 0; i < STAT_BLOCK; i++) {
        n->of_32[i] = i < count ? any_float(kind, i) : NAN;
        n->of_64[i] = (double)n->of_32[i];
    }
}

/* What is simple enough to be right. */
static void expect(const struct numbers *n, double tiny, struct stat_sums *out)
{
    long double sum = 0, spread = 0;
    *out = (struct stat_sums){.least = INFINITY, .most = -INFINITY};
    for (size_t i = 0; i < n->count; i++) {
        const double x = n->of_64[i];
        out->nans += isnan(x) != 0;
        out->infs += isinf(x) != 0;
        if (!isfinite(x))
            continue;
        out->finite++;
        out->zeros += x == 0;
        out->subnormals += x != 0 && fabs(x) < tiny;
        out->least = fmin(out->least, x);
        out->most = fmax(out->most, x);
        sum += x;
    }
    const long double mean = out->finite ? sum / (long double)out->finite : 0;
    for (size_t i = 0; i < n->count; i++)
        if (isfinite(n->of_64[i]))
            spread += (n->of_64[i] - mean) * (n->of_64[i] - mean);
    out->mean = (double)mean;
    out->spread = (double)spread;
}

static void assert_like(const struct stat_sums *have, const struct stat_sums *want)
{
    const double most = fmax(fabs(want->least), fabs(want->most));
    assert_int_equal(have->finite, want->finite);
    assert_int_equal(have->zeros, want->zeros);
    assert_int_equal(have->nans, want->nans);
    assert_int_equal(have->infs, want->infs);
    assert_int_equal(have->subnormals, want->subnormals);
    assert_true(have->least == want->least && have->most == want->most);
    if (!want->finite)
        return;
    assert_true(fabs(have->mean - want->mean) <= 1e-13 * most);
    assert_true(fabs(have->spread - want->spread) <=
                1e-12 * (want->spread + most * most * 1e-3));
}

static void test_kernels(void **unused)
{
    static const size_t counts[] = {1, 2, 7, 8, 9, 15, 16, 17, 511, 8184, 8191, 8192};
    struct numbers *n = malloc(sizeof(*n));
    uint32_t *bins[4];
    (void)unused;
    for (unsigned i = 0; i < 4; i++)
        bins[i] = calloc(2 * TABLE, sizeof(uint32_t));
    for (unsigned kind = 0; kind < 5; kind++)
        for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++) {
            struct stat_sums want, have[4];
            make(n, kind, counts[i]);
            expect(n, (double)1.17549435e-38F, &want);
            stat_plain.of_32(n->of_32, n->count, 1.17549435e-38F, &have[0], bins[0]);
            stat_kernels()->of_32(n->of_32, n->count, 1.17549435e-38F, &have[1], bins[1]);
            stat_plain.of_64(n->of_64, n->count, (double)1.17549435e-38F, &have[2],
                             bins[2]);
            stat_kernels()->of_64(n->of_64, n->count, (double)1.17549435e-38F, &have[3],
                                  bins[3]);
            for (unsigned k = 0; k < 4; k++)
                assert_like(&have[k], &want);
            for (unsigned k = 0; k < 4; k += 2)
                assert_memory_equal(&have[k], &have[k + 1], sizeof(have[k]));
        }
    for (unsigned i = 0; i < 4; i += 2)
        assert_memory_equal(bins[i], bins[i + 1], 2 * TABLE * sizeof(uint32_t));
    for (unsigned i = 0; i < 4; i++)
        free(bins[i]);
    free(n);
}

/* Blocks that are joined are what they are in one. */
static void test_join(void **unused)
{
    struct numbers *n = malloc(sizeof(*n));
    uint32_t *bins = calloc(2 * TABLE, sizeof(*bins));
    (void)unused;
    for (unsigned kind = 0; kind < 5; kind++) {
        struct stat_sums want, part, sums = {.least = INFINITY, .most = -INFINITY};
        make(n, kind, 8000);
        expect(n, 0, &want);
        for (size_t at = 0; at < 8000; at += 800) {
            stat_plain.of_64(n->of_64 + at, 800, 0, &part, bins);
            stat_join(&sums, &part);
        }
        assert_like(&sums, &want);
    }
    free(bins);
    free(n);
}

static void assert_histogram(const struct stat_count *bins, size_t count, double least,
                             double most, const char *want)
{
    struct text t = {0};
    const struct stat_sums sums = {.finite = 1000, .least = least, .most = most};
    stat_histogram(&t, bins, count, true, &sums);
    assert_string_equal(text_str(&t), want);
    text_release(&t);
}

static void test_bins(void **unused)
{
    (void)unused;
    assert_int_equal(stat_bin(0, true), 0);
    assert_int_equal(stat_bin(-0.0, true), 0x8000);
    assert_int_equal(stat_bin(1, true), 0x3F80);
    assert_int_equal(stat_bin(-1, true), 0xBF80);
    assert_int_equal(stat_bin(-1, false), 0xBFF0);
    const struct stat_count one[] = {{stat_bin(5, true), 3}};
    assert_histogram(one, 1, 5, 5, "{\"edges\":[5.0,5.0],\"counts\":[3]}");
    /* 1 and the greatest number below it: both sides of an edge, but too close for another. */
    const struct stat_count close[] = {{stat_bin(0.99999994, true), 1},
                                       {stat_bin(1, true), 2}};
    assert_histogram(close, 2, 0.99999994, 1,
                     "{\"edges\":[0.99999994,1.0],\"counts\":[3]}");
    /* Both zeros are in one bin, whichever bin of theirs is the greater. */
    const struct stat_count zeros[] = {
        {0, 2}, {0x8000, 3}, {stat_bin(-1, true), 1}, {stat_bin(1, true), 1}};
    struct text t = {0};
    const struct stat_sums two = {.finite = 2, .least = -1, .most = 1};
    stat_histogram(&t, zeros, 4, true, &two);
    assert_string_equal(text_str(&t),
                        "{\"edges\":[-1.0,9.183549615799121e-41,1.0],\"counts\":[6,1]}");
    text_release(&t);
    /* Codes of NaN and infinities are in no bin. */
    const struct stat_count odd[] = {
        {0x7F80, 7}, {0xFF80, 7}, {0x7FC0, 7}, {stat_bin(2, true), 1}};
    assert_histogram(odd, 4, 2, 2, "{\"edges\":[2.0,2.0],\"counts\":[1]}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kernels),
        cmocka_unit_test(test_join),
        cmocka_unit_test(test_bins),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

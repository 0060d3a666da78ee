/* Kernels of statistics: all against sums of long doubles, and against each other to the bit; grids. */
#include <math.h>

#include "catalog/content/stat_kernels.h"
#include "catalog/content/stat_read.h"
#include "catalog/data/kernel/cpu.h"
#include "tests/unit/unit.h"

static uint32_t random_bits(void)
{
    return (uint32_t)(random_below(UINT64_MAX) >> 16);
}

#define KINDS 9

/* Of kind 0: near 0; 1: far from it and alike; 2: any code; 3: none is finite; 4: one outlier; 5: ends
 * of cells; 6: subnormal; 7: one NaN, which is the middle one; 8: all alike. */
static float any_float(unsigned kind, size_t i)
{
    const uint32_t bits = random_bits();
    float x;
    memcpy(&x, &bits, sizeof(x));
    switch (kind) {
    case 0: return ((float)(bits & 0xFFFF) - 32768) / 1e6F;
    case 1: return 1e6F + (float)(bits & 0xFFFF) / 65536;
    case 2: return x;
    case 3: return bits & 1 ? NAN : bits & 2 ? INFINITY : -INFINITY;
    case 4: return i == 0 ? 1e30F : (float)(bits & 0xFF);
    case 5: return (float)(int)(bits & 31) / 16 - 1 + (bits & 32 ? 0 : 0.001F);
    case 6: return (bits & 1 ? 1e-44F : -1e-40F) * (float)(bits >> 1 & 7);
    case 7: return i == 8192 / 2 ? NAN : (float)(bits & 0xFFFF) - 20;
    default: return 0.5F;
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

/* Code simple enough to be right. */
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
    assert_true(fabs(have->spread - want->spread) <= 1e-12 * (want->spread + most * most * 1e-3));
}

/* Where each finite number lies: cells of one width; a negative number's ends are swapped. */
static void assert_counts(const struct numbers *n, const struct stat_sums *sums,
                          const struct stat_grid *g)
{
    const double width = ldexp(1, g->exponent);
    uint64_t want[STAT_CELLS] = {0}, cells = 0;
    if (!sums->finite) {
        assert_true(g->least > g->most);
        return;
    }
    for (size_t i = 0; i < n->count; i++) {
        const double x = n->of_64[i];
        const int64_t cell = x < 0 ? -1 - (int64_t)(-x / width) : (int64_t)(x / width);
        if (!isfinite(x))
            continue;
        assert_true(x >= 0 ? (double)cell * width <= x && x < (double)(cell + 1) * width
                           : (double)cell * width < x && x <= (double)(cell + 1) * width);
        assert_int_equal(cell, stat_grid_cell(g, x));
        want[(uint64_t)cell % STAT_CELLS]++;
    }
    assert_memory_equal(g->counts, want, sizeof(want));
    cells = (uint64_t)(stat_grid_cell(g, sums->most) - stat_grid_cell(g, sums->least)) + 1;
    assert_true(cells <= STAT_CELLS);
}

static void run_kernel(stat_kernel *kernel, const void *values, const struct numbers *n,
                       bool narrow, struct stat_sums *sums, struct stat_grid *grid)
{
    memset(sums, 0, sizeof(*sums));
    stat_grid_clear(grid, narrow);
    kernel(values, n->count, (double)1.17549435e-38F, sums, grid);
    assert_counts(n, sums, grid);
}

static void assert_kernels(const struct stat_kernels *k, const struct numbers *n)
{
    /* Off their alignment by a byte, as a file may have them. */
    uint8_t *moved = malloc(sizeof(n->of_64) + 1);
    struct stat_sums want, have, plain;
    struct stat_grid grid, grid_plain;
    expect(n, (double)1.17549435e-38F, &want);
    run_kernel(stat_plain.of_32, n->of_32, n, true, &plain, &grid_plain);
    memcpy(moved + 1, n->of_32, n->count * sizeof(n->of_32[0]));
    run_kernel(k->of_32, moved + 1, n, true, &have, &grid);
    assert_like(&plain, &want);
    assert_memory_equal(&have, &plain, sizeof(have));
    assert_memory_equal(grid.counts, grid_plain.counts, sizeof(grid.counts));
    assert_int_equal(grid.exponent, grid_plain.exponent);
    run_kernel(stat_plain.of_64, n->of_64, n, false, &plain, &grid_plain);
    memcpy(moved + 1, n->of_64, n->count * sizeof(n->of_64[0]));
    run_kernel(k->of_64, moved + 1, n, false, &have, &grid);
    assert_like(&plain, &want);
    assert_memory_equal(&have, &plain, sizeof(have));
    assert_memory_equal(grid.counts, grid_plain.counts, sizeof(grid.counts));
    free(moved);
}

TEST(test_kernels)
{
    static const size_t counts[] = {1,   2,   7,    15,   16,   17,   63,   64,   65,   80,
                                    511, 512, 1023, 1024, 1088, 4096, 8128, 8184, 8191, 8192};
    struct numbers *n = malloc(sizeof(*n));
    for (unsigned kind = 0; kind < KINDS; kind++)
        for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++) {
            make(n, kind, counts[i]);
            assert_kernels(stat_kernels(), n);
#ifdef __x86_64__
            if (CPU_HAS(AVX2))
                assert_kernels(&stat_avx2, n);
#endif
        }
    free(n);
}

/* Joined blocks give the same as one block. */
TEST(test_join)
{
    struct numbers *n = malloc(sizeof(*n));
    for (unsigned kind = 0; kind < KINDS; kind++) {
        struct stat_grid grid, joined, block;
        struct stat_sums want, part, sums = {.least = INFINITY, .most = -INFINITY};
        make(n, kind, 8000);
        expect(n, 0, &want);
        stat_grid_clear(&grid, false);
        stat_grid_clear(&joined, false);
        for (size_t at = 0; at < 8000; at += 800) {
            stat_plain.of_64(n->of_64 + at, 800, 0, &part, &grid);
            stat_join(&sums, &part);
            stat_grid_clear(&block, false);
            stat_plain.of_64(n->of_64 + at, 800, 0, &part, &block);
            stat_grid_join(&joined, &block);
        }
        assert_like(&sums, &want);
        assert_counts(n, &sums, &grid);
        assert_memory_equal(joined.counts, grid.counts, sizeof(grid.counts));
        assert_int_equal(joined.exponent, grid.exponent);
    }
    free(n);
}

static void assert_histogram(const double *values, size_t count, const char *want)
{
    struct text t = {0};
    struct stat_grid g;
    stat_grid_clear(&g, true);
    for (size_t i = 0; i < count; i++) {
        stat_grid_cover(&g, values[i], values[i]);
        stat_grid_add(&g, values[i], 1);
    }
    stat_grid_print(&t, &g, count);
    assert_string_equal(text_str(&t), want);
    text_release(&t);
}

#define ASSERT_HISTOGRAM(want, ...)                                                                \
    assert_histogram((const double[]){__VA_ARGS__},                                                \
                     sizeof((const double[]){__VA_ARGS__}) / sizeof(double), want)

TEST(test_bins)
{
    ASSERT_HISTOGRAM("{\"edges\":[5.0,5.0],\"counts\":[3]}", 5, 5, 5);
    /* 1 and the greatest number below it are too close for an edge between them. */
    ASSERT_HISTOGRAM("{\"edges\":[0.9999999403953552,1.0],\"counts\":[3]}", 0.9999999403953552, 1,
                     1);
    /* Both zeros are above the edge 0; what is an edge itself, at an end, has no bin of its own. */
    ASSERT_HISTOGRAM("{\"edges\":[-1.0,0.0,1.0],\"counts\":[1,3]}", 0, -0.0, -1, 1);
    ASSERT_HISTOGRAM("{\"edges\":[-3.0,-2.0,0.0,2.0,3.0],\"counts\":[2,1,2,2]}", -3, -2.5, -1, 0, 1,
                     2, 3);
    /* Numbers that a float cannot tell from 0 after scaling stay on their side. */
    ASSERT_HISTOGRAM("{\"edges\":[-1e-45,0.0,3e+38],\"counts\":[1,1]}", -1e-45, 3e38);
    ASSERT_HISTOGRAM("{\"edges\":[-3.4028234663852886e+38,0.0,3.4028234663852886e+38],"
                     "\"counts\":[1,1]}",
                     -3.4028234663852886e+38, 3.4028234663852886e+38);
}

RUN_TESTS(NULL, NULL)

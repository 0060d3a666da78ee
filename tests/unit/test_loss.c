/* What a conversion loses, counted by block, beside a count element by element. */
#include <math.h>

#include "catalog/data/convert/convert.h"
#include "catalog/data/convert/loss.h"
#include "tests/unit/unit.h"

#define COUNT 20000

static const char *const floats[] = {
    "float64",       "float32",         "float16",         "bfloat16",           "float8_e5m2",
    "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e4m3b11fnuz",
};
#define FLOATS (sizeof(floats) / sizeof(floats[0]))

static double value(const struct dtype *d, const void *data, uint64_t i)
{
    struct element e = {0};
    assert_int_equal(element_get(d, data, i, &e), ELEMENT_REAL);
    return e.real;
}

static struct loss naive(const struct dtype *from, const void *a, const struct dtype *to,
                         const void *b)
{
    struct loss l = {0};
    for (uint64_t i = 0; i < COUNT; i++) {
        double x = value(from, a, i), y = value(to, b, i);
        l.out_of_range += isfinite(x) && !isfinite(y);
        l.to_zero += x != 0 && y == 0;
        l.to_nan += !isnan(x) && isnan(y);
    }
    return l;
}

static void check_pair(const char *from_name, const char *to_name, const uint8_t *bytes,
                       uint8_t *out)
{
    struct dtype from, to;
    struct converter converter;
    struct error err = {.offset = NO_OFFSET};
    struct loss counted = {0};
    dtype_find(from_name, &from);
    dtype_find(to_name, &to);
    printf("%s to %s\n", from_name, to_name);
    assert_int_equal(loss_possible(&from, &to), strcmp(from_name, to_name) != 0);
    assert_int_equal(converter_find(&from, &to, &converter, &err), OK);
    assert_int_equal(converter_run(&converter, bytes, out, COUNT, 0, &err), OK);
    loss_count(&from, bytes, &to, out, COUNT, &counted);
    struct loss want = naive(&from, bytes, &to, out);
    assert_int_equal(counted.out_of_range, want.out_of_range);
    assert_int_equal(counted.to_zero, want.to_zero);
    assert_int_equal(counted.to_nan, want.to_nan);
}

/* Rounding does not count; a scale beyond float16 does, and so does an infinity's effect on its block. */
TEST(test_blocks)
{
    static const char *const sources[] = {"float64", "float32", "bfloat16"};
    static float x[2048];
    static uint8_t in[2048 * 8], out[2048 * 4];
    struct error err = {.offset = NO_OFFSET};
    for (int i = 0; i < 2048; i++)
        x[i] = (float)(i % 100);
    x[40] = 0x1p30F;
    x[1990] = INFINITY;
    for (size_t s = 0; s < sizeof(sources) / sizeof(sources[0]); s++) {
        struct dtype single, from, to;
        struct converter c;
        struct loss lost = {0};
        dtype_find("float32", &single);
        dtype_find(sources[s], &from);
        dtype_find("q8_0", &to);
        assert_int_equal(OK, converter_find(&single, &from, &c, &err));
        assert_int_equal(OK, converter_run(&c, x, in, 2048, 0, &err));
        assert_true(loss_possible(&from, &to));
        assert_int_equal(OK, converter_find(&from, &to, &c, &err));
        assert_int_equal(OK, converter_run(&c, in, out, 2048, 0, &err));
        loss_count(&from, in, &to, out, 1024, &lost);
        assert_int_equal(lost.out_of_range, 32); /* 2^30 / 127 */
        assert_int_equal(lost.to_nan, 31);       /* 0 * infinity */
        lost = (struct loss){0};
        loss_count(&from, in + 64 * from.block_bytes, &to, out + 68, 1024, &lost);
        assert_int_equal(lost.out_of_range | lost.to_zero | lost.to_nan, 0);
        loss_count(&from, in + 1024 * from.block_bytes, &to, out + 1088, 1024, &lost);
        assert_int_equal(lost.out_of_range, 31);
        assert_int_equal(lost.to_nan, 32);
    }
}

TEST(test_pairs)
{
    uint8_t *bytes = malloc(COUNT * 8), *out = malloc(COUNT * 8);
    uint64_t x = 1;
    for (size_t i = 0; i < COUNT * 8; i++) {
        x = x * 6364136223846793005U + 1442695040888963407U;
        bytes[i] = (uint8_t)(x >> 56);
    }
    memset(bytes, 0, 1000); /* zeros, too */
    for (size_t i = 0; i < FLOATS * FLOATS; i++)
        check_pair(floats[i / FLOATS], floats[i % FLOATS], bytes, out);
    free(bytes);
    free(out);
}

TEST(test_complex)
{
    static const double numbers[] = {1e300, 1e-300, 0, NAN};
    float out[4];
    struct dtype from, to, real;
    struct converter converter;
    struct error err = {.offset = NO_OFFSET};
    struct loss loss = {0};
    dtype_find("complex128", &from);
    dtype_find("complex64", &to);
    dtype_find("float32", &real);
    assert_false(loss_possible(&real, &to));
    assert_true(loss_possible(&from, &to));
    assert_int_equal(converter_find(&from, &to, &converter, &err), OK);
    assert_int_equal(converter_run(&converter, numbers, out, 2, 0, &err), OK);
    loss_count(&from, numbers, &to, out, 2, &loss);
    assert_int_equal(loss.out_of_range, 1);
    assert_int_equal(loss.to_zero, 1);
    assert_int_equal(loss.to_nan, 0);
}

RUN_TESTS(NULL, NULL)

#include "catalog/data/kernel/compare_sums.h"

#include <math.h>
#include <string.h>

#include "catalog/data/kernel/cpu.h"

/* Squares of float64 overflow above 1e154, and underflow: so numbers whose largest is beyond these are
 * multiplied by a power of two before they are squared. */
#define LARGE 0x1p400
#define SMALL 0x1p-400
#define SHIFT 700

/* Zeros have the power of the smallest numbers, whose sums are the ones that can be rescaled. */
const struct compare_sums compare_none = {.power_a = SHIFT, .power_b = SHIFT, .power_d = SHIFT};

bool compare_scalar_only;

static const struct compare_kernels *compare_kernels(void)
{
#ifdef __x86_64__
    if (!compare_scalar_only && CPU_HAS(AVX512F) && CPU_HAS(AVX512BW) && CPU_HAS(AVX512DQ) &&
        CPU_HAS(AVX512VL))
        return &compare_avx512;
    if (!compare_scalar_only && CPU_HAS(AVX2))
        return &compare_avx2;
#endif
    return &compare_plain;
}

static int power_of(double most)
{
    return most > LARGE ? -SHIFT : most < SMALL ? SHIFT : 0;
}

static void add_squares(const struct compare_kernels *k, const struct compare_block *block,
                        const struct compare_extremes *e, struct compare_sums *out)
{
    out->power_a = power_of(e->a);
    out->power_b = power_of(e->b);
    out->power_d = power_of(e->d);
    out->max_abs = e->d;
    out->unequal += e->unequal;
    k->sums(block,
            (double[]){ldexp(1, out->power_a), ldexp(1, out->power_b), ldexp(1, out->power_d)},
            &out->of);
}

static void pad(double *numbers, size_t count)
{
    for (; count % COMPARE_LANES; count++)
        numbers[count] = 0;
}

void compare_floats(struct compare_block *block, struct compare_sums *out)
{
    const struct compare_kernels *k = compare_kernels();
    struct compare_extremes e;
    *out = compare_none;
    pad(block->a, block->count);
    pad(block->b, block->count);
    k->distances(block, &e);
    if (e.nans) {
        /* Replace pairs with a NaN by zeros, and count those with one. */
        for (size_t i = 0; i < block->count; i++) {
            const bool a = isnan(block->a[i]), b = isnan(block->b[i]);
            if (a || b)
                block->a[i] = block->b[i] = 0;
            out->nans += a != b;
            out->unequal += a != b;
        }
        k->distances(block, &e);
    }
    add_squares(k, block, &e, out);
}

static double number_of(uint64_t bits, bool negative)
{
    return negative ? (double)(int64_t)bits : (double)bits;
}

void compare_integers(struct compare_block *block, bool a_signed, bool b_signed,
                      struct compare_sums *out)
{
    struct compare_extremes e = {.a = 1, .b = 1}; /* 64 bits are never out of range */
    *out = compare_none;
    for (size_t i = 0; i < block->count; i++) {
        uint64_t a, b;
        memcpy(&a, &block->a[i], sizeof(a));
        memcpy(&b, &block->b[i], sizeof(b));
        const bool a_negative = a_signed && a >> 63, b_negative = b_signed && b >> 63;
        const bool less = a_negative != b_negative ? a_negative : a < b;
        const uint64_t apart = less ? b - a : a - b;
        /* Of different signs, numbers can be 2^64 and more apart. */
        const bool carries = a_negative != b_negative && apart < (less ? b : a);
        const double d = (double)apart + (carries ? 0x1p64 : 0);
        e.unequal += a != b || a_negative != b_negative;
        e.d = d > e.d ? d : e.d;
        block->a[i] = number_of(a, a_negative);
        block->b[i] = number_of(b, b_negative);
        block->d[i] = d;
    }
    pad(block->a, block->count);
    pad(block->b, block->count);
    pad(block->d, block->count);
    add_squares(compare_kernels(), block, &e, out);
}

/* The sums of the smaller numbers, which are of the higher power, are rescaled. What underflows then is
 * far below the precision of the others. */
static int align(int power, int other, double *squares, double *products)
{
    if (power <= other)
        return power;
    *squares = ldexp(*squares, 2 * (other - power));
    if (products)
        *products = ldexp(*products, other - power);
    return other;
}

void compare_join(struct compare_sums *s, const struct compare_sums *more)
{
    struct compare_sums m = *more;
    const int a = s->power_a, b = s->power_b, d = s->power_d;
    s->power_a = align(a, m.power_a, &s->of.aa, &s->of.ab);
    s->power_b = align(b, m.power_b, &s->of.bb, &s->of.ab);
    s->power_d = align(d, m.power_d, &s->of.dd, NULL);
    align(m.power_a, a, &m.of.aa, &m.of.ab);
    align(m.power_b, b, &m.of.bb, &m.of.ab);
    align(m.power_d, d, &m.of.dd, NULL);
    s->of.aa += m.of.aa;
    s->of.bb += m.of.bb;
    s->of.ab += m.of.ab;
    s->of.dd += m.of.dd;
    s->max_abs = m.max_abs > s->max_abs ? m.max_abs : s->max_abs;
    s->unequal += m.unequal;
    s->nans += m.nans;
}

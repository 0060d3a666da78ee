/*
 * compare_loops.h - the kernels, compiled for one target: VECTOR is the number of bytes of its
 * registers, TARGET the attributes of every function, KERNELS the table to define.
 */
#include <string.h>

#include "catalog/data/kernel/compare_kernels.h"

#ifdef __clang__
#    pragma clang fp contract(off) /* results must agree to the bit: no fused a * b + c */
#endif

typedef double double_v __attribute__((vector_size(VECTOR)));
typedef int64_t int64_v __attribute__((vector_size(VECTOR)));

#define WIDE (VECTOR / sizeof(double)) /* numbers in a vector */
#define ROWS (COMPARE_LANES / WIDE)

#if VECTOR == 64
#    define GREATER(x, y) (double_v) _mm512_max_pd((__m512d)(x), (__m512d)(y))
#elif VECTOR == 32
#    define GREATER(x, y) (double_v) _mm256_max_pd((__m256d)(x), (__m256d)(y))
#else
#    define GREATER(x, y) (double_v)(((int64_v)(x) & ((x) > (y))) | ((int64_v)(y) & ~((x) > (y))))
#endif
#define MAGNITUDE(x) (double_v)((int64_v)(x)&INT64_MAX)
#define IS_NAN(x)    ((x) != (x))

TARGET static inline double_v load(const double *from)
{
    double_v v;
    memcpy(&v, from, sizeof(v));
    return v;
}

TARGET static double largest(const double_v *rows)
{
    double most = 0;
    for (unsigned i = 0; i < COMPARE_LANES; i++)
        most = rows[i / WIDE][i % WIDE] > most ? rows[i / WIDE][i % WIDE] : most;
    return most;
}

TARGET static double sum(const double_v *rows)
{
    double sum = 0;
    for (unsigned i = 0; i < COMPARE_LANES; i++)
        sum += rows[i / WIDE][i % WIDE];
    return sum;
}

TARGET static void distances(struct compare_block *block, struct compare_extremes *out)
{
    double_v most_a[ROWS] = {{0}}, most_b[ROWS] = {{0}}, most_d[ROWS] = {{0}};
    int64_v unequal[ROWS] = {{0}}, nans[ROWS] = {{0}};
    *out = (struct compare_extremes){0};
    for (size_t i = 0; i < block->count; i += COMPARE_LANES) {
#pragma GCC unroll 8
        for (unsigned k = 0; k < ROWS; k++) {
            const double_v a = load(block->a + i + k * WIDE), b = load(block->b + i + k * WIDE);
            const int64_v differ = a != b;
            const double_v d = (double_v)((int64_v)(b - a) & differ);
            memcpy(block->d + i + k * WIDE, &d, sizeof(d));
            unequal[k] -= differ;
            nans[k] |= IS_NAN(d);
            most_a[k] = GREATER(MAGNITUDE(a), most_a[k]);
            most_b[k] = GREATER(MAGNITUDE(b), most_b[k]);
            most_d[k] = GREATER(MAGNITUDE(d), most_d[k]);
        }
    }
    out->a = largest(most_a);
    out->b = largest(most_b);
    out->d = largest(most_d);
    for (unsigned i = 0; i < COMPARE_LANES; i++) {
        out->unequal += (uint64_t)unequal[i / WIDE][i % WIDE];
        out->nans |= nans[i / WIDE][i % WIDE] != 0;
    }
}

TARGET static void sums(const struct compare_block *block, const double factors[3],
                        struct compare_products *out)
{
    double_v aa[ROWS] = {{0}}, bb[ROWS] = {{0}}, ab[ROWS] = {{0}}, dd[ROWS] = {{0}};
    for (size_t i = 0; i < block->count; i += COMPARE_LANES) {
#pragma GCC unroll 8
        for (unsigned k = 0; k < ROWS; k++) {
            const double_v a = load(block->a + i + k * WIDE) * factors[0],
                           b = load(block->b + i + k * WIDE) * factors[1],
                           d = load(block->d + i + k * WIDE) * factors[2];
            aa[k] += a * a;
            bb[k] += b * b;
            ab[k] += a * b;
            dd[k] += d * d;
        }
    }
    *out = (struct compare_products){sum(aa), sum(bb), sum(ab), sum(dd)};
}

const struct compare_kernels KERNELS = {distances, sums};

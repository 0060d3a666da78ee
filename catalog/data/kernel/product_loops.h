/*
 * product_loops.h - the loop of product.h, compiled for one target: TARGET is the attributes of the
 * function, PRODUCT its name.
 */
#include <math.h>

#include "catalog/data/kernel/product.h"

#define SUMS 1024 /* at once: they stay in the L1 cache */

TARGET void PRODUCT(const float *left, const float *right, size_t stride, size_t terms,
                    float *restrict out, size_t count)
{
    for (size_t at = 0, n; at < count; at += n) {
        float *restrict sum = out + at;
        n = count - at < SUMS ? count - at : SUMS;
        for (size_t i = 0; i < n; i++)
            sum[i] = 0;
        for (size_t k = 0; k < terms; k++) {
            const float factor = left[k];
            const float *row = right + k * stride + at;
            for (size_t i = 0; i < n; i++)
                sum[i] = fmaf(factor, row[i], sum[i]);
        }
    }
}

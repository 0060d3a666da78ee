/*
 * stat_loops.h - the kernels, to be compiled for one target: TARGET are attributes of every function,
 * KERNELS the table to fill.
 *
 * Sums are of values less one of them, which is near enough to the mean that little is lost where
 * values are large and alike: the middle one of three, so that an outlier is not taken. What is not
 * finite takes its place, and adds nothing.
 */
#include <math.h>
#include <string.h>

#include "catalog/content/stat_kernels.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#    error "elements are read as little-endian words"
#endif

#define LANES 8

typedef float f32_lanes __attribute__((vector_size(32)));
typedef int32_t i32_lanes __attribute__((vector_size(32)));
typedef float f32_half __attribute__((vector_size(16)));
typedef double f64_half __attribute__((vector_size(32)));
typedef int64_t i64_half __attribute__((vector_size(32)));

/* What a lane has come to. */
struct lane {
    double shifted, squares, least, most;
    int64_t finite, zeros, nans, small; /* small: zeros, too */
};

struct lanes {
    struct lane lane[LANES];
};

TARGET static void finish(const struct lanes *lanes, size_t count, double first,
                          struct stat_sums *out)
{
    double shifted = 0, squares = 0;
    *out = (struct stat_sums){.least = INFINITY, .most = -INFINITY};
    for (unsigned i = 0; i < LANES; i++) {
        const struct lane *l = &lanes->lane[i];
        shifted += l->shifted;
        squares += l->squares;
        out->finite += (uint64_t)l->finite;
        out->zeros += (uint64_t)l->zeros;
        out->nans += (uint64_t)l->nans;
        out->subnormals += (uint64_t)l->small;
        out->least = l->least < out->least ? l->least : out->least;
        out->most = l->most > out->most ? l->most : out->most;
    }
    out->nans -= (LANES - count % LANES) % LANES; /* of the last row */
    out->infs = count - out->finite - out->nans;
    out->subnormals = out->subnormals > out->zeros ? out->subnormals - out->zeros : 0;
    if (!out->finite) {
        out->least = INFINITY;
        out->most = -INFINITY;
        return;
    }
    const double mean = shifted / (double)out->finite;
    out->mean = first + mean;
    out->spread = squares - shifted * mean;
    out->spread = out->spread > 0 ? out->spread : 0;
}

/* --- float32 -------------------------------------------------------------------------------- */

#define INFINITE32 0x7F800000

TARGET static float middle_32(const float *x, size_t count)
{
    float a = x[0], b = x[count / 2], c = x[count - 1];
    if (isfinite(a) && isfinite(b) && isfinite(c))
        return (a < b) == (b < c) ? b : (b < a) == (a < c) ? a : c;
    for (size_t i = 0; i < count; i++)
        if (isfinite(x[i]))
            return x[i];
    return 0;
}

TARGET static void lanes_32(const float *x, size_t rows, float first, float tiny,
                            struct lanes *out)
{
    const f32_lanes shift = (f32_lanes){0} + first, least_normal = (f32_lanes){0} + tiny;
    const f64_half from = (f64_half){0} + (double)first;
    f64_half sum[2] = {{0}, {0}}, squares[2] = {{0}, {0}};
    f32_lanes least = shift, most = shift;
    i32_lanes finite = {0}, zeros = {0}, nans = {0}, small = {0};
    for (size_t i = 0; i < rows; i++) {
        i32_lanes bits;
        memcpy(&bits, x + i * LANES, sizeof(bits));
        const i32_lanes size = bits & INT32_MAX;
        const i32_lanes good = size < INFINITE32;
        const f32_lanes v = (f32_lanes)((bits & good) | ((i32_lanes)shift & ~good));
        const i32_lanes lower = v<least, higher = v> most;
        least = (f32_lanes)(((i32_lanes)v & lower) | ((i32_lanes)least & ~lower));
        most = (f32_lanes)(((i32_lanes)v & higher) | ((i32_lanes)most & ~higher));
        finite -= good;
        zeros -= size == 0;
        nans -= size > INFINITE32;
        small -= size < (i32_lanes)least_normal;
        const f64_half a =
            __builtin_convertvector(__builtin_shufflevector(v, v, 0, 1, 2, 3), f64_half) -
            from;
        const f64_half b =
            __builtin_convertvector(__builtin_shufflevector(v, v, 4, 5, 6, 7), f64_half) -
            from;
        sum[0] += a;
        sum[1] += b;
        squares[0] += a * a;
        squares[1] += b * b;
    }
    for (unsigned i = 0; i < LANES; i++)
        out->lane[i] = (struct lane){sum[i / 4][i % 4], squares[i / 4][i % 4],
                                     least[i],          most[i],
                                     finite[i],         zeros[i],
                                     nans[i],           small[i]};
}

TARGET static void of_32(const float *x, size_t count, float tiny, struct stat_sums *out,
                         uint32_t *bins)
{
    const float first = middle_32(x, count);
    struct lanes l;
    lanes_32(x, (count + LANES - 1) / LANES, first, tiny, &l);
    finish(&l, count, first, out);
    for (size_t i = 0; i + 1 < count; i += 2) {
        uint64_t two;
        memcpy(&two, x + i, sizeof(two));
        bins[two >> 16 & 0xFFFF]++;
        bins[1 << STAT_BITS | two >> 48]++;
    }
    if (count & 1) {
        uint32_t one;
        memcpy(&one, x + count - 1, sizeof(one));
        bins[one >> 16]++;
    }
}

/* --- float64 -------------------------------------------------------------------------------- */

#define INFINITE64 INT64_C(0x7FF0000000000000)

TARGET static double middle_64(const double *x, size_t count)
{
    double a = x[0], b = x[count / 2], c = x[count - 1];
    if (isfinite(a) && isfinite(b) && isfinite(c))
        return (a < b) == (b < c) ? b : (b < a) == (a < c) ? a : c;
    for (size_t i = 0; i < count; i++)
        if (isfinite(x[i]))
            return x[i];
    return 0;
}

/* Lanes 0 to 3, or 4 to 7. */
TARGET static void half_64(const double *x, size_t rows, double first, double tiny,
                           struct lane *out)
{
    const f64_half shift = (f64_half){0} + first, least_normal = (f64_half){0} + tiny;
    f64_half sum = {0}, squares = {0}, least = shift, most = shift;
    i64_half finite = {0}, zeros = {0}, nans = {0}, small = {0};
    for (size_t i = 0; i < rows; i++) {
        i64_half bits;
        memcpy(&bits, x + i * LANES, sizeof(bits));
        const i64_half size = bits & INT64_MAX;
        const i64_half good = size < INFINITE64;
        const f64_half v = (f64_half)((bits & good) | ((i64_half)shift & ~good));
        const i64_half lower = v<least, higher = v> most;
        least = (f64_half)(((i64_half)v & lower) | ((i64_half)least & ~lower));
        most = (f64_half)(((i64_half)v & higher) | ((i64_half)most & ~higher));
        finite -= good;
        zeros -= size == 0;
        nans -= size > INFINITE64;
        small -= size < (i64_half)least_normal;
        const f64_half a = v - shift;
        sum += a;
        squares += a * a;
    }
    for (unsigned i = 0; i < LANES / 2; i++)
        out[i] = (struct lane){sum[i],    squares[i], least[i], most[i],
                               finite[i], zeros[i],   nans[i],  small[i]};
}

TARGET static void of_64(const double *x, size_t count, double tiny,
                         struct stat_sums *out, uint32_t *bins)
{
    const double first = middle_64(x, count);
    const size_t rows = (count + LANES - 1) / LANES;
    struct lanes l;
    half_64(x, rows, first, tiny, l.lane);
    half_64(x + LANES / 2, rows, first, tiny, l.lane + LANES / 2);
    finish(&l, count, first, out);
    for (size_t i = 0; i < count; i++) {
        uint64_t bits;
        memcpy(&bits, x + i, sizeof(bits));
        bins[(i & 1) << STAT_BITS | bits >> (64 - STAT_BITS)]++;
    }
}

const struct stat_kernels KERNELS = {of_32, of_64};

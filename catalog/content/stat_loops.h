/*
 * stat_loops.h - the kernels, compiled for one target: VECTOR is the number of bytes of its
 * registers, TARGET the attributes of every function, KERNELS the table to define. stat_width.h
 * has what is compiled for float and for double.
 *
 * To lose little where values are large and similar, sums are of the differences from one of the
 * values: the middle one of three, which is not an outlier. That value also replaces NaN and
 * infinities, which then add nothing.
 */
#include <math.h>
#include <string.h>

#include "catalog/content/stat_kernels.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#    error "elements are read as little-endian words"
#endif

#ifdef __clang__
#    pragma clang fp contract(off) /* results must agree to the bit: no fused a * b + c */
#endif

#define LANES 16

typedef float float_v __attribute__((vector_size(VECTOR)));
typedef double double_v __attribute__((vector_size(VECTOR)));
typedef int32_t int32_v __attribute__((vector_size(VECTOR)));
typedef int64_t int64_v __attribute__((vector_size(VECTOR)));
typedef uint8_t uint8_v __attribute__((vector_size(VECTOR)));
typedef uint16_t uint16_v __attribute__((vector_size(VECTOR)));
typedef uint32_t uint32_v __attribute__((vector_size(VECTOR)));
/* With as many elements as a vector of doubles has. */
typedef float float_half __attribute__((vector_size(VECTOR / 2)));
typedef int32_t int32_half __attribute__((vector_size(VECTOR / 2)));

/* The results of a block, by lane. */
struct lanes {
    double shifted[LANES], squares[LANES];
    double least, most;
    /* Bits without the sign: 0 is a zero, and NaNs are largest */
    int64_t smallest, largest;
};

/* Counts of the kinds of numbers, which the loop over normal numbers does not tell apart. */
struct census {
    uint64_t finite, zeros, nans, small; /* small: zeros, too */
};

TARGET static void finish(const struct lanes *lanes, const struct census *seen, size_t count,
                          double first, struct stat_sums *out)
{
    double shifted = 0, squares = 0;
    for (unsigned i = 0; i < LANES; i++) {
        shifted += lanes->shifted[i];
        squares += lanes->squares[i];
    }
    const double mean = shifted / (double)seen->finite;
    /* Of float64 beyond 1e154 both overflow: whoever called sees it, and scales. */
    const double spread = isinf(squares) ? squares : squares - shifted * mean;
    *out = (struct stat_sums){.finite = seen->finite,
                              .zeros = seen->zeros,
                              .nans = seen->nans,
                              .infs = count - seen->finite - seen->nans,
                              .subnormals = seen->small - seen->zeros,
                              .least = lanes->least + 0.0,
                              .most = lanes->most + 0.0,
                              .mean = first + mean,
                              .spread = spread > 0 ? spread : 0};
}

TARGET static double middle(double a, double b, double c)
{
    return (a < b) == (b < c) ? b : (b < a) == (a < c) ? a : c;
}

/* --- cells ---------------------------------------------------------------------------------- */

/* One by one, in four tables in turn, so that no count has to wait for the one before it. */
TARGET static void count_cells_singly(const uint8_t *cells, size_t count, struct stat_grid *grid)
{
    uint32_t tables[4][STAT_CELLS] = {{0}};
    size_t i = 0;
    for (; i + 4 <= count; i += 4)
        for (unsigned k = 0; k < 4; k++)
            tables[k][cells[i + k]]++;
    for (; i < count; i++)
        tables[0][cells[i]]++;
    for (unsigned c = 0; c < STAT_CELLS; c++)
        grid->counts[c] += (uint64_t)tables[0][c] + tables[1][c] + tables[2][c] + tables[3][c];
}

#if VECTOR > 16

/* Counts eight cells at once: a table of 16 bytes turns a cell into its bit of a byte, and full
 * adders add the bits at each place of 16 vectors, so that the byte counters are increased only
 * once per 16 vectors.
 *
 *   cells 8 to 15        9 -> 0x02   12 -> 0x10   3 -> 0   31 -> 0
 *   full adder of a, b, c   sum a ^ b ^ c, carry: the majority of a, b, c */
#    define TALLIED 8   /* cells at once: their counters fit into registers */
#    define ADDED   16  /* vectors for each carry of sixteens */
#    define RUN     128 /* vectors that a counter of 8 bits can count */

#    if VECTOR == 64
#        define LOOK_UP(table, at) (uint8_v) _mm512_shuffle_epi8((__m512i)(table), (__m512i)(at))
#        define XOR3(a, b, c)                                                                      \
            (uint8_v) _mm512_ternarylogic_epi32((__m512i)(a), (__m512i)(b), (__m512i)(c), 0x96)
#        define MAJORITY(a, b, c)                                                                  \
            (uint8_v) _mm512_ternarylogic_epi32((__m512i)(a), (__m512i)(b), (__m512i)(c), 0xE8)
#        define COUNT_BIT(counts, bits, bit)                                                       \
            (uint8_v) _mm512_mask_sub_epi8((__m512i)(counts),                                      \
                                           _mm512_test_epi8_mask((__m512i)(bits), (__m512i)(bit)), \
                                           (__m512i)(counts), _mm512_set1_epi8(-1))
#    else
#        define LOOK_UP(table, at)           (uint8_v) _mm256_shuffle_epi8((__m256i)(table), (__m256i)(at))
#        define XOR3(a, b, c)                ((a) ^ (b) ^ (c))
#        define MAJORITY(a, b, c)            (((a) & (b)) | (((a) ^ (b)) & (c)))
#        define COUNT_BIT(counts, bits, bit) ((counts) - (uint8_v)(((bits) & (bit)) == (bit)))
#    endif

/* Add two vectors of bits to a sum; returns the carry. */
TARGET static inline uint8_v add_bits(uint8_v *sums, uint8_v a, uint8_v b)
{
    const uint8_v carried = MAJORITY(*sums, a, b);
    *sums = XOR3(*sums, a, b);
    return carried;
}

/* The count, modulo 16, of each of eight cells at each place of a vector. */
struct adder {
    uint8_v table;
    uint8_t flip; /* 0: for the lower 16 cells, 16: for the others */
    uint8_v ones, twos, fours, eights;
};

/* Indexes with the highest bit set give 0. */
TARGET static inline uint8_v bits_of(const struct adder *s, const uint8_t *cells)
{
    uint8_v v;
    memcpy(&v, cells, sizeof(v));
    return LOOK_UP(s->table, (v ^ s->flip) + 0x70);
}

/* Add this many vectors of cells; return the carry. */
TARGET static inline uint8_v add_2(struct adder *s, const uint8_t *cells)
{
    return add_bits(&s->ones, bits_of(s, cells), bits_of(s, cells + VECTOR));
}

TARGET static inline uint8_v add_4(struct adder *s, const uint8_t *cells)
{
    const uint8_v carried = add_2(s, cells);
    return add_bits(&s->twos, carried, add_2(s, cells + (size_t)2 * VECTOR));
}

TARGET static inline uint8_v add_8(struct adder *s, const uint8_t *cells)
{
    const uint8_v carried = add_4(s, cells);
    return add_bits(&s->fours, carried, add_4(s, cells + (size_t)4 * VECTOR));
}

TARGET static inline uint8_v add_16(struct adder *s, const uint8_t *cells)
{
    const uint8_v carried = add_8(s, cells);
    return add_bits(&s->eights, carried, add_8(s, cells + (size_t)8 * VECTOR));
}

TARGET static inline uint64_t total(uint8_v counts)
{
    const uint16_v of_two = ((uint16_v)counts & 0xFF) + ((uint16_v)counts >> 8);
    const uint32_v of_four = ((uint32_v)of_two & 0xFFFF) + ((uint32_v)of_two >> 16);
    uint32_t all = 0;
    for (unsigned i = 0; i < VECTOR / sizeof(all); i++)
        all += of_four[i];
    return all;
}

/* Count TALLIED cells, from `from` on, in up to RUN vectors of cells, a multiple of ADDED. */
TARGET static void tally_cells(const uint8_t *cells, size_t vectors, unsigned from, uint64_t *out)
{
    uint8_v counts[TALLIED] = {{0}}, bit[TALLIED];
    struct adder s = {.flip = from & 16};
    for (unsigned i = 0; i < VECTOR; i++)
        s.table[i] = i % 16 / TALLIED == from % 16 / TALLIED ? (uint8_t)(1 << i % TALLIED) : 0;
    for (unsigned i = 0; i < TALLIED; i++)
        bit[i] = (uint8_v){0} + (uint8_t)(1 << i);
    for (size_t at = 0; at < vectors; at += ADDED) {
        const uint8_v carried = add_16(&s, cells + at * VECTOR);
#    pragma GCC unroll 8
        for (unsigned i = 0; i < TALLIED; i++)
            counts[i] = COUNT_BIT(counts[i], carried, bit[i]);
    }
    const uint8_v rest[] = {s.eights, s.fours, s.twos, s.ones};
    for (unsigned i = 0; i < TALLIED; i++) {
        for (unsigned k = 0; k < 4; k++)
            counts[i] = COUNT_BIT(counts[i] + counts[i], rest[k], bit[i]);
        out[i] += total(counts[i]);
    }
}

TARGET static void count_cells(const uint8_t *cells, size_t count, struct stat_grid *grid)
{
    const size_t vectors = count / VECTOR / ADDED * ADDED;
    for (size_t run = 0; run < vectors; run += RUN)
        for (unsigned from = 0; from < STAT_CELLS; from += TALLIED)
            tally_cells(cells + run * VECTOR, vectors - run < RUN ? vectors - run : RUN, from,
                        grid->counts + from);
    count_cells_singly(cells + vectors * VECTOR, count - vectors * VECTOR, grid);
}

#else
TARGET static void count_cells(const uint8_t *cells, size_t count, struct stat_grid *grid)
{
    count_cells_singly(cells, count, grid);
}
#endif

/* --- float and double ----------------------------------------------------------------------- */

#if VECTOR == 64
#    define WIDEN(v)             (double_v) _mm512_cvtps_pd((__m256)(v))
#    define LESSER_FLOAT(a, b)   (float_v) _mm512_min_ps((__m512)(a), (__m512)(b))
#    define GREATER_FLOAT(a, b)  (float_v) _mm512_max_ps((__m512)(a), (__m512)(b))
#    define LESSER_INT32(a, b)   (int32_v) _mm512_min_epi32((__m512i)(a), (__m512i)(b))
#    define GREATER_INT32(a, b)  (int32_v) _mm512_max_epi32((__m512i)(a), (__m512i)(b))
#    define LESSER_DOUBLE(a, b)  (double_v) _mm512_min_pd((__m512d)(a), (__m512d)(b))
#    define GREATER_DOUBLE(a, b) (double_v) _mm512_max_pd((__m512d)(a), (__m512d)(b))
#    define LESSER_INT64(a, b)   (int64_v) _mm512_min_epi64((__m512i)(a), (__m512i)(b))
#    define GREATER_INT64(a, b)  (int64_v) _mm512_max_epi64((__m512i)(a), (__m512i)(b))
#else
#    define CHOOSE(type, codes, a, b, which)                                                       \
        (type)(((codes)(a) & (which)) | ((codes)(b) & ~(which)))
#    define LESSER_INT64(a, b)  CHOOSE(int64_v, int64_v, a, b, (a) < (b))
#    define GREATER_INT64(a, b) CHOOSE(int64_v, int64_v, a, b, (a) > (b))
#    if VECTOR == 32
#        define WIDEN(v)             (double_v) _mm256_cvtps_pd((__m128)(v))
#        define LESSER_FLOAT(a, b)   (float_v) _mm256_min_ps((__m256)(a), (__m256)(b))
#        define GREATER_FLOAT(a, b)  (float_v) _mm256_max_ps((__m256)(a), (__m256)(b))
#        define LESSER_INT32(a, b)   (int32_v) _mm256_min_epi32((__m256i)(a), (__m256i)(b))
#        define GREATER_INT32(a, b)  (int32_v) _mm256_max_epi32((__m256i)(a), (__m256i)(b))
#        define LESSER_DOUBLE(a, b)  (double_v) _mm256_min_pd((__m256d)(a), (__m256d)(b))
#        define GREATER_DOUBLE(a, b) (double_v) _mm256_max_pd((__m256d)(a), (__m256d)(b))
#    else
#        define WIDEN(v)             __builtin_convertvector(v, double_v)
#        define LESSER_FLOAT(a, b)   CHOOSE(float_v, int32_v, a, b, (a) < (b))
#        define GREATER_FLOAT(a, b)  CHOOSE(float_v, int32_v, a, b, (a) > (b))
#        define LESSER_INT32(a, b)   CHOOSE(int32_v, int32_v, a, b, (a) < (b))
#        define GREATER_INT32(a, b)  CHOOSE(int32_v, int32_v, a, b, (a) > (b))
#        define LESSER_DOUBLE(a, b)  CHOOSE(double_v, int64_v, a, b, (a) < (b))
#        define GREATER_DOUBLE(a, b) CHOOSE(double_v, int64_v, a, b, (a) > (b))
#    endif
#endif

#define OF(name)          name##_32
#define NUMBER            float
#define CODE              int32_t
#define INFINITE          INT32_C(0x7F800000)
#define SIZE              INT32_MAX
#define NUMBERS           float_v
#define CODES             int32_v
#define WIDENED           float_half
#define DOUBLES(v)        WIDEN(v)
#define CELLS             int32_v
#define LESSER(a, b)      LESSER_FLOAT(a, b)
#define GREATER(a, b)     GREATER_FLOAT(a, b)
#define LESSER_CODE(a, b) LESSER_INT32(a, b)
#define MORE_CODE(a, b)   GREATER_INT32(a, b)
#include "catalog/content/stat_width.h"

#define OF(name)          name##_64
#define NUMBER            double
#define CODE              int64_t
#define INFINITE          INT64_C(0x7FF0000000000000)
#define SIZE              INT64_MAX
#define NUMBERS           double_v
#define CODES             int64_v
#define WIDENED           double_v
#define DOUBLES(v)        (v)
#define CELLS             int32_half
#define LESSER(a, b)      LESSER_DOUBLE(a, b)
#define GREATER(a, b)     GREATER_DOUBLE(a, b)
#define LESSER_CODE(a, b) LESSER_INT64(a, b)
#define MORE_CODE(a, b)   GREATER_INT64(a, b)
#include "catalog/content/stat_width.h"

const struct stat_kernels KERNELS = {of_32, of_64};

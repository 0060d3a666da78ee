/* Distances of tensors: against sums of long doubles, from memory and from files, on one thread and on
 * several, and kernels against each other to the bit. */
#include <math.h>

#include "catalog/content/compare.h"
#include "catalog/data/convert/convert.h"
#include "catalog/data/kernel/compare_sums.h"
#include "catalog/data/kernel/cpu.h"
#include "tests/unit/unit.h"

#define PIECE 32768        /* elements that one thread compares */
#define ROUND (64 * PIECE) /* elements between two calls of the watch */

/* --- kernels -------------------------------------------------------------------------------- */

#define KINDS 8

/* Of kind 0: near each other; 1: any bits; 2: huge; 3: subnormal; 4: some NaN and infinities; 5: equal;
 * 6: zeros but for one; 7: alike but in what squares of float64 do not hold. */
static double any_double(unsigned kind, size_t i, bool second)
{
    const uint64_t bits = random_below(UINT64_MAX);
    const double part = (double)(bits >> 11) / 0x1p52 - 1;
    double x;
    memcpy(&x, &bits, sizeof(x));
    switch (kind) {
    case 0: return (double)(i % 7) + part / 1000;
    case 1: return x;
    case 2: return part * 0x1p1023;
    case 3: return part * 0x1p-1040;
    case 4:
        return bits % 16 == 0 ? NAN : bits % 16 == 1 ? INFINITY : bits % 16 == 2 ? -INFINITY : part;
    case 5: return i % 5 ? (double)i : INFINITY;
    case 6: return i == 3 ? part : 0;
    default: return i % 9 ? 1 : second ? 3e-300 : 1e-300;
    }
}

static void fill_block(struct compare_block *block, unsigned kind, size_t count)
{
    memset(block, 0, sizeof(*block));
    block->count = count;
    for (size_t i = 0; i < count; i++) {
        block->a[i] = any_double(kind, i, false);
        block->b[i] = any_double(kind, i, true);
    }
}

static void assert_kernels(const struct compare_kernels *k, const struct compare_block *from)
{
    struct compare_block want_block = *from, have_block = *from;
    struct compare_extremes want, have;
    const double factors[3] = {0x1p-700, 0x1p700, 1};
    struct compare_products want_sums, have_sums;
    memset(&want, 0, sizeof(want));
    memset(&have, 0, sizeof(have));
    compare_plain.distances(&want_block, &want);
    k->distances(&have_block, &have);
    assert_int_equal(have.nans, want.nans);
    if (want.nans)
        return;
    assert_memory_equal(&have_block, &want_block, sizeof(want_block));
    assert_true(have.a == want.a && have.b == want.b && have.d == want.d);
    assert_int_equal(have.unequal, want.unequal);
    compare_plain.sums(&want_block, factors, &want_sums);
    k->sums(&have_block, factors, &have_sums);
    if (isnan(want_sums.ab)) /* whose sign is no number's */
        assert_true(isnan(have_sums.ab)), have_sums.ab = want_sums.ab;
    assert_memory_equal(&have_sums, &want_sums, sizeof(want_sums));
}

TEST(test_kernels)
{
    static const size_t counts[] = {1, 2, 7, 8, 9, 15, 16, 17, 511, 1016, 1017, 1023, 1024};
    struct compare_block block;
    for (unsigned kind = 0; kind < KINDS; kind++)
        for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++) {
            fill_block(&block, kind, counts[i]);
#ifdef __x86_64__
            if (CPU_HAS(AVX2))
                assert_kernels(&compare_avx2, &block);
            if (CPU_HAS(AVX512F) && CPU_HAS(AVX512BW) && CPU_HAS(AVX512DQ) && CPU_HAS(AVX512VL))
                assert_kernels(&compare_avx512, &block);
#endif
        }
}

/* --- tensors -------------------------------------------------------------------------------- */

struct sample {
    struct stored_tensor t;
    struct extent extent;
    struct stored_file file;
    uint64_t shape[1];
    uint8_t *bytes;
};

/* The tensor's bytes are in memory, and are read on one thread. */
static void sample_in_memory(struct sample *s, const char *dtype, uint64_t elements)
{
    *s = (struct sample){.shape = {elements}};
    s->t = (struct stored_tensor){.id = 1,
                                  .checkpoint = "sample",
                                  .name = "t",
                                  .rank = 1,
                                  .shape = s->shape,
                                  .elements = elements,
                                  .storage = STORAGE_INLINE,
                                  .extents = &s->extent,
                                  .extent_count = 1};
    dtype_find(dtype, &s->t.dtype);
    assert_true(dtype_nbytes(&s->t.dtype, elements, &s->t.nbytes));
    s->bytes = calloc(1, (size_t)s->t.nbytes + 1);
    assert_non_null(s->bytes);
    s->extent = (struct extent){.file = NO_FILE, .stored = s->t.nbytes, .bytes = s->bytes};
}

/* The same tensor in a file, behind some bytes, where several threads read it. */
static void sample_in_file(struct sample *s, const char *path, struct sample *out)
{
    write_file(path, "before it", 9);
    append_file(path, s->bytes, (size_t)s->t.nbytes);
    *out = *s;
    out->file = file_now(path);
    out->extent = (struct extent){.file = 0, .offset = 9, .stored = s->t.nbytes};
    out->t.storage = STORAGE_RANGE;
    out->t.shape = out->shape;
    out->t.extents = &out->extent;
    out->t.files = &out->file;
    out->t.file_count = 1;
}

/* Bits of any kind; of floats, more often numbers that can be compared. */
static void fill_sample(struct sample *s, const struct sample *like)
{
    const unsigned width = s->t.dtype.bits / 8;
    const bool tame = random_below(2);
    for (uint64_t i = 0; i < s->t.nbytes; i++)
        s->bytes[i] = (uint8_t)random_below(256);
    if (s->t.dtype.kind == DTYPE_FLOAT && width && tame) /* no exponent of NaN */
        for (uint64_t i = width - 1; i < s->t.nbytes; i += width)
            s->bytes[i] &= 0xBF;
    if (like && s->t.dtype.bits == like->t.dtype.bits) /* most are equal */
        for (uint64_t i = 0; i < s->t.nbytes; i++)
            if (random_below(100))
                s->bytes[i] = like->bytes[i];
}

static long double number_at(const struct sample *s, uint64_t i)
{
    struct element e = {0};
    switch (element_get(&s->t.dtype, s->bytes, i, &e)) {
    case ELEMENT_INTEGER: return e.integer;
    case ELEMENT_LARGE: return e.large;
    default: return e.real;
    }
}

/* Code simple enough to be right: long doubles hold the squares of doubles, and 64-bit integers. */
static void expect(const struct sample *a, const struct sample *b, struct comparison *out)
{
    const bool integers = dtype_is_integer(&a->t.dtype) && dtype_is_integer(&b->t.dtype);
    long double aa = 0, bb = 0, ab = 0, dd = 0;
    *out = (struct comparison){0};
    for (uint64_t i = 0; i < a->t.elements; i++) {
        long double x = number_at(a, i), y = number_at(b, i);
        if (!integers) {
            x = (double)x;
            y = (double)y;
        }
        out->nans += isnan(x) != isnan(y);
        out->unequal += isnan(x) && isnan(y) ? 0 : x != y;
        if (isnan(x) || isnan(y))
            continue;
        const double d = x == y ? 0 : integers ? (double)(y - x) : (double)y - (double)x;
        out->max_abs = fmax(out->max_abs, fabs(d));
        aa += (long double)(double)x * (double)x;
        bb += (long double)(double)y * (double)y;
        ab += (long double)(double)x * (double)y;
        dd += (long double)d * d;
    }
    out->rel_l2 = dd == 0 ? 0 : (double)(sqrtl(dd) / sqrtl(aa));
    out->cosine = (double)(ab / (sqrtl(aa) * sqrtl(bb)));
}

static void assert_near(double have, double want, double least)
{
    if (isnan(want))
        assert_true(isnan(have));
    else if (isinf(want))
        assert_true(have == want);
    else
        assert_true(fabs(have - want) <= 1e-12 * fabs(want) + least);
}

static void assert_like(const struct comparison *have, const struct comparison *want)
{
    assert_int_equal(have->unequal, want->unequal);
    assert_int_equal(have->nans, want->nans);
    assert_true(have->max_abs == want->max_abs);
    assert_near(have->rel_l2, want->rel_l2, 1e-323);
    assert_near(have->cosine, want->cosine, 1e-12);
}

struct watching {
    uint64_t bytes, calls, stops_at;
};

static enum status count_read(void *context, uint64_t bytes, struct error *err)
{
    struct watching *w = context;
    w->bytes += bytes;
    return ++w->calls == w->stops_at
               ? error_set(err, ERR_INTERRUPTED, NULL, NO_OFFSET, "interrupted")
               : OK;
}

/* Compare in all possible ways, which must agree to the bit. */
static void compare_all(struct sample *a, struct sample *b, struct comparison *out)
{
    struct sample file_a, file_b;
    struct error err = {.offset = NO_OFFSET};
    memset(out, 0, sizeof(*out));
    assert_int_equal(tensor_compare(&a->t, NULL, &b->t, NULL, out, &err), OK);
    sample_in_file(a, "a", &file_a);
    sample_in_file(b, "b", &file_b);
    for (unsigned way = 0; way < 4; way++) {
        struct comparison have;
        struct watching seen = {0};
        const struct compare_watch watch = {&seen, count_read, way == 3 ? 0 : 2 * way + 1};
        compare_scalar_only = converter_scalar_only = way & 1;
        assert_int_equal(
            tensor_compare(&file_a.t, NULL, way & 2 ? &b->t : &file_b.t, &watch, &have, &err), OK);
        assert_true(have.max_abs == out->max_abs && have.unequal == out->unequal &&
                    have.nans == out->nans);
        assert_true(have.rel_l2 == out->rel_l2 || isnan(out->rel_l2));
        assert_true(have.cosine == out->cosine || isnan(out->cosine));
        assert_int_equal(isnan(have.rel_l2) + isnan(have.cosine),
                         isnan(out->rel_l2) + isnan(out->cosine));
    }
    compare_scalar_only = converter_scalar_only = false;
}

static void compare_samples(const char *dtype_a, const char *dtype_b, uint64_t elements)
{
    struct sample a, b;
    struct comparison have, want;
    sample_in_memory(&a, dtype_a, elements);
    sample_in_memory(&b, dtype_b, elements);
    fill_sample(&a, NULL);
    fill_sample(&b, random_below(2) ? &a : NULL);
    expect(&a, &b, &want);
    compare_all(&a, &b, &have);
    assert_like(&have, &want);
    free(a.bytes);
    free(b.bytes);
}

TEST(test_dtypes)
{
    static const char *const dtypes[] = {
        "float64",       "float32", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2",
        "float4_e2m1fn", "bool",    "int8",    "uint8",    "int16",         "uint16",
        "int32",         "uint32",  "int64",   "uint64",   "int4",          "uint4"};
    static const uint64_t sizes[] = {0, 1, 2, 7, 8, 9, 100, 1023, 1024, 1025, 2047, 3000};
    const size_t count = sizeof(dtypes) / sizeof(*dtypes);
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < count; k++)
            for (unsigned again = 0; again < 2; again++)
                compare_samples(dtypes[i], dtypes[k],
                                sizes[random_below(sizeof(sizes) / sizeof(*sizes))]);
    compare_samples("qint8", "int32", 3000); /* as they are stored */
    compare_samples("uint64", "quint8", 3000);
}

/* Where pieces and rounds begin and end, and files of 64 KiB and 1 MiB. */
TEST(test_sizes)
{
    static const uint64_t sizes[] = {8192,  16384,     65536,     131072,   262144,
                                     PIECE, 2 * PIECE, 3 * PIECE, 1U << 20, ROUND};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
        for (int64_t more = -1; more <= 1; more++) {
            compare_samples("float32", "bfloat16", sizes[i] + (uint64_t)more);
            compare_samples("int4", "uint64", sizes[i] + (uint64_t)more);
        }
}

/* Numbers of one tensor are as far apart as float64 allows, in blocks of their own or in one. */
TEST(test_powers)
{
    static const double numbers[] = {0, 5e-324,  1e-200, 0x1p-400, 1e-100,
                                     1, 0x1p400, 1e200,  1e300,    INFINITY};
    const size_t count = sizeof(numbers) / sizeof(*numbers);
    const uint64_t elements = PIECE + 5000;
    for (unsigned round = 0; round < 200; round++) {
        struct sample a, b;
        struct comparison have, want;
        const uint64_t run = random_below(2) ? 1 : 1 + random_below(3 * COMPARE_BLOCK);
        sample_in_memory(&a, "float64", elements);
        sample_in_memory(&b, "float64", elements);
        double x = 0, y = 0;
        for (uint64_t i = 0; i < elements; i++) {
            if (i % run == 0) {
                x = numbers[random_below(count - (random_below(50) != 0))];
                y = random_below(3) ? x : random_below(2) ? -x : x * 1.5;
            }
            memcpy(a.bytes + i * sizeof(x), &x, sizeof(x));
            memcpy(b.bytes + i * sizeof(y), &y, sizeof(y));
        }
        expect(&a, &b, &want);
        compare_all(&a, &b, &have);
        assert_like(&have, &want);
        free(a.bytes);
        free(b.bytes);
    }
}

/* --- casts, failures, and watches ----------------------------------------------------------- */

TEST(test_watch)
{
    struct sample a, b, file_a, file_b;
    struct error err = {.offset = NO_OFFSET};
    struct comparison out;
    struct watching seen = {0};
    const struct compare_watch watch = {&seen, count_read, 3};
    sample_in_memory(&a, "int8", 2 * ROUND + 1);
    sample_in_memory(&b, "int4", 2 * ROUND + 1);
    sample_in_file(&a, "a", &file_a);
    sample_in_file(&b, "b", &file_b);
    assert_int_equal(tensor_compare(&file_a.t, NULL, &file_b.t, &watch, &out, &err), OK);
    assert_int_equal(seen.bytes, a.t.nbytes + b.t.nbytes);
    assert_int_equal(seen.calls, 3);
    seen = (struct watching){.stops_at = 2};
    assert_int_equal(tensor_compare(&file_a.t, NULL, &file_b.t, &watch, &out, &err),
                     ERR_INTERRUPTED);
    assert_int_equal(seen.calls, 2);
    free(a.bytes);
    free(b.bytes);
}

/* A cast's losses are counted in all pieces; of elements that do not fit, the first one is reported, whichever
 * thread finds one first. */
TEST(test_casts)
{
    const uint64_t elements = 5 * PIECE + 3;
    struct sample a, b, file;
    struct comparison out;
    struct dtype as;
    sample_in_memory(&a, "float32", elements);
    sample_in_memory(&b, "float16", elements);
    for (uint64_t i = 0; i < elements; i += PIECE) {
        const float lost[] = {1e9F, 1e-30F, 0.5F};
        memcpy(a.bytes + i * sizeof(float), lost,
               sizeof(float) * (elements - i < 3 ? (size_t)(elements - i) : 3));
    }
    sample_in_file(&a, "a", &file);
    struct error err = {.offset = NO_OFFSET};
    dtype_find("float16", &as);
    assert_int_equal(tensor_compare(&file.t, &as, &b.t, NULL, &out, &err), OK);
    assert_int_equal(out.lost.out_of_range, 6);
    assert_int_equal(out.lost.to_zero, 6);
    assert_int_equal(out.lost.to_nan, 0);
    assert_int_equal(out.unequal, 12);
    free(a.bytes);

    sample_in_memory(&a, "int16", elements);
    dtype_find("int8", &as);
    for (unsigned round = 0; round < 50; round++) {
        char place[32];
        const uint64_t first = random_below(elements);
        memset(a.bytes, 0, (size_t)a.t.nbytes);
        for (uint64_t i = first; i < elements; i += 1 + random_below(PIECE))
            store_u16le(a.bytes + i * 2, 300);
        sample_in_file(&a, "a", &file);
        struct sample file_b;
        sample_in_file(&b, "b", &file_b);
        error_clear(&err);
        assert_int_equal(tensor_compare(&file.t, &as, &file_b.t, NULL, &out, &err), ERR_VALUE);
        snprintf(place, sizeof(place), "element %llu: 300 ", (unsigned long long)first);
        assert_non_null(strstr(err.message, place));
    }
    free(a.bytes);
    free(b.bytes);
}

/* A file that changed or vanished since it was indexed is not read as zeros. */
TEST(test_changed)
{
    struct sample a, b, file_a, file_b;
    struct comparison out;
    sample_in_memory(&a, "uint8", 3 * PIECE);
    sample_in_memory(&b, "uint8", 3 * PIECE);
    sample_in_file(&a, "a", &file_a);
    for (unsigned way = 0; way < 4; way++) {
        struct error err = {.offset = NO_OFFSET};
        sample_in_file(&b, "b", &file_b);
        if (way == 0)
            append_file("b", "x", 1);
        else if (way == 1)
            write_file("b", "short", 5);
        else if (way == 2)
            assert_int_equal(remove("b"), 0);
        else
            file_b.t.elements = file_b.t.nbytes = 1, file_b.t.rank = 0;
        assert_int_equal(tensor_compare(&file_a.t, NULL, &file_b.t, NULL, &out, &err),
                         way < 3 ? ERR_CHANGED : ERR_ARGUMENT);
    }
    free(a.bytes);
    free(b.bytes);
}

/* If tensors differ only in their number of rows, the rows that both have are compared. */
TEST(test_rows)
{
    struct sample a, b, file_a, file_b;
    struct comparison out;
    struct error err = {.offset = NO_OFFSET};
    sample_in_memory(&a, "uint8", 3 * PIECE);
    sample_in_memory(&b, "uint8", 3 * PIECE - 1);
    memset(a.bytes, 1, 3 * PIECE);
    memset(b.bytes, 1, 3 * PIECE - 1);
    a.bytes[3 * PIECE - 2] = 2; /* the last row that both have */
    a.bytes[3 * PIECE - 1] = 2;
    sample_in_file(&a, "a", &file_a);
    sample_in_file(&b, "b", &file_b);
    assert_int_equal(tensor_compare(&file_a.t, NULL, &file_b.t, NULL, &out, &err), OK);
    assert_int_equal(out.rows, 3 * PIECE - 1);
    assert_int_equal(out.unequal, 1);
    assert_int_equal(tensor_compare(&file_b.t, NULL, &file_a.t, NULL, &out, &err), OK);
    assert_int_equal(out.rows, 3 * PIECE - 1);
    assert_int_equal(out.unequal, 1);
    free(a.bytes);
    free(b.bytes);
}

TEST(test_refused)
{
    static const char *const pairs[][2] = {{"complex64", "float32"},
                                           {"float32", "void32"},
                                           {"qint8", "float32"},
                                           {"float32", "quint8"},
                                           {"datetime64[s]", "int64"}};
    for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++) {
        struct sample a, b;
        struct error err = {.offset = NO_OFFSET};
        struct comparison out;
        sample_in_memory(&a, pairs[i][0], 8);
        sample_in_memory(&b, pairs[i][1], 8);
        assert_int_equal(tensor_compare(&a.t, NULL, &b.t, NULL, &out, &err), ERR_UNSUPPORTED);
        free(a.bytes);
        free(b.bytes);
    }
}

RUN_TESTS(enter_folder, leave_folder)

#include "catalog/content/compare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "catalog/base/bits.h"
#include "catalog/read/tensor_stream.h"

/* Squares of float64 overflow above 1e154, and underflow: so numbers are multiplied by a power of two
 * before they are squared, and a number that is too large for it makes the power smaller. */
#define FACTOR_FIRST 1000 /* subnormal numbers are far from underflow */
#define FACTOR_ROOM  0x1p300

struct factor {
    double times;
    int power; /* times = 2^power */
};

/* What is compared. */
enum compare_way {
    COMPARE_FLOATS,
    COMPARE_SMALL, /* integers that float64 holds: of up to 32 bits */
    COMPARE_LARGE, /* integers of which one has 64 bits */
};

struct sums {
    enum compare_way way;
    double aa, bb, ab, dd; /* each of numbers multiplied by their factors */
    struct factor a, b, d;
    struct comparison *out;
};

/* A stream, and the rest of its current block of numbers. */
struct feed {
    struct tensor_stream *stream;
    struct bytes block;
    const struct stored_tensor *tensor;
    const struct compare_watch *watch;
    struct cast *cast; /* NULL: the stream gives the numbers to compare */
};

/* Converts what the stream gives to the dtype asked for, then to that of the comparison. */
struct cast {
    struct converter narrow, widen;
    /* `narrow` is done here, to count what it loses; otherwise the stream does it. */
    bool counts;
    uint64_t elements, done; /* of the tensor */
    void *narrowed, *widened;
    uint64_t room; /* elements, in both */
    struct loss *lost;
};

static void cast_release(struct cast *c)
{
    free(c->narrowed);
    free(c->widened);
}

static enum status cast_room(struct cast *c, uint64_t count, struct error *err)
{
    if (count <= c->room)
        return OK;
    cast_release(c);
    c->narrowed = malloc((size_t)((count * c->narrow.to.bits + 7) / 8));
    c->widened = malloc((size_t)count * sizeof(uint64_t));
    c->room = c->narrowed && c->widened ? count : 0;
    return c->room ? OK : error_memory(err);
}

static enum status cast_block(struct cast *c, struct bytes *block, struct error *err)
{
    const struct dtype *from = c->counts ? &c->narrow.from : &c->widen.from;
    const uint64_t left = c->elements - c->done, held = block->len * 8 / from->bits;
    /* A block of packed elements may end inside a byte. */
    const uint64_t count = held < left ? held : left;
    const void *numbers = block->at;
    if (cast_room(c, count, err) != OK)
        return err->status;
    if (c->counts) {
        if (converter_run(&c->narrow, numbers, c->narrowed, count, c->done, err) != OK)
            return err->status;
        loss_count(from, numbers, &c->narrow.to, c->narrowed, count, c->lost);
        numbers = c->narrowed;
    }
    converter_run(&c->widen, numbers, c->widened, count, c->done, err);
    c->done += count;
    *block = (struct bytes){c->widened, count * sizeof(uint64_t)};
    return err->status;
}

/* The tensor's bytes that a block came from, before it was cast. */
static uint64_t bytes_of_block(const struct feed *f)
{
    const struct stored_tensor *t = f->tensor;
    const unsigned bits = f->cast && f->cast->counts ? f->cast->narrow.from.bits
                          : f->cast                  ? f->cast->widen.from.bits
                                                     : 64;
    const double elements = (double)f->block.len * 8 / bits;
    return t->elements ? (uint64_t)(elements * (double)t->nbytes / (double)t->elements)
                       : 0;
}

static enum status compare_fill(struct feed *f, struct error *err)
{
    if (f->block.len || tensor_stream_next(f->stream, &f->block, err) != OK)
        return err->status;
    if (f->watch && f->watch->read(f->watch->context, bytes_of_block(f), err) != OK)
        return err->status;
    return f->cast && f->block.len ? cast_block(f->cast, &f->block, err) : OK;
}

/* Take the next number of the block, as its 8 bytes. */
static uint64_t compare_take(struct feed *f)
{
    const uint64_t bits = load_u64le(f->block.at);
    f->block.at += sizeof(bits);
    f->block.len -= sizeof(bits);
    return bits;
}

static double compare_real_of(uint64_t bits)
{
    double x;
    memcpy(&x, &bits, sizeof(x));
    return x;
}

static void rescale(double *sum, double by)
{
    if (!isinf(*sum)) /* times 0 it would be NaN */
        *sum *= by;
}

static bool factor_fits(const struct factor *f, double x)
{
    return fabs(x) * f->times <= FACTOR_ROOM;
}

/* If x is too large for the factor, choose another, for the sum of its squares and (NULL: none) that of
 * its products, too. */
static void factor_lower(struct factor *f, double x, double *squares, double *products)
{
    int power;
    if (factor_fits(f, x) || isinf(x))
        return;
    frexp(x, &power);
    const double change = ldexp(1, -power - f->power);
    *f = (struct factor){ldexp(1, -power), -power};
    rescale(squares, change * change);
    if (products)
        rescale(products, change);
}

static void add_sums(struct sums *s, double a, double b, double d)
{
    s->out->max_abs = fabs(d) > s->out->max_abs ? fabs(d) : s->out->max_abs;
    if (!factor_fits(&s->a, a) || !factor_fits(&s->b, b) || !factor_fits(&s->d, d)) {
        factor_lower(&s->a, a, &s->aa, &s->ab);
        factor_lower(&s->b, b, &s->bb, &s->ab);
        factor_lower(&s->d, d, &s->dd, NULL);
    }
    a *= s->a.times;
    b *= s->b.times;
    d *= s->d.times;
    s->aa += a * a;
    s->bb += b * b;
    s->ab += a * b;
    s->dd += d * d;
}

static void compare_add(struct sums *s, double a, double b)
{
    if (isnan(a) || isnan(b)) {
        s->out->nans += isnan(a) != isnan(b);
        s->out->unequal += isnan(a) != isnan(b);
        return;
    }
    const double d = a == b ? 0 : b - a; /* equal infinities have no distance */
    s->out->unequal += a != b;
    add_sums(s, a, b, d);
}

/* Add two 64-bit integers, which float64 does not always tell apart. A negative one is given by its
 * two's complement. */
static void add_integers(struct sums *s, uint64_t a, bool a_negative, uint64_t b,
                         bool b_negative)
{
    const bool less = a_negative != b_negative ? a_negative : a < b;
    const uint64_t apart = less ? b - a : a - b;
    /* Of different signs, numbers can be 2^64 and more apart. */
    const bool carries = a_negative != b_negative && apart < (less ? b : a);
    s->out->unequal += a != b || a_negative != b_negative;
    add_sums(s, a_negative ? (double)(int64_t)a : (double)a,
             b_negative ? (double)(int64_t)b : (double)b,
             (double)apart + (carries ? 0x1p64 : 0));
}

/* The dtypes to which values are converted: float64, or if both are integers, int64 or uint64 each.
 * Those tell large integers apart, and quantised ones convert to them, as they are stored, but to no
 * float. */
static enum compare_way common_dtypes(const struct dtype *a, const struct dtype *b,
                                      struct dtype *wide_a, struct dtype *wide_b)
{
    const bool integers = dtype_is_integer(a) && dtype_is_integer(b);
    dtype_find(!integers ? "float64" : a->kind == DTYPE_INT ? "int64" : "uint64", wide_a);
    dtype_find(!integers ? "float64" : b->kind == DTYPE_INT ? "int64" : "uint64", wide_b);
    return !integers                        ? COMPARE_FLOATS
           : a->bits == 64 || b->bits == 64 ? COMPARE_LARGE
                                            : COMPARE_SMALL;
}

static void compare_finish(const struct sums *s)
{
    struct comparison *c = s->out;
    c->rel_l2 =
        s->dd == 0 ? 0 : ldexp(sqrt(s->dd) / sqrt(s->aa), s->a.power - s->d.power);
    c->cosine = s->dd == 0 && s->aa > 0 && isfinite(s->aa)
                    ? 1
                    : s->ab / (sqrt(s->aa) * sqrt(s->bb));
    if (fabs(c->cosine) > 1) /* by rounding: acos() would make NaN of it */
        c->cosine = copysign(1, c->cosine);
}

/* Open the stream of `a`, with the casts between it and the comparison. */
static enum status open_cast(const struct stored_tensor *a, const struct dtype *as,
                             const struct dtype *wide, struct cast *c, struct feed *f,
                             struct error *err)
{
    if (!as || strcmp(as->name, a->dtype.name) == 0)
        return tensor_stream_open(a, NULL, NULL, wide, &f->stream, err);
    c->counts = loss_possible(&a->dtype, as);
    c->elements = a->elements;
    f->cast = c;
    if (converter_find(&a->dtype, as, &c->narrow, err) != OK ||
        converter_find(as, wide, &c->widen, err) != OK)
        return err->status;
    return tensor_stream_open(a, NULL, NULL, c->counts ? &a->dtype : as, &f->stream, err);
}

static bool compare_is_negative(const struct dtype *wide, uint64_t bits)
{
    return wide->kind == DTYPE_INT && bits >> 63;
}

static void add_all(struct feed *x, struct feed *y, const struct dtype wide[2],
                    struct sums *s, struct error *err)
{
    while (compare_fill(x, err) == OK && compare_fill(y, err) == OK && x->block.len &&
           y->block.len) {
        const uint64_t a = compare_take(x), b = compare_take(y);
        if (s->way == COMPARE_FLOATS)
            compare_add(s, compare_real_of(a), compare_real_of(b));
        else if (s->way == COMPARE_SMALL)
            compare_add(s, (double)(int64_t)a, (double)(int64_t)b);
        else
            add_integers(s, a, compare_is_negative(&wide[0], a), b,
                         compare_is_negative(&wide[1], b));
    }
}

enum status tensor_compare(const struct stored_tensor *a, const struct dtype *as,
                           const struct stored_tensor *b,
                           const struct compare_watch *watch, struct comparison *out,
                           struct error *err)
{
    const struct factor first = {ldexp(1, FACTOR_FIRST), FACTOR_FIRST};
    struct dtype wide[2];
    struct feed x = {.tensor = a, .watch = watch}, y = {.tensor = b, .watch = watch};
    struct sums s = {.a = first, .b = first, .d = first, .out = out};
    struct cast cast = {.lost = &out->lost};
    *out = (struct comparison){0};
    s.way = common_dtypes(as ? as : &a->dtype, &b->dtype, &wide[0], &wide[1]);
    if (a->elements != b->elements)
        return error_set(err, ERR_ARGUMENT, a->checkpoint, NO_OFFSET,
                         "the tensors differ in their number of elements");
    if (open_cast(a, as, &wide[0], &cast, &x, err) == OK &&
        tensor_stream_open(b, NULL, NULL, &wide[1], &y.stream, err) == OK)
        add_all(&x, &y, wide, &s, err);
    tensor_stream_close(x.stream);
    tensor_stream_close(y.stream);
    cast_release(&cast);
    compare_finish(&s);
    return err->status;
}

#include "catalog/content/compare.h"

#include <math.h>
#include <string.h>

#include "catalog/base/bits.h"
#include "catalog/read/tensor_stream.h"

struct sums {
    double aa, bb, ab, dd;
    struct comparison *out;
};

/* One stream's numbers, as far as they are not used yet. */
struct feed {
    struct tensor_stream *stream;
    struct bytes block;
    const struct compare_watch *watch;
};

static enum status fill(struct feed *f, struct error *err)
{
    if (f->block.len || tensor_stream_next(f->stream, &f->block, err) != OK || !f->watch)
        return err->status;
    return f->watch->read(f->watch->context, f->block.len, err);
}

/* The next number, whose 8 bytes are what the streams give. */
static uint64_t take(struct feed *f)
{
    const uint64_t bits = load_u64le(f->block.at);
    f->block.at += sizeof(bits);
    f->block.len -= sizeof(bits);
    return bits;
}

static double real_of(uint64_t bits)
{
    double x;
    memcpy(&x, &bits, sizeof(x));
    return x;
}

static void add_sums(struct sums *s, double a, double b, double d)
{
    s->out->max_abs = fabs(d) > s->out->max_abs ? fabs(d) : s->out->max_abs;
    s->aa += a * a;
    s->bb += b * b;
    s->ab += a * b;
    s->dd += d * d;
}

static void add(struct sums *s, double a, double b)
{
    if (isnan(a) || isnan(b)) {
        s->out->nans += isnan(a) != isnan(b);
        s->out->unequal += isnan(a) != isnan(b);
        return;
    }
    const double d =
        a == b ? 0 : b - a; /* infinities that are equal are no distance apart */
    s->out->unequal += a != b;
    add_sums(s, a, b, d);
}

/* Integers of 64 bits, not all of which float64 tells apart. */
static void add_integers(struct sums *s, uint64_t a, uint64_t b, bool negative)
{
    const bool less = negative ? (int64_t)a < (int64_t)b : a < b;
    s->out->unequal += a != b;
    add_sums(s, negative ? (double)(int64_t)a : (double)a,
             negative ? (double)(int64_t)b : (double)b, (double)(less ? b - a : a - b));
}

/* What both are compared as: themselves where they are the same integers of 64 bits. */
static void common_dtype(const struct dtype *a, const struct dtype *b, struct dtype *out)
{
    const bool integers = a->kind == DTYPE_INT || a->kind == DTYPE_UINT;
    if (integers && a->bits == 64 && strcmp(a->name, b->name) == 0)
        *out = *a;
    else
        dtype_find("float64", out);
}

static void finish(const struct sums *s)
{
    struct comparison *c = s->out;
    c->rel_l2 = s->dd == 0 ? 0 : sqrt(s->dd) / sqrt(s->aa);
    c->cosine = s->ab / (sqrt(s->aa) * sqrt(s->bb));
}

enum status tensor_compare(const struct stored_tensor *a, const struct stored_tensor *b,
                           const struct compare_watch *watch, struct comparison *out,
                           struct error *err)
{
    struct dtype wide;
    struct feed x = {.watch = watch}, y = {.watch = watch};
    struct sums s = {.out = out};
    *out = (struct comparison){0};
    common_dtype(&a->dtype, &b->dtype, &wide);
    if (a->elements != b->elements)
        return error_set(err, ERR_ARGUMENT, a->checkpoint, NO_OFFSET,
                         "the tensors have not as many elements");
    if (tensor_stream_open(a, NULL, &wide, &x.stream, err) == OK &&
        tensor_stream_open(b, NULL, &wide, &y.stream, err) == OK)
        while (fill(&x, err) == OK && fill(&y, err) == OK && x.block.len && y.block.len) {
            if (wide.kind == DTYPE_FLOAT)
                add(&s, real_of(take(&x)), real_of(take(&y)));
            else
                add_integers(&s, take(&x), take(&y), wide.kind == DTYPE_INT);
        }
    tensor_stream_close(x.stream);
    tensor_stream_close(y.stream);
    finish(&s);
    return err->status;
}

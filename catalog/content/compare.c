#include "catalog/content/compare.h"

#include <math.h>
#include <string.h>

#include "catalog/read/tensor_stream.h"

struct sums {
    double aa, bb, ab, dd;
    struct comparison *out;
};

/* One stream's numbers, as far as they are not used yet. */
struct feed {
    struct tensor_stream *stream;
    struct bytes block;
};

static enum status fill(struct feed *f, struct error *err)
{
    return f->block.len ? OK : tensor_stream_next(f->stream, &f->block, err);
}

static double take(struct feed *f)
{
    double x;
    memcpy(&x, f->block.at, sizeof(x));
    f->block.at += sizeof(x);
    f->block.len -= sizeof(x);
    return x;
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
    s->out->max_abs = fabs(d) > s->out->max_abs ? fabs(d) : s->out->max_abs;
    s->aa += a * a;
    s->bb += b * b;
    s->ab += a * b;
    s->dd += d * d;
}

static void finish(const struct sums *s)
{
    struct comparison *c = s->out;
    c->rel_l2 = s->dd == 0 ? 0 : sqrt(s->dd) / sqrt(s->aa);
    c->cosine = s->ab / (sqrt(s->aa) * sqrt(s->bb));
}

enum status tensor_compare(const struct stored_tensor *a, const struct stored_tensor *b,
                           struct comparison *out, struct error *err)
{
    struct dtype wide;
    struct feed x = {0}, y = {0};
    struct sums s = {.out = out};
    *out = (struct comparison){0};
    dtype_find("float64", &wide);
    if (a->elements != b->elements)
        return error_set(err, ERR_ARGUMENT, a->checkpoint, NO_OFFSET,
                         "the tensors have not as many elements");
    if (tensor_stream_open(a, NULL, &wide, &x.stream, err) == OK &&
        tensor_stream_open(b, NULL, &wide, &y.stream, err) == OK)
        while (fill(&x, err) == OK && fill(&y, err) == OK && x.block.len && y.block.len)
            add(&s, take(&x), take(&y));
    tensor_stream_close(x.stream);
    tensor_stream_close(y.stream);
    finish(&s);
    return err->status;
}

/*
 * merged.c - the reader of a tensor into which adapters are merged (compose/merge_recipe.h).
 *
 * The base is read as it comes; the matrices of the adapters, which are small, are read once, when the
 * first element is wanted, and laid out so that a row of their product is a sum of rows.
 */
#include <math.h>
#include <pthread.h>
#include <stdlib.h>

#include "catalog/data/compose/merge_recipe.h"
#include "catalog/data/convert/convert.h"
#include "catalog/data/kernel/cpu.h"
#include "catalog/data/kernel/product.h"
#include "catalog/data/read/reader.h"
#include "catalog/data/read/tensor_stream.h"

#define MERGED_AT_ONCE 4096 /* elements */

struct open_step {
    float *left, *right; /* rows x terms, terms x columns */
    float *factor;       /* DoRA: for each output; else NULL */
    float scale;
    struct reader *reader; /* of a whole tensor, and how to convert it; else NULL */
    struct converter widen;
};

struct merged {
    const struct stored_tensor *tensor;
    const struct merging *made;
    struct file_cache *files;
    struct reader *base;
    struct converter widen, narrow;
    product_row *product;
    struct open_step *step;
    pthread_mutex_t lock; /* guards `ready` and the loading */
    bool ready;
};

/* Elements as they are worked on. */
struct chunk {
    float value[MERGED_AT_ONCE], base[MERGED_AT_ONCE], delta[MERGED_AT_ONCE];
};

/* --- the adapters' matrices ------------------------------------------------------------------ */

/* All numbers of a small tensor; NULL after an error. */
static float *read_numbers(const struct merged *m, const struct stored_tensor *t, struct error *err)
{
    struct tensor_stream *s = NULL;
    struct bytes block;
    struct dtype single;
    float *all = NULL;
    size_t at = 0;
    dtype_find("float32", &single);
    if (tensor_stream_open(t, m->files, NULL, &single, &s, err) == OK &&
        !(all = calloc((size_t)tensor_stream_nbytes(s) + sizeof(*all), 1)))
        error_memory_at(err, t->checkpoint);
    while (all && tensor_stream_next(s, &block, err) == OK && block.len) {
        memcpy((uint8_t *)all + at, block.at, block.len);
        at += block.len;
    }
    tensor_stream_close(s);
    if (err->status != OK)
        error_prefix(err, t->name);
    return all;
}

/* The transpose of a matrix of these rows and columns, in its place; NULL after an error. */
static float *transposed(float *from, uint64_t rows, uint64_t columns, const char *whose,
                         struct error *err)
{
    float *to = from ? malloc((size_t)(rows * columns) * sizeof(*to) + 1) : NULL;
    for (uint64_t r = 0; to && r < rows; r++)
        for (uint64_t c = 0; c < columns; c++)
            to[c * rows + r] = from[r * columns + c];
    if (from && !to)
        error_memory_at(err, whose);
    free(from);
    return to;
}

static void read_matrices(const struct merged *m, const struct merge_step *s, struct open_step *o,
                          struct error *err)
{
    const struct stored_tensor *left = s->turned ? s->a : s->b, *right = s->turned ? s->b : s->a;
    o->left = read_numbers(m, left, err);
    o->right = err->status == OK ? read_numbers(m, right, err) : NULL;
    if (s->turned && err->status == OK) {
        o->left = transposed(o->left, s->terms, m->made->rows, left->checkpoint, err);
        o->right = transposed(o->right, m->made->columns, s->terms, right->checkpoint, err);
    }
    float *alpha = s->alpha && err->status == OK ? read_numbers(m, s->alpha, err) : NULL;
    if (alpha)
        o->scale = (float)(s->scale * (double)*alpha);
    free(alpha);
}

/* The elements [position, position + count) of the scaled product. */
static void products(const struct merged *m, size_t step, uint64_t position, size_t count,
                     float *delta)
{
    const struct merge_step *s = &m->made->step[step];
    const struct open_step *o = &m->step[step];
    const uint64_t columns = m->made->columns;
    for (size_t at = 0, n; at < count; at += n) {
        const uint64_t row = (position + at) / columns, column = (position + at) % columns;
        n = columns - column < count - at ? (size_t)(columns - column) : count - at;
        m->product(o->left + row * s->terms, o->right + column, (size_t)columns, (size_t)s->terms,
                   delta + at, n);
    }
    for (size_t i = 0; i < count; i++)
        delta[i] *= o->scale;
}

/* Read elements of a tensor as float32; they are left in `out`. */
static enum status read_single(struct reader *r, const struct converter *widen, uint64_t position,
                               size_t count, float *out, struct error *err)
{
    uint8_t bytes[MERGED_AT_ONCE * sizeof(double)]; /* as stored */
    const size_t unit = widen->from.block_bytes;
    return reader_read(r, position * unit, bytes, count * unit, err) == OK
               ? converter_run(widen, bytes, out, count, position, err)
               : err->status;
}

/* DoRA: the magnitude of each output divided by its norm, which is of the base alone with this
 * product, whatever was merged before. */
static void find_factors(const struct merged *m, size_t step, struct error *err)
{
    const struct merge_step *s = &m->made->step[step];
    const uint64_t columns = m->made->columns, all = m->tensor->elements;
    const uint64_t outputs = s->turned ? columns : m->made->rows;
    struct open_step *o = &m->step[step];
    double *squares = calloc((size_t)outputs + 1, sizeof(*squares));
    struct chunk *c = calloc(1, sizeof(*c));
    if (!squares || !c)
        error_memory_at(err, m->tensor->checkpoint);
    else
        o->factor = read_numbers(m, s->magnitude, err);
    for (uint64_t at = 0, n; c && squares && at < all && err->status == OK; at += n) {
        n = all - at < MERGED_AT_ONCE ? all - at : MERGED_AT_ONCE;
        if (read_single(m->base, &m->widen, at, (size_t)n, c->base, err) != OK)
            break;
        products(m, step, at, (size_t)n, c->delta);
        for (uint64_t i = 0; i < n; i++) {
            const float sum = c->base[i] + c->delta[i];
            squares[s->turned ? (at + i) % columns : (at + i) / columns] += (double)sum * sum;
        }
    }
    for (uint64_t i = 0; squares && o->factor && i < outputs && err->status == OK; i++)
        o->factor[i] /= (float)sqrt(squares[i]);
    free(squares);
    free(c);
}

/* Load what the steps need, once. */
static enum status make_ready(struct merged *m, struct error *err)
{
    pthread_mutex_lock(&m->lock);
    for (size_t i = 0; !m->ready && i < m->made->count && err->status == OK; i++) {
        const struct merge_step *s = &m->made->step[i];
        if (s->kind != MERGE_LORA || m->step[i].factor)
            continue;
        free(m->step[i].left); /* an attempt before failed half way */
        free(m->step[i].right);
        m->step[i].left = m->step[i].right = NULL;
        read_matrices(m, s, &m->step[i], err);
        if (s->magnitude && err->status == OK)
            find_factors(m, i, err);
    }
    m->ready = err->status == OK;
    pthread_mutex_unlock(&m->lock);
    return err->status;
}

/* --- reading --------------------------------------------------------------------------------- */

/* Do one step on the `count` values of the chunk. */
static void do_step(struct merged *m, size_t step, uint64_t position, size_t count, struct chunk *c,
                    struct error *err)
{
    const struct merge_step *s = &m->made->step[step];
    const struct open_step *o = &m->step[step];
    if (s->kind == MERGE_LORA)
        products(m, step, position, count, c->delta);
    else if (read_single(o->reader, &o->widen, position, count, c->delta, err) != OK)
        return;
    for (size_t i = 0; i < count && s->kind == MERGE_ADD; i++)
        c->delta[i] *= o->scale;
    for (size_t i = 0; i < count && s->kind == MERGE_REPLACE && o->scale != 1; i++)
        c->delta[i] = c->value[i] + o->scale * (c->delta[i] - c->value[i]);
    if (s->kind == MERGE_REPLACE) {
        memcpy(c->value, c->delta, count * sizeof(*c->value));
        return;
    }
    for (size_t i = 0; i < count; i++)
        c->value[i] += c->delta[i];
    for (size_t i = 0; i < count && o->factor; i++) {
        const uint64_t columns = m->made->columns, at = position + i;
        c->value[i] *= o->factor[s->turned ? at % columns : at / columns];
    }
}

static void merged_run(struct merged *m, uint64_t position, uint64_t count, uint8_t *dst,
                       struct error *err)
{
    struct chunk *c = calloc(1, sizeof(*c));
    if (!c) {
        error_memory_at(err, m->tensor->checkpoint);
        return;
    }
    for (uint64_t n; count && err->status == OK; position += n, count -= n) {
        n = count < MERGED_AT_ONCE ? count : MERGED_AT_ONCE;
        read_single(m->base, &m->widen, position, (size_t)n, c->value, err);
        for (size_t i = 0; i < m->made->count && err->status == OK; i++)
            do_step(m, i, position, (size_t)n, c, err);
        if (err->status == OK)
            converter_run(&m->narrow, c->value, dst, n, position, err);
        dst += n * m->narrow.to.block_bytes;
    }
    free(c);
}

static enum status merged_gather(struct reader *r, const struct ckptdb_slice *slices,
                                 uint64_t position, uint64_t count, uint8_t *dst, struct error *err)
{
    const struct stored_tensor *t = r->tensor;
    const struct ckptdb_slice whole = {.count = 1, .step = 1};
    const struct ckptdb_slice *last = slices && t->rank ? &slices[t->rank - 1] : &whole;
    struct merged *m = r->own;
    if (make_ready(m, err) == OK && !slices)
        merged_run(m, position, count, dst, err);
    for (uint64_t n; slices && count && err->status == OK; position += n, count -= n) {
        n = last->step == 1 ? last->count - position % last->count : 1;
        n = n < count ? n : count;
        merged_run(m, slice_position(slices, t->shape, t->rank, position), n, dst, err);
        dst += n * r->unit;
    }
    return err->status;
}

/* --- the reader ------------------------------------------------------------------------------ */

static enum status merged_verify(struct reader *r, struct error *err)
{
    const struct merged *m = r->own;
    reader_verify(m->base, err);
    for (size_t i = 0; i < m->made->count && err->status == OK; i++)
        if (m->step[i].reader)
            reader_verify(m->step[i].reader, err);
    return err->status;
}

static uint64_t merged_memory(const struct reader *r)
{
    const struct merged *m = r->own;
    uint64_t nbytes = reader_memory(m->base);
    for (size_t i = 0; i < m->made->count; i++) {
        const struct merge_step *s = &m->made->step[i];
        nbytes += s->kind == MERGE_LORA ? (s->a->elements + s->b->elements) * sizeof(float) : 0;
    }
    return nbytes;
}

static void merged_close(struct reader *r)
{
    struct merged *m = r->own;
    if (!m)
        return;
    for (size_t i = 0; m->step && i < m->made->count; i++) {
        free(m->step[i].left);
        free(m->step[i].right);
        free(m->step[i].factor);
        reader_close(m->step[i].reader);
    }
    free(m->step);
    reader_close(m->base);
    pthread_mutex_destroy(&m->lock);
    free(m);
}

static const struct reader_ops merged_ops = {.read = units_read,
                                             .gather = merged_gather,
                                             .verify = merged_verify,
                                             .memory = merged_memory,
                                             .close = merged_close};

static bool merged_takes(const struct stored_tensor *t)
{
    return t->merging;
}

/* Open what a step reads as it goes, and try whether the rest is there. */
static void open_step(struct merged *m, const struct merge_step *s, struct open_step *o,
                      struct error *err)
{
    const struct stored_tensor *const parts[] = {s->a, s->b, s->magnitude, s->alpha};
    struct dtype single;
    dtype_find("float32", &single);
    o->scale = (float)s->scale;
    for (unsigned i = 0; i < 4 && err->status == OK; i++) {
        struct reader *r = NULL;
        if (parts[i] && reader_open(parts[i], m->files, &r, err) != OK)
            error_prefix(err, parts[i]->name);
        if (s->kind == MERGE_LORA)
            reader_close(r);
        else if (r)
            o->reader = r;
    }
    if (s->kind != MERGE_LORA && err->status == OK)
        converter_find(&s->a->dtype, &single, &o->widen, err);
}

static enum status merged_open(struct reader *r, struct error *err)
{
    const struct stored_tensor *t = r->tensor;
    struct dtype single;
    struct merged *m = calloc(1, sizeof(*m));
    if (!m)
        return error_memory_at(err, t->checkpoint);
    r->ops = &merged_ops;
    r->own = m;
    m->tensor = t;
    m->made = t->merging;
    m->files = r->files;
    m->product = product_plain;
#ifdef __x86_64__
    if (CPU_HAS(AVX2) && CPU_HAS(FMA))
        m->product = product_avx2;
#endif
    pthread_mutex_init(&m->lock, NULL);
    dtype_find("float32", &single);
    if (!(m->step = calloc(m->made->count + 1, sizeof(*m->step))))
        return error_memory_at(err, t->checkpoint);
    if (units_open(r, err) == OK && reader_open(m->made->base, r->files, &m->base, err) == OK &&
        converter_find(&m->made->base->dtype, &single, &m->widen, err) == OK)
        converter_find(&single, &t->dtype, &m->narrow, err);
    for (size_t i = 0; i < m->made->count && err->status == OK; i++)
        open_step(m, &m->made->step[i], &m->step[i], err);
    r->sequential = m->base && reader_sequential(m->base);
    for (size_t i = 0; i < m->made->count && err->status == OK; i++)
        r->sequential |= m->step[i].reader && reader_sequential(m->step[i].reader);
    return err->status;
}

const struct reader_kind reader_kind_merged = {merged_takes, merged_open};

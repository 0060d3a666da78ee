#include "catalog/content/compare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "catalog/base/pages.h"
#include "catalog/base/threads.h"
#include "catalog/content/sweep.h"
#include "catalog/data/convert/convert.h"
#include "catalog/data/kernel/compare_sums.h"
#include "catalog/data/read/files.h"
#include "catalog/data/read/read.h"

/* Elements, a multiple of COMPARE_BLOCK. The numbers of a piece are read, cast, converted and compared
 * on one thread, in its cache. */
#define PIECE ((uint64_t)32 << 10)
#define ROUND 64 /* pieces that are compared before the watch is told */

/* One of the tensors. */
struct side {
    const struct stored_tensor *tensor;
    struct reader *reader;
    const struct dtype *as; /* it is cast to this first; NULL: it is not cast */
    bool counts;            /* what the cast loses */
    struct converter narrow, widen;
};

struct piece {
    struct compare_sums sums;
    struct loss lost;
    struct error err;
};

/* Buffers of one thread, for a piece. */
struct desk {
    uint8_t *a, *b, *cast;
};

struct comparing {
    struct side a, b;
    bool integers; /* integers, one side 64 bits wide; all else is compared as float64 */
    uint64_t elements;
    uint64_t at; /* the first element of this round */
    struct piece *pieces;
    struct desk *desks;
    /* Threads that compare, the caller's included; before compare_open() how many may, 0: one per core */
    unsigned threads;
};

static uint64_t bytes_of(const struct dtype *d, uint64_t elements)
{
    uint64_t nbytes = 0;
    dtype_nbytes(d, elements, &nbytes); /* the tensor's do fit */
    return nbytes;
}

/* --- opening -------------------------------------------------------------------------------- */

/* The dtypes to which values are converted: int64 or uint64 each if both are integers and one has 64
 * bits, which float64 does not always tell apart; else float64. */
static void find_converters(struct comparing *c, struct error *err)
{
    struct side *sides[] = {&c->a, &c->b};
    const struct dtype *a = c->a.as ? c->a.as : &c->a.tensor->dtype, *b = &c->b.tensor->dtype;
    const bool both = dtype_is_integer(a) && dtype_is_integer(b);
    c->integers = both && (a->bits == 64 || b->bits == 64);
    for (unsigned i = 0; i < 2 && err->status == OK; i++) {
        const struct dtype *from = i ? b : a;
        struct dtype wide;
        dtype_find(!c->integers ? "float64" : from->kind == DTYPE_INT ? "int64" : "uint64", &wide);
        /* Quantised integers are compared as they are stored, but only with integers. */
        if (both)
            converter_find_stored(from, &wide, &sides[i]->widen, err);
        else
            converter_find(from, &wide, &sides[i]->widen, err);
    }
}

/* Several threads read if that costs no more than reading from front to back. */
static unsigned threads_for(const struct comparing *c)
{
    const uint64_t pieces = (c->elements + PIECE - 1) / PIECE;
    if (pieces < 2 || !sweep_parts_are_cheap(c->a.tensor) || !sweep_parts_are_cheap(c->b.tensor))
        return 1;
    unsigned most = c->threads ? c->threads : threads_cores();
    most = most < THREADS_MAX ? most : THREADS_MAX;
    return pieces < most ? (unsigned)pieces : most;
}

static void make_room(struct comparing *c, struct error *err)
{
    const uint64_t left = c->elements, most = left < PIECE ? left : PIECE;
    const uint64_t a = bytes_of(&c->a.tensor->dtype, most), b = bytes_of(&c->b.tensor->dtype, most),
                   cast = c->a.as ? bytes_of(c->a.as, most) : 0;
    const uint64_t pieces = (left + PIECE - 1) / PIECE;
    bool good = true;
    c->threads = threads_for(c);
    c->pieces = calloc(pieces < ROUND ? (size_t)pieces + 1 : ROUND, sizeof(*c->pieces));
    c->desks = calloc(c->threads, sizeof(*c->desks));
    for (unsigned i = 0; c->desks && i < c->threads; i++) {
        struct desk *d = &c->desks[i];
        *d = (struct desk){pages_alloc((size_t)a), pages_alloc((size_t)b),
                           pages_alloc((size_t)cast)};
        good = good && d->a && d->b && d->cast;
    }
    if (!good || !c->pieces || !c->desks)
        error_memory(err);
}

static enum status compare_open(struct comparing *c, struct error *err)
{
    struct side *a = &c->a;
    if (a->as && strcmp(a->as->name, a->tensor->dtype.name) == 0)
        a->as = NULL;
    a->counts = a->as && loss_possible(&a->tensor->dtype, a->as);
    const unsigned rank = a->tensor->rank;
    if (a->as && converter_find(&a->tensor->dtype, a->as, &a->narrow, err) == OK)
        converter_check_row(&a->tensor->dtype, a->as, rank ? a->tensor->shape[rank - 1] : 1, err);
    if (err->status == OK)
        find_converters(c, err);
    if (err->status == OK && reader_open(a->tensor, NULL, &a->reader, err) == OK &&
        reader_open(c->b.tensor, NULL, &c->b.reader, err) == OK)
        make_room(c, err);
    return err->status;
}

/* --- comparing ------------------------------------------------------------------------------ */

/* Read elements and cast them; returns where they are then, or NULL after an error. */
static const uint8_t *side_read(const struct side *s, uint64_t from, uint64_t count, uint8_t *room,
                                uint8_t *cast, struct piece *p)
{
    const struct dtype *d = &s->tensor->dtype;
    struct bytes in = {.len = (size_t)bytes_of(d, count)};
    if (reader_borrow(s->reader, NULL, bytes_of(d, from), room, &in, &p->err) != OK)
        return NULL;
    if (!s->as)
        return in.at;
    if (converter_run(&s->narrow, in.at, cast, count, from, &p->err) != OK)
        return NULL;
    if (s->counts)
        loss_count(d, in.at, s->as, cast, count, &p->lost);
    return cast;
}

/* Convert a block's elements, from `at` on in the piece, to those that are compared. */
static enum status side_widen(const struct side *s, const uint8_t *piece, uint64_t at, size_t count,
                              double *out, struct error *err)
{
    return converter_run(&s->widen, piece + bytes_of(&s->widen.from, at), out, count, at, err);
}

static void compare_piece(const struct comparing *c, const struct desk *desk, uint64_t number,
                          struct piece *p)
{
    const uint64_t from = c->at + number * PIECE, left = c->elements - from,
                   count = left < PIECE ? left : PIECE;
    struct compare_block block;
    struct compare_sums sums;
    *p = (struct piece){.sums = compare_none, .err = {.offset = NO_OFFSET}};
    const uint8_t *a = side_read(&c->a, from, count, desk->a, desk->cast, p),
                  *b = a ? side_read(&c->b, from, count, desk->b, NULL, p) : NULL;
    for (uint64_t i = 0; b && i < count; i += block.count) {
        block.count = (size_t)(count - i < COMPARE_BLOCK ? count - i : COMPARE_BLOCK);
        if (side_widen(&c->a, a, i, block.count, block.a, &p->err) != OK ||
            side_widen(&c->b, b, i, block.count, block.b, &p->err) != OK)
            break;
        if (c->integers)
            compare_integers(&block, c->a.widen.to.kind == DTYPE_INT,
                             c->b.widen.to.kind == DTYPE_INT, &sums);
        else
            compare_floats(&block, &sums);
        compare_join(&p->sums, &sums);
    }
}

static bool compare_some(void *context, unsigned desk, uint64_t from, uint64_t to)
{
    struct comparing *c = context;
    bool good = true;
    for (uint64_t i = from; i < to && good; i++) {
        compare_piece(c, &c->desks[desk], i, &c->pieces[i]);
        good = c->pieces[i].err.status == OK;
    }
    return good;
}

/* Add the pieces of a round to what came before, in order, up to the first that failed. */
static void take_round(struct comparing *c, uint64_t pieces, struct compare_sums *sums,
                       struct loss *lost, struct error *err)
{
    for (uint64_t i = 0; i < pieces; i++) {
        const struct piece *p = &c->pieces[i];
        if (p->err.status != OK) {
            *err = p->err;
            break;
        }
        compare_join(sums, &p->sums);
        lost->out_of_range += p->lost.out_of_range;
        lost->to_zero += p->lost.to_zero;
        lost->to_nan += p->lost.to_nan;
    }
}

static void compare_rounds(struct comparing *c, struct team *team,
                           const struct compare_watch *watch, struct compare_sums *sums,
                           struct loss *lost, struct error *err)
{
    for (c->at = 0; c->at < c->elements && err->status == OK; c->at += ROUND * PIECE) {
        const uint64_t left = c->elements - c->at,
                       count = left < ROUND * PIECE ? left : ROUND * PIECE;
        struct team_job job = {.count = (count + PIECE - 1) / PIECE,
                               .most = c->threads,
                               .run = compare_some,
                               .context = c};
        team_add(team, &job);
        team_finish(team, &job);
        take_round(c, job.count, sums, lost, err);
        if (err->status == OK && watch)
            watch->read(watch->context,
                        bytes_of(&c->a.tensor->dtype, count) + bytes_of(&c->b.tensor->dtype, count),
                        err);
    }
}

/* The rows that both have where shapes differ in the first dimension alone; else 0. */
static uint64_t common_rows(const struct stored_tensor *a, const struct stored_tensor *b)
{
    if (a->rank != b->rank || !a->rank ||
        (a->rank > 1 && memcmp(a->shape + 1, b->shape + 1, (a->rank - 1) * sizeof(*a->shape)) != 0))
        return 0;
    return a->shape[0] < b->shape[0] ? a->shape[0] : b->shape[0];
}

enum status tensor_compare(const struct stored_tensor *a, const struct dtype *as,
                           const struct stored_tensor *b, const struct compare_watch *watch,
                           struct comparison *out, struct error *err)
{
    struct comparing c = {
        .a = {.tensor = a, .as = as}, .b = {.tensor = b}, .threads = watch ? watch->threads : 0};
    struct compare_sums sums = compare_none;
    struct team *team = team_new();
    *out = (struct comparison){0};
    c.elements = a->elements;
    if (a->elements != b->elements) {
        out->rows = common_rows(a, b);
        c.elements = out->rows ? a->elements / a->shape[0] * out->rows : 0;
    }
    if (a->elements != b->elements && !out->rows) {
        error_set(err, ERR_ARGUMENT, a->checkpoint, NO_OFFSET,
                  "the tensors differ in their number of elements");
    } else if (!team) {
        error_memory(err);
    } else if (compare_open(&c, err) == OK) {
        team_grow(team, c.threads - 1);
        compare_rounds(&c, team, watch, &sums, &out->lost, err);
        if (err->status == OK && reader_verify(c.a.reader, err) == OK &&
            reader_verify(c.b.reader, err) == OK && tensor_files_as_indexed(a, err) == OK)
            tensor_files_as_indexed(b, err);
    }
    team_free(team);
    for (unsigned i = 0; c.desks && i < c.threads; i++) {
        free(c.desks[i].a);
        free(c.desks[i].b);
        free(c.desks[i].cast);
    }
    free(c.desks);
    free(c.pieces);
    reader_close(c.a.reader);
    reader_close(c.b.reader);
    const struct compare_products *p = &sums.of;
    out->max_abs = sums.max_abs;
    out->unequal = sums.unequal;
    out->nans = sums.nans;
    out->rel_l2 = p->dd == 0 ? 0 : ldexp(sqrt(p->dd) / sqrt(p->aa), sums.power_a - sums.power_d);
    out->delta_l2 = ldexp(sqrt(p->dd), -sums.power_d);
    out->cosine =
        p->dd == 0 && p->aa > 0 && isfinite(p->aa) ? 1 : p->ab / (sqrt(p->aa) * sqrt(p->bb));
    if (fabs(out->cosine) > 1) /* through rounding; acos() would return NaN */
        out->cosine = copysign(1, out->cosine);
    return err->status;
}

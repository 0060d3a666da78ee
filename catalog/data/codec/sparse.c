/*
 * sparse.c - codec "sparse:...": a sparse tensor, read as the dense one.
 *
 *   sparse:o,ADD,W,N,VALUES,RUN,SHAPE,INDEX,S0,S1        coordinates
 *   sparse:r,ADD,W,N,VALUES,RUN,SHAPE,PTR,OTHER,IW,BLOCK compressed rows; "c": columns
 *
 * ADD: how to add values, to each other and to the zeros of the dense tensor (so that a negative
 * zero becomes 0.0): 'f' floats, 'c' pairs of floats, 'i' integers. Values of 'h'
 * (16-bit floats) and '-' (anything else) cannot be added to each other.
 *
 * W: bytes per element. N: number of entries. VALUES: byte offset of their values, stored
 * consecutively. RUN: elements per entry in the trailing dense dimensions. SHAPE, BLOCK: numbers
 * joined by 'x'; SHAPE without the dense dimensions, and empty if there are no others.
 *   o: index d of entry i is the int64 at INDEX + 8 * (d * S0 + i * S1); entries of the same place
 *      are added up
 *   r: row r has the entries PTR[r] to PTR[r + 1] - 1, whose columns are in OTHER, integers of IW
 *      bytes; an entry is a block of BLOCK elements. Dimensions of SHAPE before the last two are
 *      batch dimensions: all batches have the same number of entries, and each has its own PTR,
 *      stored consecutively
 *
 * Example: [[0, 5, 0], [0, 0, 7]] in rows has the values 5, 7, PTR 0, 1, 2 and OTHER 1, 2.
 *
 * Entries and values are kept in memory, sorted by place; the dense tensor never is.
 *
 * Source: torch/sparse/__init__.py, ATen/native/sparse.
 */
#include <stdlib.h>

#include "catalog/base/search.h"
#include "catalog/data/codec/codec.h"

#define DIMS_MAX 16

struct entry {
    uint64_t place; /* of its first element in the dense tensor, in elements */
    uint64_t value; /* of its first element in the values, in elements */
};

struct sparse {
    char kind, add;
    uint64_t width, count, values, run, index, s0, s1, other;
    uint64_t shape[DIMS_MAX], block[DIMS_MAX];
    unsigned rank, block_rank;
};

struct sparse_source {
    struct source base;    /* must be first */
    struct entry *entries; /* sorted by place, no duplicates */
    uint64_t count, run;   /* `run`: bytes of an entry */
    uint64_t width;
    uint8_t *values;
};

/* --- the argument ----------------------------------------------------------------------- */

static bool sparse_take_number(const char **at, char end, uint64_t *out)
{
    if (!codec_take_number(at, out) || **at != end)
        return false;
    *at += end != '\0';
    return true;
}

static bool take_shape(const char **at, char end, uint64_t *out, unsigned *rank)
{
    *rank = 0;
    if (end && **at == end)
        return ++*at, true;
    while (*rank < DIMS_MAX && codec_take_number(at, &out[(*rank)++])) {
        char c = **at;
        *at += c != '\0';
        if (c == end || c != 'x')
            return c == end;
    }
    return false;
}

static bool sparse_parse(const struct codec_args *args, struct sparse *s)
{
    const uint64_t *n = args->number;
    const char *at = args->rest;
    *s = (struct sparse){.kind = "orc"[n[0]],
                         .add = "fcih-"[n[1]],
                         .width = n[2],
                         .count = n[3],
                         .values = n[4],
                         .run = n[5]};
    if (!take_shape(&at, ',', s->shape, &s->rank) || !sparse_take_number(&at, ',', &s->index) ||
        (s->add == 'c' && s->width != 8 && s->width != 16))
        return false;
    if (s->kind == 'o')
        return sparse_take_number(&at, ',', &s->s0) && sparse_take_number(&at, '\0', &s->s1);
    return sparse_take_number(&at, ',', &s->other) && sparse_take_number(&at, ',', &s->s0) &&
           take_shape(&at, '\0', s->block, &s->block_rank) && s->rank >= 2 && s->block_rank == 2 &&
           (s->s0 == 4 || s->s0 == 8) && s->block[0] && s->block[1];
}

/* Bytes of the dense tensor; false if the element width is not valid, or on overflow. */
static bool dense_size(const struct sparse *s, uint64_t *bytes)
{
    *bytes = s->width;
    bool fits = s->width && s->width <= 16 && mul_u64(*bytes, s->run, bytes);
    for (unsigned d = 0; d < s->rank; d++)
        fits = fits && mul_u64(*bytes, s->shape[d], bytes);
    return fits && *bytes <= INT64_MAX;
}

/* --- entries ---------------------------------------------------------------------------- */

static void sparse_bad(const struct source *s, struct error *err, const char *what)
{
    error_set(err, ERR_CORRUPT, s->name, NO_OFFSET, "sparse: %s", what);
}

/* `len` bytes of the source from `offset` on, malloc'ed; NULL after an error. */
static uint8_t *sparse_read_all(const struct source *s, uint64_t offset, uint64_t len,
                                struct error *err)
{
    if (offset > s->size || len > s->size - offset) {
        sparse_bad(s, err, "its parts reach past its bytes");
        return NULL;
    }
    return codec_read(s, offset, len, err);
}

static void read_coordinates(const struct source *s, const struct sparse *p, struct entry *out,
                             struct error *err)
{
    uint64_t last, reach;
    if (!p->count || !p->rank) {
        for (uint64_t i = 0; i < p->count; i++)
            out[i] = (struct entry){0, i * p->run};
        return;
    }
    /* Read all bytes from the first index to the last one, whatever the strides. */
    if (!mul_u64(p->rank - 1, p->s0, &last) || !mul_u64(p->count - 1, p->s1, &reach) ||
        !add_u64(last, reach, &last) || !add_u64(last, 1, &last) || !mul_u64(last, 8, &last)) {
        sparse_bad(s, err, "impossible strides of its indexes");
        return;
    }
    uint8_t *raw = sparse_read_all(s, p->index, last, err);
    for (uint64_t i = 0; raw && i < p->count && err->status == OK; i++) {
        uint64_t place = 0;
        for (unsigned d = 0; d < p->rank; d++) {
            uint64_t index = load_u64le(raw + 8 * (d * p->s0 + i * p->s1));
            if (index >= p->shape[d])
                sparse_bad(s, err, "an index past its dimension");
            place = place * p->shape[d] + index;
        }
        out[i] = (struct entry){place * p->run, i * p->run};
    }
    free(raw);
}

/* Compressed rows or columns. Each stored entry becomes one entry for each row of its block. */
struct compressed {
    const struct source *source;
    const struct sparse *p;
    struct entry *out;
    uint8_t *ptr, *other;
    uint64_t rows, cols;   /* of a batch, in elements */
    uint64_t outer, inner; /* rows, columns of blocks; swapped for "c" */
    uint64_t made;         /* entries so far */
};

static uint64_t sparse_index_at(const struct sparse *p, const uint8_t *list, uint64_t i)
{
    return p->s0 == 4 ? load_u32le(list + 4 * i) : load_u64le(list + 8 * i);
}

/* Read entries [begin, end), which make up row (or column) `outer` of the batch that begins at
 * element `place`. */
static void sparse_read_row(struct compressed *c, uint64_t place, uint64_t outer, uint64_t begin,
                            uint64_t end, struct error *err)
{
    const struct sparse *p = c->p;
    const bool by_rows = p->kind == 'r';
    const uint64_t br = p->block[0], bc = p->block[1];
    for (uint64_t k = begin; k < end; k++) {
        const uint64_t other = sparse_index_at(p, c->other, k);
        if (other >= c->inner || c->made >= p->count * br) {
            sparse_bad(c->source, err, "an index past its dimension");
            return;
        }
        const uint64_t row = (by_rows ? outer : other) * br;
        const uint64_t col = (by_rows ? other : outer) * bc;
        for (uint64_t r = 0; r < br; r++)
            c->out[c->made++] = (struct entry){(place + (row + r) * c->cols + col) * p->run,
                                               (k * br + r) * bc * p->run};
    }
}

/* The batch whose entries are [first, first + each). */
static void read_batch(struct compressed *c, uint64_t batch, uint64_t each, struct error *err)
{
    const struct sparse *p = c->p;
    const uint64_t first = batch * each, place = batch * c->rows * c->cols;
    const uint64_t ptr = batch * (c->outer + 1);
    uint64_t begin = sparse_index_at(p, c->ptr, ptr), end;
    for (uint64_t o = 0; o < c->outer && err->status == OK; o++, begin = end) {
        end = sparse_index_at(p, c->ptr, ptr + o + 1);
        if (end < begin || end > each)
            sparse_bad(c->source, err, "entries that are not in order");
        else
            sparse_read_row(c, place, o, first + begin, first + end, err);
    }
}

static void read_batches(struct compressed *c, uint64_t batches, struct error *err)
{
    const struct sparse *p = c->p;
    uint64_t pointers, others;
    if (!add_u64(c->outer, 1, &pointers) || !mul_u64(pointers, batches, &pointers) ||
        !mul_u64(pointers, p->s0, &pointers) || !mul_u64(p->count, p->s0, &others)) {
        sparse_bad(c->source, err, "its parts reach past its bytes");
        return;
    }
    c->ptr = sparse_read_all(c->source, p->index, pointers, err);
    c->other = c->ptr ? sparse_read_all(c->source, p->other, others, err) : NULL;
    for (uint64_t b = 0; b < batches && err->status == OK; b++)
        read_batch(c, b, p->count / batches, err);
    free(c->ptr);
    free(c->other);
}

static void read_compressed(const struct source *s, const struct sparse *p, struct entry *out,
                            struct error *err)
{
    const uint64_t br = p->block[0], bc = p->block[1];
    struct compressed c = {.source = s,
                           .p = p,
                           .out = out,
                           .rows = p->shape[p->rank - 2],
                           .cols = p->shape[p->rank - 1]};
    uint64_t batches = 1;
    for (unsigned d = 0; d + 2 < p->rank; d++)
        batches *= p->shape[d]; /* no overflow: dense_size() has multiplied all, and none is 0 */
    c.outer = p->kind == 'r' ? c.rows / br : c.cols / bc;
    c.inner = p->kind == 'r' ? c.cols / bc : c.rows / br;
    if (c.rows % br || c.cols % bc)
        sparse_bad(s, err, "blocks that do not fill it");
    else if (p->count % batches)
        sparse_bad(s, err, "batches of different size");
    else
        read_batches(&c, batches, err);
    if (c.made != p->count * br)
        sparse_bad(s, err, "entries that belong to no row");
}

/* --- adding up -------------------------------------------------------------------------- */

static int sparse_by_place(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    if (x->place != y->place)
        return x->place < y->place ? -1 : 1;
    return (x->value > y->value) - (x->value < y->value);
}

static bool add_one(uint8_t *to, const uint8_t *from, char add, uint64_t width)
{
    float f, g;
    double d, e;
    if (add == 'i') {
        unsigned carry = 0;
        for (uint64_t i = 0; i < width; i++) {
            carry += (unsigned)to[i] + from[i];
            to[i] = (uint8_t)carry;
            carry >>= 8;
        }
        return true;
    }
    if ((add != 'f' && add != 'c') || (width != 4 && width != 8))
        return false;
    if (width == 4) {
        memcpy(&f, to, 4);
        memcpy(&g, from, 4);
        f += g;
        memcpy(to, &f, 4);
    } else {
        memcpy(&d, to, 8);
        memcpy(&e, from, 8);
        d += e;
        memcpy(to, &d, 8);
    }
    return true;
}

/* Add each value to a zero of the dense tensor, which turns -0.0 into 0.0. */
static void add_zero(uint8_t *values, uint64_t bytes, char add, uint64_t unit)
{
    static const uint8_t zero[8];
    if (add == 'f' || add == 'c')
        for (uint64_t at = 0; at + unit <= bytes; at += unit)
            add_one(values + at, zero, add, unit);
    for (uint64_t at = 0; add == 'h' && at + 2 <= bytes; at += 2)
        if (load_u16le(values + at) == 0x8000)
            store_u16le(values + at, 0);
}

/* Sort the entries, and add up entries at the same place. `unit`: bytes of one number. */
static void sparse_settle(struct sparse_source *s, char add, uint64_t unit, struct error *err)
{
    uint64_t kept = 0;
    qsort(s->entries, (size_t)s->count, sizeof(*s->entries), sparse_by_place);
    for (uint64_t i = 0; i < s->count; i++) {
        struct entry *e = &s->entries[i];
        if (!kept || s->entries[kept - 1].place != e->place) {
            s->entries[kept++] = *e;
            continue;
        }
        uint8_t *to = s->values + s->entries[kept - 1].value * s->width;
        const uint8_t *from = s->values + e->value * s->width;
        for (uint64_t at = 0; at < s->run; at += unit)
            if (!add_one(to + at, from + at, add, unit)) {
                error_set(err, ERR_UNSUPPORTED, s->base.inner->name, NO_OFFSET,
                          "sparse: values of one place that cannot be added up");
                return;
            }
    }
    s->count = kept;
}

/* --- the source ------------------------------------------------------------------------- */

static enum status sparse_read(const struct source *base, uint64_t offset, void *dst, size_t len,
                               struct error *err)
{
    (void)err;
    const struct sparse_source *s = (const struct sparse_source *)base;
    uint64_t at;
    memset(dst, 0, len);
    PARTITION_POINT(at, s->count, s->entries[at].place * s->width + s->run <= offset);
    for (; at < s->count; at++) {
        uint64_t begin = s->entries[at].place * s->width, end = begin + s->run;
        if (begin >= offset + len)
            break;
        uint64_t from = begin > offset ? begin : offset;
        uint64_t to = end < offset + len ? end : offset + len;
        memcpy((uint8_t *)dst + (from - offset),
               s->values + s->entries[at].value * s->width + (from - begin), (size_t)(to - from));
    }
    return OK;
}

static void sparse_close(struct source *base)
{
    struct sparse_source *s = (struct sparse_source *)base;
    free(s->entries);
    free(s->values);
    free(s);
}

static const struct source_ops sparse_ops = {.read_at = sparse_read, .close = sparse_close};

static void sparse_fill(struct sparse_source *s, const struct sparse *p, struct error *err)
{
    uint64_t rows = p->kind == 'o' ? 1 : p->block[0];
    uint64_t inside = p->kind == 'o' ? 1 : p->block[1], entries, bytes;
    if (!mul_u64(p->count, rows, &entries) || !mul_u64(inside, p->run, &s->run) ||
        !mul_u64(s->run, p->width, &s->run) || !mul_u64(entries, s->run, &bytes) ||
        entries > s->base.inner->size) {
        sparse_bad(s->base.inner, err, "more entries than there are bytes");
        return;
    }
    s->count = entries;
    s->entries = calloc(entries ? (size_t)entries : 1, sizeof(*s->entries));
    if (!s->entries)
        error_memory_at(err, s->base.inner->name);
    else
        s->values = sparse_read_all(s->base.inner, p->values, bytes, err);
    if (!s->entries || !s->values)
        return;
    if (p->kind == 'o')
        read_coordinates(s->base.inner, p, s->entries, err);
    else
        read_compressed(s->base.inner, p, s->entries, err);
    uint64_t unit = p->add == 'c' ? p->width / 2 : p->width;
    if (err->status != OK || !s->run)
        return;
    add_zero(s->values, bytes, p->add, unit);
    sparse_settle(s, p->add, unit, err);
}

static enum status sparse_begin(struct source *base, const struct codec_args *args,
                                struct error *err)
{
    struct sparse_source *s = (struct sparse_source *)base;
    struct sparse p;
    if (!sparse_parse(args, &p) || !dense_size(&p, &base->size))
        return codec_bad_argument(base, "sparse", args->text, err);
    base->sequential = false;
    s->width = p.width;
    if (base->size)
        sparse_fill(s, &p, err);
    return err->status;
}

const struct codec codec_sparse = {.name = "sparse",
                                   .args = "=o|r|c,=f|c|i|h|-,N,N,N,N,*",
                                   .source = &sparse_ops,
                                   .source_bytes = sizeof(struct sparse_source),
                                   .begin = sparse_begin};

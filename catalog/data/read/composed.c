/*
 * composed.c - the reader of a tensor composed of other tensors (compose/compose.h).
 *
 * Every part is a source of elements in C order, from which boxes are gathered into their places.
 * A part that decodes front to back only, but is wanted in another order, is decoded once and
 * kept (source.h, spill). Opening the reader opens each part once, to see that it can be read;
 * reading opens it again when its first element is wanted.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "catalog/data/compose/compose.h"
#include "catalog/data/convert/convert.h"
#include "catalog/data/read/files.h"
#include "catalog/data/read/gather.h"
#include "catalog/data/read/reader.h"

/* Decoded parts together may take this much memory; what exceeds it goes to temporary files. */
#define DECODED_BYTES    ((uint64_t)32 << 20)
#define COMPUTED_AT_ONCE 4096         /* elements */
#define BLOCKS_AT_ONCE   ((size_t)16) /* decoded together */

/* A part's reader as a source of elements of the result's dtype. They are decoded where the part
 * is quantised, and widened where something is added to them. */
struct part_source {
    struct source base; /* must be first */
    struct reader *reader;
    struct converter decode;
    uint64_t block; /* decoded bytes of a stored block or element; 0: they are as they are stored */
};

struct open_part {
    struct source *source; /* NULL until it is wanted */
    struct kept *kept;     /* the owner of `source`; NULL: the part owns it */
};

struct composed {
    const struct stored_tensor *tensor;
    const struct composition *made;
    struct file_cache *files;       /* NULL: none */
    size_t unit;                    /* bytes of an element */
    bool gathers;                   /* front to back is not front to back in its parts */
    bool sequential;                /* some part can be read front to back only */
    uint64_t memory;                /* the most that the reader of any one part needs */
    struct converter widen, narrow; /* used if it computes */
    pthread_mutex_t lock;           /* guards `part` */
    struct open_part *part;
};

/* --- parts as sources -------------------------------------------------------------------- */

static enum status part_read(const struct source *s, uint64_t offset, void *dst, size_t len,
                             struct error *err)
{
    return reader_read(((const struct part_source *)s)->reader, offset, dst, len, err);
}

/* Decode the blocks (of one element, if it is not quantised) that bytes [offset, offset + len) of the decoded tensor lie in. */
static enum status part_decode(const struct source *base, uint64_t offset, void *dst, size_t len,
                               struct error *err)
{
    const struct part_source *s = (const struct part_source *)base;
    const struct dtype *d = &s->decode.from;
    uint8_t stored[BLOCKS_AT_ONCE * GGML_BLOCK_BYTES];
    uint8_t decoded[BLOCKS_AT_ONCE * GGML_BLOCK_MAX * sizeof(float)];
    for (uint8_t *to = dst; len && err->status == OK;) {
        const uint64_t first = offset / s->block, within = offset % s->block;
        const uint64_t most = sizeof(stored) / d->block_bytes, room = sizeof(decoded) / s->block;
        uint64_t blocks = (within + len - 1) / s->block + 1;
        blocks = blocks < most ? blocks : most;
        blocks = blocks < room ? blocks : room;
        const size_t made = (size_t)(blocks * s->block - within);
        const size_t n = len < made ? len : made;
        if (reader_read(s->reader, first * d->block_bytes, stored, (size_t)blocks * d->block_bytes,
                        err) != OK ||
            converter_run(&s->decode, stored, decoded, blocks * d->block_elems,
                          first * d->block_elems, err) != OK)
            break;
        memcpy(to, decoded + within, n);
        to += n;
        offset += n;
        len -= n;
    }
    return err->status;
}

static void part_close(struct source *s)
{
    reader_close(((struct part_source *)s)->reader);
    free(s);
}

static const struct source_ops part_ops = {.read_at = part_read, .close = part_close};
static const struct source_ops block_ops = {.read_at = part_decode, .close = part_close};

/* If the result is of another dtype than the stored tensor, have the source give that. */
static enum status decode_to(struct part_source *s, const struct stored_tensor *t,
                             const struct dtype *to, struct error *err)
{
    if (strcmp(t->dtype.name, to->name) == 0)
        return OK;
    s->block = (uint64_t)t->dtype.block_elems * to->block_bytes;
    s->base.ops = &block_ops;
    s->base.size = t->elements * to->block_bytes;
    return converter_find(&t->dtype, to, &s->decode, err);
}

static void open_source(const struct stored_tensor *t, const struct dtype *to,
                        struct file_cache *files, struct source **out, struct error *err)
{
    struct part_source *s = calloc(1, sizeof(*s));
    if (!s) {
        error_memory_at(err, t->checkpoint);
        return;
    }
    if (reader_open(t, files, &s->reader, err) != OK) {
        free(s);
        return;
    }
    s->base = (struct source){
        .ops = &part_ops,
        .size = t->nbytes,
        .name = t->checkpoint,
        .sequential = reader_sequential(s->reader),
    };
    if (decode_to(s, t, to, err) == OK)
        *out = &s->base;
    else
        part_close(&s->base);
}

struct decoding {
    const struct stored_tensor *tensor;
    const struct dtype *to;
    struct file_cache *files;
};

/* Decode a tensor once, to be read in any order. */
static enum status composed_decode(const void *context, struct kept *k, struct error *err)
{
    const struct decoding *d = context;
    struct source *s = NULL;
    if (!k->source)
        open_source(d->tensor, d->to, d->files, &s, err);
    return s ? source_open_spill_within(s, DECODED_BYTES, &k->source, err) : err->status;
}

/* A part that decodes front to back only is decoded and kept, unless the tensor is that part
 * alone, in the same order. */
static void open_part(const struct composed *c, uint64_t i, struct open_part *out,
                      struct error *err)
{
    const struct stored_tensor *t = c->made->part[i].tensor;
    struct source *s = NULL;
    const struct dtype *to = &c->tensor->dtype;
    struct decoding decoding = {t, to, c->files};
    struct kept_key key = {{(uint64_t)t->id, to->block_bytes}, t->checkpoint};
    open_source(t, to, c->files, &s, err);
    if (!s || !c->gathers || !s->sequential) {
        out->source = s;
    } else if (!c->files) {
        source_open_spill_within(s, DECODED_BYTES, &out->source, err);
    } else {
        source_close(s);
        if (kept_take(kept_tensors(c->files), &key, composed_decode, &decoding, &out->kept, err) ==
            OK)
            out->source = out->kept->source;
    }
}

/* NULL after an error. */
static struct source *part_source(struct composed *c, uint64_t i, struct error *err)
{
    pthread_mutex_lock(&c->lock);
    if (!c->part[i].source)
        open_part(c, i, &c->part[i], err);
    struct source *s = c->part[i].source;
    pthread_mutex_unlock(&c->lock);
    return s;
}

/* --- opening ----------------------------------------------------------------------------- */

static void try_parts(struct composed *c, struct error *err)
{
    for (uint64_t i = 0; i < c->made->count && err->status == OK; i++) {
        const struct composed_part *p = &c->made->part[i];
        struct reader *r = NULL;
        if (p->view.zeros)
            continue;
        if (reader_open(p->tensor, c->files, &r, err) == OK) {
            uint64_t memory = reader_memory(r);
            c->sequential = c->sequential || reader_sequential(r);
            c->memory = c->memory < memory ? memory : c->memory;
        } else {
            error_prefix(err, p->tensor->name);
        }
        reader_close(r);
    }
}

static bool composed_computes(const struct composed *c)
{
    return c->made->scale != 1 || c->made->add != 0;
}

static enum status find_converters(struct composed *c, struct error *err)
{
    struct dtype wide;
    const struct dtype *d = &c->tensor->dtype;
    if (!composed_computes(c))
        return OK;
    dtype_find(d->bits > 32 ? "float64" : "float32", &wide);
    if (converter_find(d, &wide, &c->widen, err) == OK)
        converter_find(&wide, d, &c->narrow, err);
    return err->status;
}

/* --- reading ----------------------------------------------------------------------------- */

/* The largest box of the part's view, in C order, that begins at element `at` and does not pass
 * `end`, as a gather into the result. Returns its number of elements.
 *
 * A view of shape [4, 6], at = 8, end = 24: the rest of row 1 (4 elements); called again with at
 * = 12: rows 2 and 3 together (12 elements). In the result a row takes made->length elements; the
 * part has p->length of these, from p->place on. */
static uint64_t next_box(const struct composed *c, const struct composed_part *p, uint64_t at,
                         uint64_t end, struct gather *g)
{
    const struct view *v = &p->view;
    unsigned dims = v->first[v->rank], rows_end = v->first[p->axis];
    uint64_t inner = 1, taken = 1, to = 1;
    /* True while every dimension so far is complete; then `at` is a multiple of `inner` */
    bool whole = true;
    g->from = v->offset;
    g->to = p->place;
    g->rank = dims;
    for (unsigned d = dims; d-- > 0;) {
        if (d + 1 == rows_end)
            to = c->made->length;
        uint64_t count = v->dim[d].count, index = at / inner % count, n = 1;
        if (whole) {
            n = (end - at) / inner;
            n = n < count - index ? n : count - index;
            whole = n == count;
            taken = n * inner;
        }
        g->dim[d] = (struct gather_dim){n, (int64_t)v->dim[d].step, (int64_t)to};
        g->from += index * v->dim[d].step;
        g->to += index * to;
        inner *= count;
        to *= count;
    }
    return taken;
}

/* How many elements of the part come before element `position` of the result. */
static uint64_t before(const struct composed *c, const struct composed_part *p, uint64_t position)
{
    uint64_t row = position / c->made->length, within = position % c->made->length;
    uint64_t own = within < p->place               ? 0
                   : within - p->place < p->length ? within - p->place
                                                   : p->length;
    return row * p->length + own;
}

/* Multiply and add in float32 (float64 for dtypes of more than 32 bits), and round once. */
static void compute(const struct composed *c, uint8_t *data, uint64_t position, uint64_t count,
                    struct error *err)
{
    bool wide = c->widen.to.bits == 64;
    union {
        float single[COMPUTED_AT_ONCE];
        double wide[COMPUTED_AT_ONCE];
    } room;
    for (uint64_t n; count && err->status == OK; data += n * c->unit, count -= n) {
        n = count < COMPUTED_AT_ONCE ? count : COMPUTED_AT_ONCE;
        if (converter_run(&c->widen, data, &room, n, position, err) != OK)
            break;
        for (uint64_t i = 0; i < n; i++)
            if (wide)
                room.wide[i] *= c->made->scale;
            else
                room.single[i] *= (float)c->made->scale;
        for (uint64_t i = 0; i < n && c->made->add != 0; i++) /* -0 + 0 would not be -0 */
            if (wide)
                room.wide[i] += c->made->add;
            else
                room.single[i] += (float)c->made->add;
        converter_run(&c->narrow, &room, data, n, position, err);
        position += n;
    }
}

static enum status composed_run(struct composed *c, uint64_t position, uint64_t count, uint8_t *dst,
                                struct error *err)
{
    if (!count)
        return OK;
    memset(dst, 0, (size_t)count * c->unit);
    for (uint64_t i = 0; i < c->made->count && err->status == OK; i++) {
        const struct composed_part *p = &c->made->part[i];
        uint64_t at = before(c, p, position), end = before(c, p, position + count);
        struct source *s = NULL;
        struct gather g;
        if (at < end && !p->view.zeros) /* else the caller has cleared dst */
            s = part_source(c, i, err);
        while (s && at < end && err->status == OK) {
            at += next_box(c, p, at, end, &g);
            g.unit = c->unit;
            g.to -= position;
            gather_run(&g, s, dst, err);
        }
    }
    if (composed_computes(c))
        compute(c, dst, position, count, err);
    return err->status;
}

static enum status composed_slice(struct composed *c, const struct ckptdb_slice *slices,
                                  uint64_t position, uint64_t count, uint8_t *dst,
                                  struct error *err)
{
    const struct ckptdb_slice whole = {.count = 1, .step = 1};
    const struct ckptdb_slice *last = c->tensor->rank ? &slices[c->tensor->rank - 1] : &whole;
    while (count && err->status == OK) {
        uint64_t n = last->step == 1 ? last->count - position % last->count : 1;
        n = n < count ? n : count;
        composed_run(c, slice_position(slices, c->tensor->shape, c->tensor->rank, position), n, dst,
                     err);
        position += n;
        count -= n;
        dst += n * c->unit;
    }
    return err->status;
}

/* --- the reader -------------------------------------------------------------------------- */

static enum status composed_gather(struct reader *r, const struct ckptdb_slice *slices,
                                   uint64_t position, uint64_t count, uint8_t *dst,
                                   struct error *err)
{
    return slices ? composed_slice(r->own, slices, position, count, dst, err)
                  : composed_run(r->own, position, count, dst, err);
}

static enum status composed_verify(struct reader *composed, struct error *err)
{
    const struct composed *c = composed->own;
    const struct composition *made = c->made;
    for (uint64_t i = 0; i < made->count && err->status == OK; i++) {
        const struct composed_part *p = &made->part[i];
        struct reader *r = NULL;
        if (!p->view.zeros && reader_open(p->tensor, c->files, &r, err) == OK &&
            reader_verify(r, err) != OK)
            error_prefix(err, p->tensor->name);
        reader_close(r);
    }
    return err->status;
}

static uint64_t composed_memory(const struct reader *r)
{
    const struct composed *c = r->own;
    return c->memory;
}

static void composed_close(struct reader *r)
{
    struct composed *c = r->own;
    if (!c)
        return;
    for (uint64_t i = 0; c->part && i < c->made->count; i++) {
        struct open_part *p = &c->part[i];
        if (p->kept)
            kept_give(kept_tensors(c->files), p->kept);
        else
            source_close(p->source);
    }
    free(c->part);
    pthread_mutex_destroy(&c->lock);
    free(c);
}

static const struct reader_ops composed_ops = {.read = units_read,
                                               .gather = composed_gather,
                                               .verify = composed_verify,
                                               .memory = composed_memory,
                                               .close = composed_close};

static bool composed_takes(const struct stored_tensor *t)
{
    return t->composition;
}

static enum status composed_open(struct reader *r, struct error *err)
{
    const struct stored_tensor *t = r->tensor;
    struct composed *c = calloc(1, sizeof(*c));
    if (!c)
        return error_memory_at(err, t->checkpoint);
    r->ops = &composed_ops;
    r->own = c;
    c->tensor = t;
    c->files = r->files;
    c->made = t->composition;
    c->unit = t->dtype.block_bytes;
    c->gathers = c->made->count > 1 || !view_is_run(&c->made->part[0].view);
    pthread_mutex_init(&c->lock, NULL);
    c->part = calloc((size_t)c->made->count, sizeof(*c->part));
    if (!c->part)
        return error_memory_at(err, t->checkpoint);
    if (units_open(r, err) == OK && find_converters(c, err) == OK)
        try_parts(c, err);
    r->units.moves = c->gathers;
    r->sequential = c->sequential || c->gathers;
    return err->status;
}

const struct reader_kind reader_kind_composed = {composed_takes, composed_open};

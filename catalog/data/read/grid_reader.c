#include "catalog/data/read/grid_reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "catalog/base/pages.h"
#include "catalog/data/codec/codec.h"
#include "catalog/data/codec/strings.h"
#include "catalog/data/read/decode.h"
#include "catalog/data/read/reader.h"
#include "catalog/data/store/temporary.h"

#define BUDGET_BYTES ((uint64_t)256 << 20)
#define UNIT_BYTES   ((size_t)16 << 20)   /* of one element, at most */
#define BAND_BYTES   ((uint64_t)32 << 20) /* most, of a band of several rows of chunks */
#define BAND_LEAST   ((uint64_t)4 << 20)  /* least that it aims at */
#define BAND_CHUNKS  65536                /* chunks of such a band, at most */
#define AHEAD_LEAST  ((uint64_t)1 << 20)  /* smaller first bands are not decoded ahead */
#define AHEAD_FROM   8                    /* begin when 1/8 of a band has been read */
#define AHEAD_BANDS  8                    /* decoded ahead, at most */
#define AHEAD_TURNS  3                    /* chunks decoded ahead per thread, about */
#define FILE_BYTES   ((uint64_t)1 << 40)  /* of a temporary file, at most */

enum band_kind {
    BAND_NONE,
    BAND_FILL, /* no chunk of the band exists */
    BAND_MEMORY,
    BAND_FILE,
    BAND_STREAM
};

struct band {
    struct box box;
    uint64_t begin, end; /* bytes of the slice */
};

struct buffer {
    uint8_t *at;
    uint64_t room;
};

/* A band that is being decoded ahead. */
struct band_ahead {
    struct band band;
    struct buffer memory;
    struct decode_job *job;
};

struct grid_reader {
    struct source base; /* must be first: the chosen slice */
    const struct stored_tensor *tensor;
    size_t unit;
    uint64_t chunk; /* elements of a chunk */
    struct decode *decode;
    struct grid_limits limits;
    struct ckptdb_slice *slices; /* the slice that `base` gives */
    bool chosen;                 /* `slices` is set */
    struct source *packed;       /* packs `base` if stored one element per byte */

    enum band_kind kind;
    struct band band;
    struct buffer memory;
    int fd; /* temporary file; -1: not open */
    struct source *stream;

    struct band_ahead ahead[AHEAD_BANDS];
    /* The first `queued` are being decoded, in order; then free ones, the most recently used
     * first. */
    struct band_ahead *queue[AHEAD_BANDS];
    unsigned queued;
    uint64_t read_to; /* end of the last read */
    bool looked;      /* go_ahead() has begun what follows this band */
};

/* --- the band at hand ------------------------------------------------------------------- */

static void drop_band(struct grid_reader *g)
{
    source_close(g->stream);
    g->stream = NULL;
    g->kind = BAND_NONE;
    g->looked = false;
}

static bool buffer_grow(struct buffer *b, uint64_t len)
{
    if (len <= b->room)
        return true;
    free(b->at);
    b->at = pages_alloc((size_t)len);
    b->room = b->at ? len : 0;
    return b->at;
}

/* Bytes of the buffers of all bands, in use or not. */
static uint64_t bands_memory(const struct grid_reader *g)
{
    uint64_t sum = g->memory.room;
    for (unsigned i = 0; i < AHEAD_BANDS; i++)
        sum += g->ahead[i].memory.room;
    return sum;
}

static void fill_memory(struct grid_reader *g, struct error *err)
{
    if (!buffer_grow(&g->memory, g->band.end - g->band.begin))
        error_memory_at(err, g->base.name);
    else if (decode_to_memory(g->decode, g->slices, &g->band.box, bands_memory(g), g->memory.at,
                              err) == OK)
        g->kind = BAND_MEMORY;
}

static void fill_file(struct grid_reader *g, struct error *err)
{
    uint64_t len = g->band.end - g->band.begin;
    if (len > FILE_BYTES)
        error_set(err, ERR_LIMIT, g->base.name, NO_OFFSET,
                  "a row of chunks is %llu bytes, most is %llu; read slices instead",
                  (unsigned long long)len, (unsigned long long)FILE_BYTES);
    else if (g->fd < 0)
        g->fd = temporary_open(g->base.name, err);
    if (err->status == OK && temporary_clear(g->fd, len, g->base.name, err) == OK &&
        decode_to_file(g->decode, g->slices, &g->band.box, g->fd, err) == OK)
        g->kind = BAND_FILE;
}

/* The most elements in a band of several rows of chunks: enough for all threads, few enough for
 * the processor's caches. */
static uint64_t rows_most(const struct grid_reader *g)
{
    uint64_t most = g->limits.budget / 8, useful;
    if (!mul_u64(g->chunk * g->unit, decode_threads(g->decode), &useful) || useful > BAND_BYTES)
        useful = BAND_BYTES;
    useful = useful < BAND_LEAST ? BAND_LEAST : useful;
    most = (most < useful ? most : useful) / g->unit;
    return most / BAND_CHUNKS < g->chunk ? most : g->chunk * BAND_CHUNKS;
}

/* The band with the byte at `offset`. */
static void find_band(const struct grid_reader *g, uint64_t offset, struct band *out)
{
    out->begin = g->unit * band_find(g->slices, g->tensor->rank, decode_chunk(g->decode),
                                     offset / g->unit, rows_most(g), &out->box);
    out->end = out->begin + out->box.units * g->unit;
}

/* --- bands to come ---------------------------------------------------------------------- */

/* Whether to decode the band in `a` ahead: it has chunks, and fits into half of the budget. */
static bool worth_it(const struct grid_reader *g, const struct band_ahead *a)
{
    uint64_t len = a->band.end - a->band.begin;
    if (!g->queued && len < g->limits.ahead_least)
        return false;
    return bands_memory(g) - a->memory.room + len <= g->limits.budget / 2 &&
           !decode_nothing(g->decode, g->slices, &a->band.box);
}

/* Begin to decode the bands after the last one begun, until all threads have enough to do. */
static void begin_ahead(struct grid_reader *g)
{
    uint64_t chunks = 0, end = g->band.end;
    for (unsigned i = 0; i < AHEAD_BANDS; i++) {
        struct band_ahead *a = g->queue[i];
        if (i == g->queued) {
            if (end >= g->base.size || chunks >= (uint64_t)AHEAD_TURNS * decode_threads(g->decode))
                return;
            find_band(g, end, &a->band);
            if (!worth_it(g, a) || !buffer_grow(&a->memory, a->band.end - a->band.begin))
                return;
            a->job = decode_begin(g->decode, g->slices, &a->band.box, g->limits.budget / 2,
                                  a->memory.at);
            if (!a->job)
                return;
            g->queued++;
        }
        chunks += a->band.box.units / g->chunk;
        end = a->band.end;
    }
}

/* [from, to) of this band was read: if reads follow one another, begin to decode the next bands. */
static void go_ahead(struct grid_reader *g, uint64_t from, uint64_t to)
{
    uint64_t begin = g->band.begin, end = g->band.end;
    bool goes_on = from == g->read_to;
    g->read_to = to;
    if (!goes_on || g->looked || g->kind != BAND_MEMORY ||
        (!g->queued && to - begin < (end - begin) / AHEAD_FROM))
        return;
    g->looked = true;
    begin_ahead(g);
}

static void stop_ahead(struct grid_reader *g)
{
    while (g->queued)
        decode_drop(g->queue[--g->queued]->job);
}

/* Take the next band if it was decoded ahead and has `offset`; otherwise drop all that were, and
 * return false. */
static bool take_next(struct grid_reader *g, uint64_t offset, struct error *err)
{
    struct band_ahead *a = g->queue[0];
    if (!g->queued || offset < a->band.begin || offset >= a->band.end) {
        stop_ahead(g);
        return false;
    }
    struct buffer memory = g->memory;
    g->memory = a->memory;
    a->memory = memory;
    g->band = a->band;
    if (decode_finish(a->job, err) == OK)
        g->kind = BAND_MEMORY;
    g->queued--;
    for (unsigned i = 0; i < g->queued; i++)
        g->queue[i] = g->queue[i + 1];
    g->queue[g->queued] = a;
    return true;
}

/* Load the band with the byte at `offset`. */
static void load_band(struct grid_reader *g, uint64_t offset, struct error *err)
{
    drop_band(g);
    if (take_next(g, offset, err))
        return;
    find_band(g, offset, &g->band);
    if (decode_nothing(g->decode, g->slices, &g->band.box))
        g->kind = BAND_FILL;
    else if (g->band.end - g->band.begin <= g->limits.budget / 2)
        fill_memory(g, err);
    else if (decode_to_stream(g->decode, g->slices, &g->band.box, &g->stream, err) == OK &&
             !g->stream)
        fill_file(g, err);
    else if (g->stream)
        g->kind = BAND_STREAM;
}

static bool in_band(const struct grid_reader *g, uint64_t offset)
{
    return g->kind != BAND_NONE && offset >= g->band.begin && offset < g->band.end;
}

/* Read from the current band; `offset` counts from its beginning. */
static enum status read_band(struct grid_reader *g, uint64_t offset, uint8_t *dst, size_t len,
                             struct error *err)
{
    switch (g->kind) {
    case BAND_MEMORY: memcpy(dst, g->memory.at + offset, len); return OK;
    case BAND_FILE: return temporary_read(g->fd, offset, dst, len, g->base.name, err);
    case BAND_STREAM: return source_read(g->stream, offset, dst, len, err);
    case BAND_FILL:
    case BAND_NONE: break;
    }
    const uint8_t *fill = decode_fill(g->decode);
    const size_t first = len < g->unit ? len : g->unit;
    for (size_t i = 0; i < first; i++)
        dst[i] = fill[(offset + i) % g->unit];
    for (size_t i = first; i < len; i++) /* each element from the one before */
        dst[i] = dst[i - g->unit];
    return OK;
}

static enum status slice_read(const struct source *base, uint64_t offset, void *dst, size_t len,
                              struct error *err)
{
    struct grid_reader *g = (struct grid_reader *)base;
    for (uint8_t *at = dst; len;) {
        if (!in_band(g, offset))
            load_band(g, offset, err);
        if (err->status != OK)
            break;
        size_t n = g->band.end - offset < len ? (size_t)(g->band.end - offset) : len;
        if (read_band(g, offset - g->band.begin, at, n, err) != OK) {
            drop_band(g);
            break;
        }
        go_ahead(g, offset, offset + n);
        at += n;
        offset += n;
        len -= n;
    }
    return err->status;
}

/* The grid reader owns its source. */
static void slice_close(struct source *base)
{
    (void)base;
}

static const struct source_ops slice_ops = {.read_at = slice_read, .close = slice_close};

/* --- slices ----------------------------------------------------------------------------- */

static bool same_slices(const struct grid_reader *g, const struct ckptdb_slice *slices)
{
    for (unsigned d = 0; d < g->tensor->rank; d++) {
        const struct ckptdb_slice *s = &g->slices[d], *other = &slices[d];
        if (s->start != other->start || s->count != other->count || s->step != other->step)
            return false;
    }
    return true;
}

enum status grid_reader_slice(struct grid_reader *g, const struct ckptdb_slice *slices,
                              struct source **out, struct error *err)
{
    struct ckptdb_slice whole[TENSOR_RANK_MAX];
    for (unsigned d = 0; !slices && d < g->tensor->rank; d++)
        whole[d] = (struct ckptdb_slice){.count = g->tensor->shape[d], .step = 1};
    slices = slices ? slices : whole;
    if (!g->chosen || !same_slices(g, slices)) {
        uint64_t bits;
        char step[CODEC_STEP_BYTES];
        stop_ahead(g);
        drop_band(g);
        source_close(g->packed);
        g->packed = NULL;
        g->chosen = false;
        for (unsigned d = 0; d < g->tensor->rank; d++)
            g->slices[d] = slices[d];
        g->base.size = slice_elements(slices, g->tensor->rank) * g->unit;
        if (codec_chain_argument(g->tensor->codec, "unpack", &bits)) {
            snprintf(step, sizeof(step), "unpack:%llu", (unsigned long long)bits);
            codec_chain_open(&g->base, step, &g->packed, NULL, err);
        }
        g->chosen = err->status == OK;
    }
    *out = g->packed ? g->packed : &g->base;
    return err->status;
}

/* ---------------------------------------------------------------------------------------- */

enum status grid_reader_open(const struct stored_tensor *t, struct file_cache *files, size_t unit,
                             const struct grid_limits *limits, struct grid_reader **out,
                             struct error *err)
{
    if (unit > UNIT_BYTES)
        return error_set(err, ERR_LIMIT, t->checkpoint, NO_OFFSET,
                         "elements of %zu bytes in chunks, most is %zu", unit, UNIT_BYTES);
    struct grid_reader *g = calloc(1, sizeof(*g));
    if (g)
        g->slices = calloc(t->rank + 1, sizeof(*g->slices));
    if (!g || !g->slices) {
        free(g);
        return error_memory_at(err, t->checkpoint);
    }
    for (unsigned i = 0; i < AHEAD_BANDS; i++)
        g->queue[i] = &g->ahead[i];
    g->base = (struct source){&slice_ops, 0, t->checkpoint, true, NULL};
    g->tensor = t;
    g->unit = unit;
    g->fd = -1;
    g->limits =
        limits ? *limits : (struct grid_limits){.budget = BUDGET_BYTES, .ahead_least = AHEAD_LEAST};
    if (decode_open(t, files, unit, &g->limits, &g->decode, err) != OK) {
        grid_reader_close(g);
        return err->status;
    }
    shape_elements(decode_chunk(g->decode), t->rank, &g->chunk);
    *out = g;
    return OK;
}

void grid_reader_close(struct grid_reader *g)
{
    if (!g)
        return;
    stop_ahead(g);
    drop_band(g);
    source_close(g->packed);
    decode_close(g->decode);
    if (g->fd >= 0)
        close(g->fd);
    free(g->memory.at);
    for (unsigned i = 0; i < AHEAD_BANDS; i++)
        free(g->ahead[i].memory.at);
    free(g->slices);
    free(g);
}

/* --- the kind of reader ------------------------------------------------------------ */

static enum status grid_read(struct reader *r, const struct ckptdb_slice *slices, uint64_t start,
                             uint8_t *dst, size_t len, struct error *err)
{
    struct source *s = NULL;
    uint64_t end;
    if (grid_reader_slice(r->own, slices, &s, err) == OK &&
        (!add_u64(start, len, &end) || end > s->size))
        reader_past_end(r, s->size, err);
    return err->status == OK ? source_read(s, start, dst, len, err) : err->status;
}

static const uint8_t *grid_lend(struct reader *r, const struct ckptdb_slice *slices, uint64_t start,
                                size_t len, struct error *err)
{
    struct grid_reader *g = r->own;
    struct source *s = NULL;
    struct error ignored = {.offset = NO_OFFSET}; /* the next read reports it */
    if (grid_reader_slice(g, slices, &s, err) != OK || g->packed || start >= g->base.size)
        return NULL;
    if (!in_band(g, start))
        load_band(g, start, &ignored);
    if (g->kind != BAND_MEMORY || len > g->band.end - start)
        return NULL;
    go_ahead(g, start, start + len);
    return g->memory.at + (start - g->band.begin);
}

static uint64_t grid_from(struct reader *r, uint64_t start)
{
    struct grid_reader *g = r->own;
    struct source *s = NULL;
    struct error ignored = {.offset = NO_OFFSET}; /* the next read reports it */
    uint64_t at = start, position;
    struct band band;
    if (grid_reader_slice(g, NULL, &s, &ignored) != OK || g->packed)
        return start;
    while (at < g->base.size) {
        find_band(g, at, &band);
        if (!decode_nothing(g->decode, g->slices, &band.box))
            return at;
        if (band.end >= g->base.size || !decode_from(g->decode, band.end / g->unit, &position))
            return g->base.size;
        at = position * g->unit;
    }
    return at;
}

static uint64_t grid_memory(const struct reader *r)
{
    const struct grid_reader *g = r->own;
    uint64_t budget = g->limits.budget, bands, chunks;
    if (!mul_u64(g->tensor->elements, g->unit, &bands) ||
        !add_u64(bands, decode_memory(g->decode, bands), &chunks))
        return budget;
    return chunks < budget ? chunks : budget;
}

static void grid_close(struct reader *r)
{
    grid_reader_close(r->own);
}

static void texts_close(struct reader *r)
{
    string_grid_close(r->texts);
}

static const struct reader_ops grid_ops = {.read = grid_read,
                                           .lend = grid_lend,
                                           .from = grid_from,
                                           .memory = grid_memory,
                                           .close = grid_close};
static const struct reader_ops texts_ops = {.close = texts_close};

/* Bytes of an element in a chunk; 0: strings of varying length. */
static enum status grid_unit(const struct stored_tensor *t, uint64_t *unit, struct error *err)
{
    uint64_t bits = 0;
    *unit = t->dtype.block_bytes;
    if (t->dtype.kind == DTYPE_STRING)
        strings_width(t->codec, unit);
    else if (codec_chain_argument(t->codec, "unpack", &bits))
        *unit = 1; /* chunks hold one element per byte; packing comes after them */
    else if (codec_chain_has(t->codec, "strings"))
        return error_set(err, ERR_CORRUPT, t->checkpoint, NO_OFFSET,
                         "elements of dtype %s stored as strings", t->dtype.name);
    if ((bits ? bits != t->dtype.bits : t->dtype.block_elems > 1) || t->strides)
        return error_set(err, ERR_UNSUPPORTED, t->checkpoint, NO_OFFSET,
                         "%s elements in chunks of this kind cannot be read", t->dtype.name);
    return OK;
}

static bool grid_takes(const struct stored_tensor *t)
{
    return t->grid;
}

/* A unit of a grid is always one element: packed dtypes are packed after the elements are in C
 * order. */
static enum status grid_open(struct reader *r, struct error *err)
{
    uint64_t unit;
    struct grid_reader *grid = NULL;
    if (grid_unit(r->tensor, &unit, err) != OK)
        return err->status;
    r->ops = unit ? &grid_ops : &texts_ops;
    r->block = 1;
    r->unit = unit ? (size_t)unit : 1;
    r->sequential = true;
    if (!unit)
        return string_grid_open(r->tensor, r->files, &r->texts, err);
    grid_reader_open(r->tensor, r->files, r->unit, NULL, &grid, err);
    r->own = grid;
    return err->status;
}

const struct reader_kind reader_kind_grid = {grid_takes, grid_open};

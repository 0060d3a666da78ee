/*
 * read_grid.c - the reader of a tensor in a grid of chunks (grid_reader.h, string_grid.h).
 */
#include "catalog/data/codec/codec.h"
#include "catalog/data/codec/strings.h"
#include "catalog/data/read/grid_reader.h"
#include "catalog/data/read/reader.h"

static enum status grid_read(struct reader *r, const struct slice *slices, uint64_t start,
                             uint8_t *dst, size_t len, struct error *err)
{
    struct source *s = NULL;
    uint64_t end;
    if (grid_reader_slice(r->own, slices, &s, err) != OK)
        return err->status;
    if (!add_u64(start, len, &end) || end > s->size)
        return reader_past_end(r, s->size, err);
    return source_read(s, start, dst, len, err);
}

static const uint8_t *grid_lend(struct reader *r, const struct slice *slices, uint64_t start,
                                size_t len, struct error *err)
{
    struct source *s = NULL;
    return grid_reader_slice(r->own, slices, &s, err) == OK ? grid_reader_lend(r->own, start, len)
                                                            : NULL;
}

static uint64_t grid_from(struct reader *r, uint64_t start)
{
    struct source *s = NULL;
    struct error ignored = {.offset = NO_OFFSET}; /* the next read reports it */
    return grid_reader_slice(r->own, NULL, &s, &ignored) == OK ? grid_reader_from(r->own, start)
                                                               : start;
}

static uint64_t grid_memory(const struct reader *r)
{
    return grid_reader_memory(r->own);
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
                         "elements of dtype %s that are strings", t->dtype.name);
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

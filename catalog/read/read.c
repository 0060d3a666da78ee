/*
 * read.c - the reader: extents to logical bytes.
 *
 * A tensor that is one run in C order is its source, byte for byte ("flat"). Everything
 * else is cut into boxes, and each box is gathered from the extents it touches. Work is
 * done in units: an element, or a block of packed ones along the last dimension.
 */
#include "catalog/read/read.h"

#include <pthread.h>
#include <stdlib.h>

#include "catalog/base/pages.h"
#include "catalog/codec/codec.h"
#include "catalog/codec/strings.h"
#include "catalog/read/boxes.h"
#include "catalog/read/reader.h"

/* A tensor in another order than C is gathered so many bytes at a time when it is read
 * front to back: the larger, the longer the runs in the file. */
#define BAND_BYTES ((uint64_t)16 << 20)

static enum status no_memory(const struct stored_tensor *t, struct error *err)
{
    return error_set(err, ERR_MEMORY, t->checkpoint, NO_OFFSET, "no memory");
}

/* --- opening ---------------------------------------------------------------------------- */

static enum status check_kind(const struct stored_tensor *t, struct error *err)
{
    uint64_t elements, width;
    if (t->dtype.kind == DTYPE_STRING && t->storage != STORAGE_NONE) {
        if (!strings_width(t->codec, &width))
            return error_set(err, ERR_UNSUPPORTED, t->checkpoint, NO_OFFSET,
                             "strings in an encoding that is not known");
    } else if (t->storage == STORAGE_NONE) {
        return error_set(err, ERR_UNSUPPORTED, t->checkpoint, NO_OFFSET,
                         "the tensor has no bytes to read");
    } else if (!dtype_sized(&t->dtype)) {
        return error_set(err, ERR_UNSUPPORTED, t->checkpoint, NO_OFFSET,
                         "elements of dtype %s cannot be read", t->dtype.name);
    }
    if (t->rank > TENSOR_RANK_MAX || !shape_elements(t->shape, t->rank, &elements) ||
        elements != t->elements)
        return error_set(err, ERR_CORRUPT, t->checkpoint, NO_OFFSET,
                         "the shape contradicts the number of elements");
    return OK;
}

/* Unit, block and size. */
static enum status measure(struct reader *r, struct error *err)
{
    const struct stored_tensor *t = r->tensor;
    uint64_t width = t->dtype.block_bytes;
    bool fits = true;
    r->block = t->dtype.block_elems ? t->dtype.block_elems : 1;
    if (t->dtype.kind == DTYPE_STRING) {
        strings_width(t->codec, &width);
        fits = mul_u64(t->elements, width, &r->nbytes);
    } else {
        fits = dtype_nbytes(&t->dtype, t->elements, &r->nbytes);
    }
    if (!fits || width > INT64_MAX)
        return error_set(err, ERR_CORRUPT, t->checkpoint, NO_OFFSET,
                         "the tensor's size overflows");
    r->unit = width ? (size_t)width : 1;
    r->shaped =
        width && (r->block == 1 || (t->rank && t->shape[t->rank - 1] % r->block == 0));
    return OK;
}

/* Bytes of an element in the chunks of a grid; 0 where they differ. */
static enum status grid_unit(const struct stored_tensor *t, uint64_t *unit,
                             struct error *err)
{
    uint64_t bits = 0;
    *unit = t->dtype.block_bytes;
    if (t->dtype.kind == DTYPE_STRING)
        strings_width(t->codec, unit);
    else if (codec_chain_argument(t->codec, "unpack", &bits))
        *unit = 1; /* not packed yet */
    else if (codec_chain_has(t->codec, "strings"))
        return error_set(err, ERR_CORRUPT, t->checkpoint, NO_OFFSET,
                         "elements of dtype %s that are strings", t->dtype.name);
    if ((bits ? bits != t->dtype.bits : t->dtype.block_elems > 1) || t->strides)
        return error_set(err, ERR_UNSUPPORTED, t->checkpoint, NO_OFFSET,
                         "%s elements in chunks of this kind cannot be read",
                         t->dtype.name);
    return OK;
}

/* The elements of a grid are not cut in blocks, even if they are packed: that is done where
 * they are in C order. */
static enum status plan_grid(struct reader *r, struct error *err)
{
    uint64_t unit;
    if (grid_unit(r->tensor, &unit, err) != OK)
        return err->status;
    r->block = 1;
    r->unit = unit ? (size_t)unit : 1;
    r->sequential = true;
    if (!unit)
        return string_grid_open(r->tensor, &r->texts, err);
    return grid_reader_open(r->tensor, r->unit, NULL, &r->grid, err);
}

/* A single extent without steps of its own is flat. */
static bool is_flat(const struct stored_tensor *t)
{
    const struct extent *e = t->extents;
    if (t->extent_count != 1 || t->strides || e->strides)
        return false;
    for (unsigned d = 0; d < t->rank; d++)
        if ((e->origin && e->origin[d]) || (e->shape && e->shape[d] != t->shape[d]))
            return false;
    return true;
}

static bool any_strides(const struct stored_tensor *t)
{
    bool any = t->strides;
    for (uint64_t i = 0; i < t->extent_count && !any; i++)
        any = t->extents[i].strides;
    return any;
}

static enum status cut_in_units(struct reader *r, struct error *err)
{
    const struct stored_tensor *t = r->tensor;
    r->whole = calloc(t->rank + 1, sizeof(*r->whole));
    r->shape = calloc(t->rank + 1, sizeof(*r->shape));
    if (!r->whole || !r->shape)
        return no_memory(t, err);
    for (unsigned d = 0; d < t->rank; d++) {
        r->shape[d] = t->shape[d] / (d + 1 == t->rank ? r->block : 1);
        r->whole[d] = (struct slice){.count = r->shape[d], .step = 1};
    }
    return OK;
}

static enum status plan(struct reader *r, struct error *err)
{
    const struct stored_tensor *t = r->tensor;
    if (cut_in_units(r, err) != OK)
        return err->status;
    r->flat = is_flat(t);
    r->strided = any_strides(t);
    if (r->flat || t->elements == 0)
        return OK;
    bool vary = strings_vary(t->codec);
    if (vary && !r->strided)
        return tiles_open(t, &r->tiles, err);
    if (vary || !r->shaped || (r->strided && r->block > 1))
        return error_set(err, ERR_UNSUPPORTED, t->checkpoint, NO_OFFSET,
                         "%s elements in this arrangement cannot be read", t->dtype.name);
    return tiles_open(t, &r->tiles, err);
}

static enum status plan_composed(struct reader *r, struct error *err)
{
    if (cut_in_units(r, err) != OK || composed_open(r->tensor, &r->composed, err) != OK)
        return err->status;
    r->sequential = composed_sequential(r->composed);
    return OK;
}

/* Whether decoding goes one way only is asked of the first extent. */
static enum status look_at_first(struct reader *r, struct error *err)
{
    const struct stored_tensor *t = r->tensor;
    struct lease lease;
    if (t->elements == 0 || !t->extent_count)
        return OK;
    if (pool_take(r->pool, 0, false, &lease, err) != OK) /* decodes nothing yet */
        return err->status;
    r->sequential = t->strides || lease.source->sequential;
    uint64_t size = lease.source->size;
    if (r->flat && !strings_vary(t->codec) && size != r->nbytes)
        error_set(err, ERR_CORRUPT, lease.source->name, t->extents[0].offset,
                  "the tensor's data is %llu bytes, not the %llu of its shape",
                  (unsigned long long)size, (unsigned long long)r->nbytes);
    pool_give(r->pool, &lease);
    return err->status;
}

enum status reader_open(const struct stored_tensor *t, struct reader **out,
                        struct error *err)
{
    if (check_kind(t, err) != OK)
        return err->status;
    struct reader *r = calloc(1, sizeof(*r));
    if (!r)
        return no_memory(t, err);
    pthread_mutex_init(&r->lock, NULL);
    r->tensor = t;
    r->next = UINT64_MAX;
    if (measure(r, err) == OK && t->grid)
        plan_grid(r, err);
    else if (err->status == OK && t->composition)
        plan_composed(r, err);
    else if (err->status == OK && plan(r, err) == OK && pool_open(t, &r->pool, err) == OK)
        look_at_first(r, err);
    if (err->status == OK)
        *out = r;
    else
        reader_close(r);
    return err->status;
}

void reader_close(struct reader *r)
{
    if (!r)
        return;
    grid_reader_close(r->grid);
    composed_close(r->composed);
    string_grid_close(r->texts);
    pool_close(r->pool);
    tiles_close(r->tiles);
    free(r->whole);
    free(r->shape);
    free(r->band);
    pthread_mutex_destroy(&r->lock);
    free(r);
}

bool reader_sequential(const struct reader *r)
{
    return r->sequential;
}

uint64_t reader_memory(const struct reader *r)
{
    return r->grid       ? grid_reader_memory(r->grid)
           : r->composed ? composed_memory(r->composed)
                         : 0;
}

/* --- gathering -------------------------------------------------------------------------- */

/* The steps that are stated of an extent; NULL: those of its box in C order. */
static const int64_t *stated_strides(const struct stored_tensor *t,
                                     const struct extent *e)
{
    return e->strides ? e->strides : t->strides;
}

/* The part's steps: stated ones (or NULL), or those of its box in C order. Its units must all
 * lie in the source. */
static enum status part_strides(const struct reader *r, const struct part *p,
                                const int64_t *stated, const struct source *s,
                                int64_t *strides, struct error *err)
{
    const struct stored_tensor *t = r->tensor;
    uint64_t size = 1, reach = 0, room = s->size / r->unit;
    bool inside = stated || s->size % r->unit == 0;
    for (unsigned d = t->rank; d-- > 0;) {
        uint64_t step = stated ? (uint64_t)stated[d] : size, far;
        if (p->shape[d] > 1)
            inside = inside && step <= INT64_MAX &&
                     mul_u64(p->shape[d] - 1, step, &far) && add_u64(reach, far, &reach);
        strides[d] = (int64_t)step;
        size *= p->shape[d];
    }
    if (!inside || reach >= room || (!stated && size != room))
        return error_set(
            err, ERR_CORRUPT, s->name, NO_OFFSET,
            "the data of a part of the tensor is %llu bytes, which do not hold "
            "its elements",
            (unsigned long long)s->size);
    return OK;
}

/* A box of a slice, and whether the extents will be read in any order. */
struct wanted {
    const struct slice *slices;
    struct box box;
    bool random;
};

/* What of extent i is wanted. */
static enum status gather_extent(struct reader *r, uint64_t i, const struct wanted *w,
                                 uint8_t *dst, struct error *err)
{
    const struct stored_tensor *t = r->tensor;
    const struct extent *e = &t->extents[i];
    uint64_t origin[TENSOR_RANK_MAX], shape[TENSOR_RANK_MAX];
    int64_t strides[TENSOR_RANK_MAX];
    struct part part = {origin, shape, strides};
    const int64_t *stated = stated_strides(t, e);
    struct gather gather = {.unit = r->unit};
    struct lease lease;
    for (unsigned d = 0; d < t->rank; d++) {
        uint64_t block = d + 1 == t->rank ? r->block : 1;
        origin[d] = e->origin ? e->origin[d] / block : 0;
        shape[d] = (e->shape ? e->shape[d] : t->shape[d]) / block;
        strides[d] = 0;
    }
    if (!box_gather(&w->box, w->slices, &part, &gather))
        return OK;
    if (pool_take(r->pool, i, w->random || stated, &lease, err) != OK)
        return err->status;
    if (part_strides(r, &part, stated, lease.source, strides, err) == OK &&
        box_gather(&w->box, w->slices, &part, &gather))
        gather_run(&gather, lease.source, dst, err);
    pool_give(r->pool, &lease);
    return err->status;
}

static enum status gather_box(struct reader *r, const struct wanted *w, uint8_t *dst,
                              struct error *err)
{
    uint64_t first, last, candidate, end;
    if (!r->tiles)
        return gather_extent(r, 0, w, dst, err);
    box_range(&w->box, w->slices, r->shape, &first, &last);
    tiles_between(r->tiles, first, last, &candidate, &end);
    for (; candidate < end; candidate++)
        if (gather_extent(r, tiles_extent(r->tiles, candidate), w, dst, err) != OK)
            return err->status;
    return OK;
}

/* `count` units of a slice from `position`, in C order. */
static enum status gather_units(struct reader *r, const struct slice *slices,
                                uint64_t position, uint64_t count, uint8_t *dst,
                                struct error *err)
{
    struct wanted w = {.slices = slices};
    if (r->composed)
        return slices == r->whole
                   ? composed_read(r->composed, position, count, dst, err)
                   : composed_read_slice(r->composed, slices, position, count, dst, err);
    for (unsigned d = 0; d < r->tensor->rank; d++)
        w.random = w.random || slices[d].step < 0;
    if (r->tensor->extent_count > 1)
        memset(dst, 0, count * r->unit); /* should boxes have deceived tiles_open() */
    while (count) {
        box_next(slices, r->tensor->rank, position, count, &w.box);
        if (gather_box(r, &w, dst, err) != OK)
            return err->status;
        position += w.box.units;
        count -= w.box.units;
        dst += w.box.units * r->unit;
    }
    return OK;
}

/* --- reading ---------------------------------------------------------------------------- */

/* Units of the whole tensor. One in another order is gathered in bands as soon as reads
 * follow each other. */
static enum status read_band(struct reader *r, uint64_t position, uint64_t count,
                             uint8_t *dst, struct error *err)
{
    uint64_t all = r->nbytes / r->unit, most = BAND_BYTES / r->unit;
    while (count) {
        if (position < r->band_at || position >= r->band_at + r->band_len) {
            r->band_at = position;
            r->band_len = 0;
            uint64_t len = all - position < most ? all - position : most;
            if (!r->band && !(r->band = pages_alloc((all < most ? all : most) * r->unit)))
                return no_memory(r->tensor, err);
            if (gather_units(r, r->whole, position, len, r->band, err) != OK)
                return err->status;
            r->band_len = len;
        }
        uint64_t skip = position - r->band_at, n = r->band_len - skip;
        n = n < count ? n : count;
        memcpy(dst, r->band + skip * r->unit, n * r->unit);
        position += n;
        count -= n;
        dst += n * r->unit;
    }
    return OK;
}

static enum status read_units(struct reader *r, uint64_t position, uint64_t count,
                              uint8_t *dst, struct error *err)
{
    enum status status;
    bool moves = r->composed ? composed_gathers(r->composed) : r->strided;
    if (!moves || r->unit > BAND_BYTES)
        return gather_units(r, r->whole, position, count, dst, err);
    pthread_mutex_lock(&r->lock);
    bool goes_on = position == r->next;
    r->next = position + count;
    if (goes_on && count * r->unit < BAND_BYTES)
        status = read_band(r, position, count, dst, err);
    else
        status = gather_units(r, r->whole, position, count, dst, err);
    pthread_mutex_unlock(&r->lock);
    return status;
}

/* Units of a slice, or (slices NULL) of the whole. */
static enum status read_part(struct reader *r, const struct slice *slices,
                             uint64_t position, uint64_t count, uint8_t *dst,
                             struct error *err)
{
    if (!count)
        return OK;
    if (slices)
        return gather_units(r, slices, position, count, dst, err);
    return read_units(r, position, count, dst, err);
}

/* Some bytes inside one unit. */
static enum status read_inside(struct reader *r, const struct slice *slices,
                               uint64_t start, uint8_t *dst, size_t len,
                               struct error *err)
{
    uint8_t *unit = malloc(r->unit);
    if (!unit)
        return no_memory(r->tensor, err);
    if (read_part(r, slices, start / r->unit, 1, unit, err) == OK)
        memcpy(dst, unit + start % r->unit, len);
    free(unit);
    return err->status;
}

static enum status read_bytes(struct reader *r, const struct slice *slices,
                              uint64_t start, uint8_t *dst, size_t len, struct error *err)
{
    size_t within = start % r->unit;
    if (within) {
        size_t n = r->unit - within < len ? r->unit - within : len;
        if (read_inside(r, slices, start, dst, n, err) != OK)
            return err->status;
        start += n;
        dst += n;
        len -= n;
    }
    uint64_t units = len / r->unit;
    size_t rest = len % r->unit;
    if (read_part(r, slices, start / r->unit, units, dst, err) != OK || !rest)
        return err->status;
    return read_inside(r, slices, start + units * r->unit, dst + units * r->unit, rest,
                       err);
}

static enum status read_grid(struct reader *r, const struct slice *slices, uint64_t start,
                             void *dst, size_t len, struct error *err)
{
    struct source *s = NULL;
    uint64_t end;
    if (grid_reader_slice(r->grid, slices, &s, err) != OK)
        return err->status;
    if (!add_u64(start, len, &end) || end > s->size)
        return error_set(err, ERR_ARGUMENT, r->tensor->checkpoint, NO_OFFSET,
                         "the slice has %llu bytes only", (unsigned long long)s->size);
    return source_read(s, start, dst, len, err);
}

enum status reader_read_padded(struct reader *r, uint64_t start, void *dst, size_t len,
                               struct error *err)
{
    struct lease lease;
    uint64_t end;
    if (!add_u64(start, len, &end) || end > r->nbytes)
        return error_set(err, ERR_ARGUMENT, r->tensor->checkpoint, NO_OFFSET,
                         "bytes %llu to %llu asked of a tensor of %llu bytes",
                         (unsigned long long)start, (unsigned long long)start + len,
                         (unsigned long long)r->nbytes);
    if (!len)
        return OK;
    if (r->grid)
        return read_grid(r, NULL, start, dst, len, err);
    if (!r->flat)
        return read_bytes(r, NULL, start, dst, len, err);
    if (pool_take(r->pool, 0, false, &lease, err) != OK)
        return err->status;
    source_read(lease.source, start, dst, len, err);
    pool_give(r->pool, &lease);
    return err->status;
}

static enum status refuse_strings(const struct reader *r, struct error *err)
{
    if (r->tensor->dtype.kind != DTYPE_STRING)
        return OK;
    return error_set(err, ERR_UNSUPPORTED, r->tensor->checkpoint, NO_OFFSET,
                     "strings have no fixed size");
}

enum status reader_read(struct reader *r, uint64_t start, void *dst, size_t len,
                        struct error *err)
{
    return refuse_strings(r, err) == OK ? reader_read_padded(r, start, dst, len, err)
                                        : err->status;
}

/* The slices in units. */
static enum status slices_in_units(const struct reader *r, const struct slice *slices,
                                   struct slice *out, uint64_t *bytes, struct error *err)
{
    const struct stored_tensor *t = r->tensor;
    *bytes = r->unit;
    for (unsigned d = 0; d < t->rank; d++) {
        struct slice s = slices[d];
        uint64_t size = s.step < 0 ? -(uint64_t)s.step : (uint64_t)s.step, far = 0;
        bool fits = s.count <= 1 || mul_u64(s.count - 1, size, &far);
        if (s.count && (!fits || s.start >= t->shape[d] || (s.count > 1 && !s.step) ||
                        far > (s.step < 0 ? s.start : t->shape[d] - 1 - s.start)))
            return error_set(err, ERR_ARGUMENT, t->checkpoint, NO_OFFSET,
                             "the slice of dimension %u lies outside the tensor", d);
        if (d + 1 == t->rank && r->block > 1) {
            bool whole =
                s.start % r->block == 0 && s.count % r->block == 0 && s.step == 1;
            if (!whole || !r->shaped)
                return error_set(
                    err, ERR_UNSUPPORTED, t->checkpoint, NO_OFFSET,
                    "a slice of packed %s elements must take whole blocks of "
                    "%llu along the last dimension",
                    t->dtype.name, (unsigned long long)r->block);
            s.start /= r->block;
            s.count /= r->block;
        }
        out[d] = s;
        *bytes *= s.count;
    }
    return OK;
}

uint64_t slice_elements(const struct slice *slices, unsigned rank)
{
    uint64_t elements = 1;
    for (unsigned d = 0; d < rank; d++)
        if (!mul_u64(elements, slices[d].count, &elements))
            return UINT64_MAX; /* cannot be: no more than the tensor has */
    return elements;
}

enum status reader_read_slice(struct reader *r, const struct slice *slices,
                              uint64_t start, void *dst, size_t len, struct error *err)
{
    struct slice in_units[TENSOR_RANK_MAX] = {{0}};
    uint64_t bytes, end;
    if (refuse_strings(r, err) != OK ||
        slices_in_units(r, slices, in_units, &bytes, err) != OK)
        return err->status;
    if (r->grid)
        return read_grid(r, in_units, start, dst, len, err);
    if (!add_u64(start, len, &end) || end > bytes)
        return error_set(err, ERR_ARGUMENT, r->tensor->checkpoint, NO_OFFSET,
                         "the slice has %llu bytes only", (unsigned long long)bytes);
    return len ? read_bytes(r, in_units, start, dst, len, err) : OK;
}

enum status reader_borrow(struct reader *r, const struct slice *slices, uint64_t start,
                          void *room, struct bytes *out, struct error *err)
{
    struct slice in_units[TENSOR_RANK_MAX] = {{0}};
    struct source *s = NULL;
    uint64_t bytes;
    out->at = NULL;
    if (r->grid && refuse_strings(r, err) == OK &&
        (!slices || slices_in_units(r, slices, in_units, &bytes, err) == OK) &&
        grid_reader_slice(r->grid, slices ? in_units : NULL, &s, err) == OK)
        out->at = grid_reader_lend(r->grid, start, out->len);
    if (err->status != OK || out->at)
        return err->status;
    out->at = room;
    return slices ? reader_read_slice(r, slices, start, room, out->len, err)
                  : reader_read(r, start, room, out->len, err);
}

bool reader_plain(const struct reader *r, int *fd, uint64_t *offset)
{
    struct lease lease;
    struct error ignored = {0};
    if (!r->flat || !r->nbytes || pool_take(r->pool, 0, false, &lease, &ignored) != OK)
        return false;
    *fd = source_descriptor(lease.source, offset);
    pool_give(r->pool, &lease);
    return *fd >= 0;
}

enum status reader_verify(struct reader *r, struct error *err)
{
    if (r->composed)
        return composed_verify(r->composed, err);
    if (r->tensor->grid)
        return OK; /* what a chunk's codec states has been verified where it was read */
    if (strings_vary(r->tensor->codec))
        return reader_verify_strings(r, err);
    return pool_verify(r->pool, err);
}

enum status tensor_as_stored(struct stored_tensor *t, struct arena *arena,
                             struct error *err)
{
    uint64_t bits;
    const char *last = t->codec ? strrchr(t->codec, '|') : NULL;
    last = last ? last + 1 : t->codec;
    if (!last || strncmp(last, "unpack:", 7) != 0 || !codec_number(last + 7, &bits))
        return OK;
    size_t len = last == t->codec ? 0 : (size_t)(last - t->codec) - 1;
    t->codec = len ? arena_copy(arena, t->codec, len) : NULL;
    if (len && !t->codec)
        return no_memory(t, err);
    dtype_find("uint8", &t->dtype);
    t->nbytes = t->elements;
    return OK;
}

/*
 * read_extents.c - a tensor that is stored in extents.
 *
 * A tensor that is one run in C order is "flat": its source holds its bytes. Any other is cut into
 * boxes, and each box is gathered from the extents it intersects. All numbers of boxes are in
 * units: elements, or blocks of packed ones along the last dimension.
 */
#include <stdlib.h>

#include "catalog/base/search.h"
#include "catalog/data/codec/strings.h"
#include "catalog/data/model/tiling.h"
#include "catalog/data/read/gather.h"
#include "catalog/data/read/reader.h"

/* --- how extents tile the tensor -------------------------------------------------- */

struct tile {
    uint64_t first; /* position, in C order, of the box's first element */
    uint64_t reach; /* highest position in this box or any before it in the list */
    uint64_t extent;
};

struct tiles {
    uint64_t count;
    struct tile tile[];
};

static enum status not_tiled(const struct stored_tensor *t, const char *how, struct error *err)
{
    return error_set(err, ERR_CORRUPT, t->checkpoint, NO_OFFSET, "the parts of the tensor %s", how);
}

static enum status check_box(const struct stored_tensor *t, const struct extent *e,
                             struct error *err)
{
    uint64_t block = t->dtype.block_elems;
    for (unsigned d = 0; d < t->rank && e->shape; d++) {
        uint64_t origin = e->origin ? e->origin[d] : 0;
        if (origin > t->shape[d] || e->shape[d] > t->shape[d] - origin)
            return not_tiled(t, "do not lie inside it", err);
    }
    unsigned last = t->rank - 1;
    if (block > 1 && t->rank &&
        (t->shape[last] % block ||
         (e->shape && (e->shape[last] % block || (e->origin && e->origin[last] % block)))))
        return error_set(err, ERR_UNSUPPORTED, t->checkpoint, NO_OFFSET,
                         "the parts of the tensor cut blocks of packed elements");
    return OK;
}

/* The first and last position, in units, of a box that is not empty. */
static void range_of(const struct stored_tensor *t, const struct extent *e, uint64_t *first,
                     uint64_t *last)
{
    uint64_t stride = 1;
    *first = *last = 0;
    for (unsigned d = t->rank; d-- > 0;) {
        uint64_t block = d == t->rank - 1 ? t->dtype.block_elems : 1;
        uint64_t origin = e->origin ? e->origin[d] / block : 0;
        uint64_t count = (e->shape ? e->shape[d] : t->shape[d]) / block;
        *first += origin * stride;
        *last += (origin + count - 1) * stride;
        stride *= t->shape[d] / block;
    }
}

static int by_first(const void *a, const void *b)
{
    const struct tile *x = a, *y = b;
    if (x->first != y->first)
        return x->first < y->first ? -1 : 1;
    return x->extent < y->extent ? -1 : x->extent > y->extent;
}

/* Fails with ERR_CORRUPT unless the boxes of the tensor's extents cover every element exactly once;
 * ERR_UNSUPPORTED when a box cuts a block of packed elements. */
static enum status tiles_open(const struct stored_tensor *t, struct tiles **out, struct error *err)
{
    uint64_t elements = 0;
    struct tiling tiling = tiling_of(t->shape, t->rank);
    struct tiles *tiles = *out = calloc(1, sizeof(*tiles) + t->extent_count * sizeof(struct tile));
    if (!tiles)
        return error_memory_at(err, t->checkpoint);
    for (uint64_t i = 0; i < t->extent_count; i++) {
        const struct extent *e = &t->extents[i];
        const uint64_t *shape = e->shape ? e->shape : t->shape;
        uint64_t volume = 1;
        if (check_box(t, e, err) != OK)
            break;
        for (unsigned d = 0; d < t->rank; d++)
            volume *= shape[d];
        if (volume == 0)
            continue;
        struct tile *tile = &tiles->tile[tiles->count++];
        tile->extent = i;
        range_of(t, e, &tile->first, &tile->reach);
        tiling_add(&tiling, e->origin, shape);
        if (!add_u64(elements, volume, &elements))
            elements = UINT64_MAX;
    }
    if (err->status == OK && (elements != t->elements || !tiling_complete(&tiling)))
        not_tiled(t, elements < t->elements ? "do not cover it" : "overlap", err);
    bool sorted = true;
    for (uint64_t i = 1; i < tiles->count && sorted; i++)
        sorted = tiles->tile[i - 1].first <= tiles->tile[i].first;
    if (!sorted)
        qsort(tiles->tile, tiles->count, sizeof(tiles->tile[0]), by_first);
    for (uint64_t i = 1; i < tiles->count; i++)
        if (tiles->tile[i].reach < tiles->tile[i - 1].reach)
            tiles->tile[i].reach = tiles->tile[i - 1].reach;
    return err->status;
}

void tiles_between(const struct tiles *tiles, uint64_t first, uint64_t last, uint64_t *begin,
                   uint64_t *end)
{
    const struct tile *tile = tiles->tile;
    PARTITION_POINT(*begin, tiles->count, tile[*begin].reach < first);
    PARTITION_POINT(*end, tiles->count, tile[*end].first <= last);
    if (*end < *begin)
        *end = *begin;
}

uint64_t tiles_extent(const struct tiles *tiles, uint64_t candidate)
{
    return tiles->tile[candidate].extent;
}

/* --- gathering -------------------------------------------------------------------------- */

/* The strides that the format states; NULL: elements follow one another in C order. */
static const int64_t *stated_strides(const struct stored_tensor *t, const struct extent *e)
{
    return e->strides ? e->strides : t->strides;
}

/* The strides of a part: the stated ones, or (NULL) the strides of its box in C order. All its
 * units must lie inside the source. */
static enum status part_strides(const struct reader *r, const struct part *p, const int64_t *stated,
                                const struct source *s, int64_t *strides, struct error *err)
{
    const struct stored_tensor *t = r->tensor;
    uint64_t size = 1, reach = 0, room = s->size / r->unit;
    bool inside = stated || s->size % r->unit == 0;
    for (unsigned d = t->rank; d-- > 0;) {
        uint64_t step = stated ? (uint64_t)stated[d] : size, far;
        if (p->shape[d] > 1)
            inside = inside && step <= INT64_MAX && mul_u64(p->shape[d] - 1, step, &far) &&
                     add_u64(reach, far, &reach);
        strides[d] = (int64_t)step;
        size *= p->shape[d];
    }
    if (!inside || reach >= room || (!stated && size != room))
        return error_set(err, ERR_CORRUPT, s->name, NO_OFFSET,
                         "the data of a part of the tensor is %llu bytes, which do not hold "
                         "its elements",
                         (unsigned long long)s->size);
    return OK;
}

/* The box of a slice to gather; `random`: the extents will be read in any order. */
struct wanted {
    const struct ckptdb_slice *slices;
    struct box box;
    bool random;
};

/* Copy the elements of the box that are in extent i. */
static void gather_extent(struct reader *r, uint64_t i, const struct wanted *w, uint8_t *dst,
                          struct error *err)
{
    const struct stored_tensor *t = r->tensor;
    const struct extent *e = &t->extents[i];
    uint64_t origin[TENSOR_RANK_MAX], shape[TENSOR_RANK_MAX];
    int64_t strides[TENSOR_RANK_MAX];
    struct part part = {origin, shape, strides};
    const int64_t *stated = stated_strides(t, e);
    struct gather gather = {.unit = r->unit};
    struct kept *lease;
    for (unsigned d = 0; d < t->rank; d++) {
        uint64_t block = d + 1 == t->rank ? r->block : 1;
        origin[d] = e->origin ? e->origin[d] / block : 0;
        shape[d] = (e->shape ? e->shape[d] : t->shape[d]) / block;
        strides[d] = 0;
    }
    if (!box_gather(&w->box, w->slices, &part, &gather) ||
        pool_take(r->pool, i, w->random || stated, &lease, err) != OK)
        return;
    if (part_strides(r, &part, stated, lease->source, strides, err) == OK &&
        box_gather(&w->box, w->slices, &part, &gather))
        gather_run(&gather, lease->source, dst, err);
    pool_give(r->pool, lease);
}

static void gather_box(struct reader *r, const struct wanted *w, uint8_t *dst, struct error *err)
{
    uint64_t first, last, candidate, end;
    if (!r->tiles) {
        gather_extent(r, 0, w, dst, err);
        return;
    }
    box_range(&w->box, w->slices, r->units.shape, &first, &last);
    tiles_between(r->tiles, first, last, &candidate, &end);
    for (; candidate < end && err->status == OK; candidate++)
        gather_extent(r, tiles_extent(r->tiles, candidate), w, dst, err);
}

/* Gather `count` units of a slice, from `position` on, in C order. */
static enum status gather_units(struct reader *r, const struct ckptdb_slice *slices,
                                uint64_t position, uint64_t count, uint8_t *dst, struct error *err)
{
    struct wanted w = {.slices = slices ? slices : r->units.whole};
    for (unsigned d = 0; d < r->tensor->rank; d++)
        w.random = w.random || w.slices[d].step < 0;
    if (r->tensor->extent_count > 1)
        /* Should tiles_open() ever accept boxes that leave a gap, its bytes are defined. */
        memset(dst, 0, count * r->unit);
    while (count && err->status == OK) {
        box_next(w.slices, r->tensor->rank, position, count, &w.box);
        gather_box(r, &w, dst, err);
        position += w.box.units;
        count -= w.box.units;
        dst += w.box.units * r->unit;
    }
    return err->status;
}

/* --- the reader ------------------------------------------------------------------------- */

static enum status extents_read(struct reader *r, const struct ckptdb_slice *slices, uint64_t start,
                                uint8_t *dst, size_t len, struct error *err)
{
    struct kept *lease;
    if (slices || !r->flat)
        return units_read(r, slices, start, dst, len, err);
    if (pool_take(r->pool, 0, false, &lease, err) == OK) {
        source_read(lease->source, start, dst, len, err);
        pool_give(r->pool, lease);
    }
    return err->status;
}

/* The only extent stays open in the pool that long. */
static int extents_descriptor(struct reader *r, uint64_t *offset)
{
    struct error ignored = {.offset = NO_OFFSET};
    struct kept *lease;
    int fd = -1;
    if (r->flat && !strings_vary(r->tensor->codec) &&
        pool_take(r->pool, 0, false, &lease, &ignored) == OK) {
        fd = source_descriptor(lease->source, offset);
        pool_give(r->pool, lease);
    }
    return fd;
}

static enum status extents_verify(struct reader *r, struct error *err)
{
    return pool_verify(r->pool, err);
}

static void extents_close(struct reader *r)
{
    pool_close(r->pool);
    free(r->tiles);
}

static const struct reader_ops extents_ops = {
    .read = extents_read,
    .gather = gather_units,
    .descriptor = extents_descriptor,
    .verify = extents_verify,
    .close = extents_close,
};

/* Whether one extent holds the whole tensor in C order. */
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

static enum status read_extents_cut(struct reader *r, struct error *err)
{
    const struct stored_tensor *t = r->tensor;
    r->flat = is_flat(t);
    r->units.moves = t->strides;
    for (uint64_t i = 0; i < t->extent_count; i++)
        r->units.moves |= t->extents[i].strides != NULL;
    if (r->flat || t->elements == 0)
        return OK;
    bool vary = strings_vary(t->codec);
    if (vary && !r->units.moves)
        return tiles_open(t, &r->tiles, err);
    if (vary || !r->shaped || (r->units.moves && r->block > 1))
        return error_set(err, ERR_UNSUPPORTED, t->checkpoint, NO_OFFSET,
                         "%s elements in this arrangement cannot be read", t->dtype.name);
    return tiles_open(t, &r->tiles, err);
}

/* Open the first extent, to learn whether it decodes front to back only. */
static void look_at_first(struct reader *r, struct error *err)
{
    const struct stored_tensor *t = r->tensor;
    struct kept *lease;
    if (t->elements == 0 || !t->extent_count ||
        pool_take(r->pool, 0, false, &lease, err) != OK) /* decodes nothing */
        return;
    r->sequential = t->strides || lease->source->sequential;
    uint64_t size = lease->source->size;
    if (r->flat && !strings_vary(t->codec) && size != r->nbytes)
        error_set(err, ERR_CORRUPT, lease->source->name, t->extents[0].offset,
                  "the tensor's data is %llu bytes, not the %llu of its shape",
                  (unsigned long long)size, (unsigned long long)r->nbytes);
    pool_give(r->pool, lease);
}

static enum status extents_open(struct reader *r, struct error *err)
{
    r->ops = &extents_ops;
    if (units_open(r, err) == OK && read_extents_cut(r, err) == OK &&
        pool_open(r->tensor, r->files, &r->pool, err) == OK)
        look_at_first(r, err);
    return err->status;
}

/* The last in readers.def: what no other kind takes lies in extents. */
const struct reader_kind reader_kind_extents = {.open = extents_open};

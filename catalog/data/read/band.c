#include "catalog/data/read/band.h"

static uint64_t step_size(const struct ckptdb_slice *s)
{
    return s->step < 0 ? -(uint64_t)s->step : (uint64_t)s->step;
}

/* The indexes [*begin, *end) of the slice that fall into the same chunk as index i. A slice of
 * every 3rd element from 0 and chunks of 10: i = 5 is element 15, in chunk 1 (10 to 19), which
 * has elements 12, 15 and 18, so [4, 7). */
static void row_of(const struct ckptdb_slice *s, uint64_t chunk, uint64_t i, uint64_t *begin,
                   uint64_t *end)
{
    *begin = 0;
    *end = s->count;
    if (s->count <= 1)
        return;
    uint64_t at = slice_at(s, i), low = at - at % chunk;
    /* low + (chunk - 1) is no more than 2^64 - 2 */
    *end = slice_clip(s->start, s->step, s->count, low, low + (chunk - 1), begin);
    *end += *begin;
}

uint64_t band_find(const struct ckptdb_slice *slices, unsigned rank, const uint64_t *chunk,
                   uint64_t position, uint64_t most, struct box *out)
{
    unsigned axis = 0;
    uint64_t row = 1, rest = position, begin, end, last;
    out->rank = rank;
    out->units = 1;
    for (unsigned d = rank; d-- > 0;) {
        out->lo[d] = rest % slices[d].count;
        out->n[d] = 1;
        rest /= slices[d].count;
        row *= slices[d].count;
    }
    for (; axis < rank; axis++) {
        const struct ckptdb_slice *s = &slices[axis];
        row /= s->count;
        if (s->count > 1 && (row <= most || chunk[axis] > step_size(s)))
            break;
    }
    if (axis == rank)
        return position;
    const struct ckptdb_slice *s = &slices[axis];
    row_of(s, chunk[axis], out->lo[axis], &begin, &end);
    uint64_t rows = row < most ? most / row : 1;
    if (rows > end - begin) { /* several rows of chunks, but only whole ones */
        uint64_t want = rows < s->count - begin ? begin + rows : s->count, whole;
        row_of(s, chunk[axis], want - 1, &whole, &last);
        end = last == want ? want : whole > end ? whole : end;
    }
    out->lo[axis] = begin;
    out->n[axis] = end - begin;
    for (unsigned d = axis + 1; d < rank; d++) {
        out->lo[d] = 0;
        out->n[d] = slices[d].count;
    }
    uint64_t first = 0;
    for (unsigned d = 0; d < rank; d++) {
        first = first * slices[d].count + out->lo[d];
        out->units *= out->n[d];
    }
    return first;
}

void band_cells(const struct ckptdb_slice *slices, const struct box *box, const uint64_t *chunk,
                struct band_cells *out)
{
    out->count = 1;
    out->rank = box->rank;
    out->chunk = chunk;
    out->slices = slices;
    out->box = box;
    for (unsigned d = 0; d < box->rank; d++) {
        const struct ckptdb_slice *s = &slices[d];
        uint64_t first = slice_at(s, box->lo[d]) / chunk[d];
        uint64_t last = slice_at(s, box->lo[d] + box->n[d] - 1) / chunk[d];
        bool back = last < first;
        out->axis[d] = (struct band_axis){
            .count = (back ? first - last : last - first) + 1,
            .first = first,
            .back = back,
            .sparse = box->n[d] > 1 && step_size(s) > chunk[d],
        };
        if (out->axis[d].sparse)
            out->axis[d].count = box->n[d];
        out->count *= out->axis[d].count;
    }
}

void band_cell(const struct band_cells *c, uint64_t number, uint64_t *at)
{
    for (unsigned d = c->rank; d-- > 0;) {
        const struct band_axis *a = &c->axis[d];
        uint64_t k = number % a->count;
        number /= a->count;
        if (a->sparse)
            at[d] = slice_at(&c->slices[d], c->box->lo[d] + k) / c->chunk[d];
        else
            at[d] = a->back ? a->first - k : a->first + k;
    }
}

void band_corners(const struct band_cells *c, uint64_t *low, uint64_t *high)
{
    for (unsigned d = 0; d < c->rank; d++) {
        const struct ckptdb_slice *s = &c->slices[d];
        uint64_t first = slice_at(s, c->box->lo[d]) / c->chunk[d];
        uint64_t last = slice_at(s, c->box->lo[d] + c->box->n[d] - 1) / c->chunk[d];
        low[d] = first < last ? first : last;
        high[d] = first < last ? last : first;
    }
}

#include "catalog/data/read/boxes.h"

void box_next(const struct slice *slices, unsigned rank, uint64_t position, uint64_t left,
              struct box *out)
{
    out->rank = rank;
    out->units = 1;
    for (unsigned d = rank; d-- > 0;) {
        out->lo[d] = position % slices[d].count;
        out->n[d] = 1;
        position /= slices[d].count;
    }
    for (unsigned d = rank; d-- > 0;) {
        uint64_t rest = slices[d].count - out->lo[d], most = left / out->units;
        out->n[d] = rest < most ? rest : most;
        out->units *= out->n[d];
        if (out->n[d] < slices[d].count)
            break;
    }
}

/* The tensor's index at index i of a slice. */
static uint64_t at(const struct slice *s, uint64_t i)
{
    return s->start + i * (uint64_t)s->step;
}

void box_range(const struct box *b, const struct slice *slices, const uint64_t *shape,
               uint64_t *first, uint64_t *last)
{
    uint64_t stride = 1;
    *first = *last = 0;
    for (unsigned d = b->rank; d-- > 0;) {
        uint64_t one = at(&slices[d], b->lo[d]);
        uint64_t other = at(&slices[d], b->lo[d] + b->n[d] - 1);
        *first += (one < other ? one : other) * stride;
        *last += (one < other ? other : one) * stride;
        stride *= shape[d];
    }
}

/* How many of the n indexes start, start + step, ... lie in [low, high]; the first of them is
 * number *skip. With start 9, step -2, n 5 (9 7 5 3 1) and [2, 6]: *skip is 2, and two do (5,
 * 3). */
static uint64_t clip(uint64_t start, int64_t step, uint64_t n, uint64_t low, uint64_t high,
                     uint64_t *skip)
{
    uint64_t size = step < 0 ? -(uint64_t)step : (uint64_t)step;
    uint64_t before, after; /* distances along the slice to where the range begins and ends */
    if (step < 0) {
        before = start > high ? start - high : 0;
        after = start - low;
        if (start < low)
            return 0;
    } else {
        before = start < low ? low - start : 0;
        after = high - start;
        if (start > high)
            return 0;
    }
    *skip = before / size + (before % size != 0);
    uint64_t end = after / size + 1;
    end = end < n ? end : n;
    return *skip < end ? end - *skip : 0;
}

bool box_gather(const struct box *b, const struct slice *slices, const struct part *p,
                struct gather *out)
{
    uint64_t to_stride = 1;
    out->from = out->to = 0;
    out->rank = b->rank;
    for (unsigned d = b->rank; d-- > 0;) {
        uint64_t skip = 0, origin = p->origin ? p->origin[d] : 0;
        uint64_t start = at(&slices[d], b->lo[d]);
        int64_t step = b->n[d] > 1 ? slices[d].step : 1;
        uint64_t count =
            p->shape[d] ? clip(start, step, b->n[d], origin, origin + p->shape[d] - 1, &skip) : 0;
        if (!count)
            return false;
        uint64_t first = start + skip * (uint64_t)step - origin;
        out->from += first * (uint64_t)p->strides[d];
        out->to += skip * to_stride;
        out->dim[d] = (struct gather_dim){
            .count = count,
            .from = count > 1 ? step * p->strides[d] : 0,
            .to = (int64_t)to_stride,
        };
        to_stride *= b->n[d];
    }
    return true;
}

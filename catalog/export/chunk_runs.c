#include "catalog/export/chunk_runs.h"

static uint64_t chunks_along(const struct export_tensor *t, unsigned d)
{
    return (t->shape[d] - 1) / t->chunk[d] + 1;
}

uint64_t chunk_count(const struct export_tensor *t)
{
    uint64_t count = 1;
    for (unsigned d = 0; d < t->rank; d++)
        count *= chunks_along(t, d);
    return count;
}

void chunk_begin(const struct export_tensor *t, uint64_t number, uint64_t *begin)
{
    for (unsigned d = t->rank; d-- > 1;) {
        begin[d] = number % chunks_along(t, d) * t->chunk[d];
        number /= chunks_along(t, d);
    }
    begin[0] = number * t->chunk[0];
}

/* The dimensions before the last one that is cut, and its elements per index. */
static unsigned chunk_cut(const struct export_tensor *t, const uint64_t *chunk, uint64_t *inner)
{
    unsigned d = t->rank - 1;
    for (*inner = 1; d && chunk[d] == t->shape[d]; d--)
        *inner *= t->shape[d];
    return d;
}

/* Locate the run at the index. */
static void place_run(struct chunk_runs *r)
{
    const struct export_tensor *t = r->t;
    r->first = r->at = 0;
    for (unsigned d = 0; d < t->rank; d++) {
        r->first = r->first * t->shape[d] + r->begin[d] + r->index[d];
        r->at = r->at * t->chunk[d] + r->index[d];
    }
}

void chunk_runs_begin(const struct export_tensor *t, uint64_t number, struct chunk_runs *r)
{
    uint64_t inner;
    *r = (struct chunk_runs){.t = t, .outer = chunk_cut(t, t->chunk, &inner)};
    chunk_begin(t, number, r->begin);
    for (unsigned d = 0; d < t->rank; d++) {
        const uint64_t left = t->shape[d] - r->begin[d];
        r->size[d] = left < t->chunk[d] ? left : t->chunk[d];
        r->clipped = r->clipped || r->size[d] < t->chunk[d];
    }
    r->count = r->size[r->outer] * inner;
    place_run(r);
}

bool chunk_runs_next(struct chunk_runs *r)
{
    unsigned d = r->outer;
    while (d && ++r->index[d - 1] == r->size[d - 1])
        r->index[--d] = 0;
    if (!d)
        return false;
    place_run(r);
    return true;
}

#include "importer/format/ranks/dcp_box.h"

#include <stdio.h>
#include <stdlib.h>

#define COMPARED_MAX UINT64_C(20000000) /* pairs of boxes */

bool dcp_box_set(struct arena *arena, const uint64_t *origin, const uint64_t *shape, unsigned rank,
                 struct dcp_box *out)
{
    out->rank = rank;
    out->origin = arena_array(arena, 2 * rank + 1, sizeof(*out->origin));
    out->shape = out->origin ? out->origin + rank : NULL;
    for (unsigned d = 0; out->origin && d < rank; d++) {
        out->origin[d] = origin[d];
        out->shape[d] = shape[d];
    }
    return out->origin != NULL;
}

bool dcp_box_empty(const struct dcp_box *b)
{
    for (unsigned d = 0; d < b->rank; d++)
        if (b->shape[d] == 0)
            return true;
    return false;
}

bool dcp_pieces_set(struct arena *arena, const uint64_t *shape, uint64_t room,
                    struct dcp_pieces *out)
{
    out->shape = arena_array(arena, out->rank + 1u, sizeof(*out->shape));
    out->boxes = arena_array(arena, (size_t)room + 1, sizeof(*out->boxes));
    out->extents = arena_array(arena, (size_t)room + 1, sizeof(*out->extents));
    out->sums = arena_array(arena, (size_t)room + 1, sizeof(*out->sums));
    if (!out->shape || !out->boxes || !out->extents || !out->sums)
        return false;
    for (unsigned d = 0; d < out->rank; d++)
        out->shape[d] = shape[d];
    return true;
}

static enum status wrong(const struct job *job, struct error *err, const char *code,
                         const char *what)
{
    error_set(err, ERR_CORRUPT, job->path, NO_OFFSET, "%s", what);
    return error_code(err, code);
}

/* By origin, the first dimension first. */
static int by_origin(const void *a, const void *b)
{
    const struct dcp_box *x = a, *y = b;
    for (unsigned d = 0; d < x->rank; d++)
        if (x->origin[d] != y->origin[d])
            return x->origin[d] < y->origin[d] ? -1 : 1;
    return 0;
}

static bool overlap(const struct dcp_box *a, const struct dcp_box *b)
{
    for (unsigned d = 0; d < a->rank; d++)
        if (a->origin[d] >= b->origin[d] + b->shape[d] ||
            b->origin[d] >= a->origin[d] + a->shape[d])
            return false;
    return true;
}

/*
 * Boxes fill a tensor if all are inside it, none overlap, and together they have as many elements
 * as it. To find overlaps, the boxes are sorted by origin, and each is compared with those after
 * it that begin before it ends along dimension 0. Boxes of a tensor sharded along dimension 0
 * have no such neighbours; sharded along dimension 1 only, all have to be compared.
 */
static enum status dcp_box_check(const struct job *job, const struct dcp_pieces *p,
                                 struct dcp_box *sorted, struct error *err)
{
    uint64_t all, sum = 0, compared = 0;
    if (!shape_elements(p->shape, p->rank, &all))
        return wrong(job, err, "shape-overflow", "its shape is impossible");
    for (uint64_t i = 0; i < p->count; i++) {
        const struct dcp_box *b = &p->boxes[i];
        uint64_t elements = 1;
        for (unsigned d = 0; d < p->rank; d++) {
            if (b->origin[d] > p->shape[d] || b->shape[d] > p->shape[d] - b->origin[d])
                return wrong(job, err, "bad-chunk", "a piece reaches past its shape");
            elements *= b->shape[d];
        }
        if (!add_u64(sum, elements, &sum))
            return wrong(job, err, "bad-chunk", "its pieces lie over each other");
        sorted[i] = *b;
    }
    if (p->count)
        qsort(sorted, p->count, sizeof(*sorted), by_origin);
    for (uint64_t i = 0; p->rank && i < p->count; i++) {
        uint64_t end = sorted[i].origin[0] + sorted[i].shape[0];
        for (uint64_t k = i + 1; k < p->count && sorted[k].origin[0] < end; k++) {
            if (++compared > COMPARED_MAX)
                return wrong(job, err, "limit", "it has too many pieces to check");
            if (overlap(&sorted[i], &sorted[k]))
                return wrong(job, err, "overlap", "its pieces lie over each other");
        }
    }
    if (sum < all)
        return wrong(job, err, "missing-chunk", "its pieces do not fill it");
    return sum == all ? OK : wrong(job, err, "overlap", "its pieces lie over each other");
}

/* A single piece is the whole tensor: store it as a range, or as one chunk if it has a codec. */
static void as_one(struct dcp_pieces *p, struct tensor_claim *claim)
{
    struct extent *e = &p->extents[0];
    e->origin = e->shape = NULL;
    claim->strides = e->strides;
    claim->codec = e->codec;
    e->strides = NULL;
    e->codec = NULL;
    if (claim->codec) {
        claim->storage = STORAGE_CHUNKS;
        return;
    }
    claim->storage = STORAGE_RANGE;
    claim->file = e->file;
    claim->offset = e->offset;
    claim->stored = e->stored;
    claim->extents = NULL;
    claim->extent_count = 0;
}

void dcp_pieces_emit(struct job *job, const char *name, size_t len, struct dcp_pieces *p,
                     struct error *err)
{
    char what[320];
    struct tensor_claim claim = {
        .name = name, .name_len = len, .dtype = p->dtype, .shape = p->shape, .rank = p->rank};
    if (err->status == OK && p->shape) {
        struct dcp_box *sorted = calloc(p->count + 1, sizeof(*sorted));
        if (sorted)
            dcp_box_check(job, p, sorted, err);
        else
            error_memory(err);
        free(sorted);
    }
    if (err->status == ERR_MEMORY || err->status == ERR_IO) {
        *job->err = *err;
        return;
    }
    if (err->status != OK) {
        /* Names from a safetensors header are not NUL-terminated. */
        snprintf(what, sizeof(what), "tensor \"%.*s\"", (int)(len < 240 ? len : 240), name);
        error_prefix(err, what);
        job_issue_error(job, ISSUE_ERROR, err);
        if (p->dtype && p->shape)
            job_tensor(job, &claim);
        return;
    }
    claim.storage = p->count ? STORAGE_PIECES : STORAGE_RANGE;
    for (uint64_t i = 0; i < p->count; i++) {
        claim.stored += p->extents[i].stored;
        if (p->extents[i].codec)
            claim.storage = STORAGE_CHUNKS;
    }
    if (p->count) {
        claim.extents = p->extents;
        claim.sums = p->sums;
        claim.extent_count = p->count;
    } else {
        claim.file = p->file;
    }
    if (p->count == 1)
        as_one(p, &claim);
    job_tensor(job, &claim);
}

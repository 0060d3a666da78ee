#include "importer/format/ranks/zero.h"

#include <stdlib.h>
#include <string.h>

#include "catalog/base/strmap.h"
#include "catalog/base/text.h"
#include "importer/format/ranks/dcp_box.h"

/* Optimizers have a few. Each slot has a row for every parameter and looks at every run, so that many
 * slots would cost far more than their file. */
#define SLOTS_MAX 64

/* For tensors that are listed again under other names. */
#define ALIAS_PIECES_MAX 262144

void zero_add_param(struct zero *z, const char *name, size_t len, unsigned group,
                    const uint64_t *shape, unsigned rank)
{
    struct arena *arena = z->job->arena;
    struct zero_param p = {.name = arena_copy(arena, name, len),
                           .len = len,
                           .group = group,
                           .rank = rank,
                           .shape = arena_array(arena, rank + 1u, sizeof(*p.shape))};
    if (!p.shape)
        return;
    memcpy(p.shape, shape, rank * sizeof(*shape));
    if (!shape_elements(p.shape, rank, &p.elements) || p.elements > INT64_MAX / 16)
        job_issue(z->job, ISSUE_ERROR, NULL, NO_OFFSET, "shape-overflow",
                  "the shape of parameter \"%.200s\" is impossible: left out", p.name);
    else
        *PUSH(arena, z->params, z->param_count, z->param_space) = p;
}

void zero_add_alias(struct zero *z, struct zero_param *p, const char *name, size_t len)
{
    struct zero_alias *alias = arena_alloc(z->job->arena, sizeof(*alias));
    if (!alias)
        return;
    *alias = (struct zero_alias){arena_copy(z->job->arena, name, len), len, p->aliases};
    p->aliases = alias;
}

void zero_add_run(struct zero *z, const struct zero_run *run)
{
    *PUSH(z->job->arena, z->runs, z->run_count, z->run_space) = *run;
}

/* --- one slot of one group ------------------------------------------------------------------ */

/* The runs of one slot, and the place in them where the next parameter begins. */
struct tape {
    struct zero *z;
    const char *slot, *dtype;
    struct zero_run **run; /* sorted by group, rank */
    size_t count;
    size_t at;      /* the current run; stage 3: of rank 0, the other ranks' follow it */
    uint64_t taken; /* elements already taken from the current run */
    bool lost;
    uint64_t *boxes; /* count boxes here, and make none; NULL: make them */
};

/* Cuts a run of a tensor's elements, row-major, into boxes. */
struct cutter {
    struct dcp_pieces *out;
    uint64_t origin[TENSOR_RANK_MAX], box[TENSOR_RANK_MAX];
    uint64_t offset; /* of the next box in the file */
    uint32_t file;
    unsigned width;
    struct arena *arena;
    uint64_t *boxes;
};

static void put_box(struct cutter *c, unsigned dims, uint64_t elements)
{
    struct dcp_pieces *p = c->out;
    if (c->boxes) {
        ++*c->boxes;
        return;
    }
    struct dcp_box *box = &p->boxes[p->count];
    for (unsigned d = dims; d < p->rank; d++) {
        c->origin[d] = 0;
        c->box[d] = p->shape[d];
    }
    dcp_box_set(c->arena, c->origin, c->box, p->rank, box);
    p->extents[p->count] = (struct extent){.file = c->file,
                                           .offset = c->offset,
                                           .stored = elements * c->width,
                                           .origin = box->origin,
                                           .shape = box->shape};
    p->sums[p->count++] = 0;
    c->offset += elements * c->width;
}

/* Cut elements [from, to) of the sub-tensor with dimensions `dim` and later: a first partial row,
 * whole rows, a last partial row. [2, 11) of shape [4,3] is cut into 2, 3 to 8 and 9 to 10: boxes
 * of shape [1,1], [2,3] and [1,2]. */
static void zero_cut(struct cutter *c, unsigned dim, uint64_t from, uint64_t to)
{
    const struct dcp_pieces *p = c->out;
    uint64_t row = 1;
    if (dim == p->rank) {
        put_box(c, dim, 1);
        return;
    }
    for (unsigned d = dim + 1; d < p->rank; d++)
        row *= p->shape[d];
    while (from < to && !c->arena->failed) {
        const uint64_t first = from / row, in_row = from % row;
        uint64_t rows = in_row ? 0 : to / row - first;
        c->origin[dim] = first;
        c->box[dim] = rows ? rows : 1;
        if (rows) {
            put_box(c, dim + 1, rows * row);
        } else {
            const uint64_t left = to - first * row;
            zero_cut(c, dim + 1, in_row, left < row ? left : row);
            rows = 1;
        }
        from = (first + rows) * row;
    }
}

/* Take `len` elements of a run after its first `skip`; they are the parameter's elements from
 * `from` on. */
static void zero_take(struct tape *t, const struct zero_run *run, uint64_t skip, uint64_t from,
                      uint64_t len, struct dcp_pieces *out)
{
    struct dtype dtype;
    dtype_find(t->dtype, &dtype);
    struct cutter c = {.out = out,
                       .offset = run->offset + skip * dtype.block_bytes,
                       .file = run->file,
                       .width = dtype.block_bytes,
                       .arena = t->z->job->arena,
                       .boxes = t->boxes};
    zero_cut(&c, 0, from, from + len);
}

/* Stages 1 and 2: take the next elements of the joined runs of all ranks. */
static bool take_next(struct tape *t, const struct zero_param *p, struct dcp_pieces *out)
{
    for (uint64_t done = 0; done < p->elements;) {
        if (t->at == t->count || t->run[t->at]->group != p->group)
            return false;
        const struct zero_run *run = t->run[t->at];
        const uint64_t left = run->elements - t->taken, want = p->elements - done;
        const uint64_t len = left < want ? left : want;
        if (len)
            zero_take(t, run, t->taken, done, len, out);
        done += len;
        t->taken += len;
        if (t->taken == run->elements) {
            t->at++;
            t->taken = 0;
        }
    }
    return true;
}

/* Take one rank's share of a parameter, and advance `at` and `taken` past it. */
static bool take_share(struct tape *t, const struct zero_param *p, unsigned rank, uint64_t share,
                       struct dcp_pieces *out)
{
    uint64_t from = rank * share;
    for (uint64_t left = share; left;) {
        if (t->at + t->z->ranks > t->count)
            return false;
        const struct zero_run *run = t->run[t->at + rank];
        const uint64_t there = run->elements - t->taken;
        const uint64_t len = there < left ? there : left;
        const uint64_t own = from < p->elements ? p->elements - from : 0;
        if (len && own) /* the shares of the last ranks may be padding */
            zero_take(t, run, t->taken, from, len < own ? len : own, out);
        from += len;
        left -= len;
        t->taken += len;
        if (t->taken == run->elements) {
            t->at += t->z->ranks;
            t->taken = 0;
        }
    }
    return true;
}

/* Stage 3: take the share of every rank. All begin at the same place of their joined groups, and
 * must end at the same. */
static bool take_shares(struct tape *t, const struct zero_param *p, struct dcp_pieces *out)
{
    const unsigned ranks = t->z->ranks;
    const uint64_t share = p->elements / ranks + (p->elements % ranks != 0);
    const struct tape before = *t;
    struct tape after = *t;
    for (unsigned r = 0; r < ranks; r++) {
        *t = before;
        if (!take_share(t, p, r, share, out) ||
            (r && (t->at != after.at || t->taken != after.taken)))
            return false;
        after = *t;
    }
    return true;
}

/* Make the boxes of a parameter; false if the runs end before it does. */
static bool zero_fill(struct tape *t, const struct zero_param *p, struct dcp_pieces *out)
{
    const struct tape before = *t;
    uint64_t boxes = 0;
    t->boxes = &boxes;
    const bool whole = t->z->stage == 3 ? take_shares(t, p, out) : take_next(t, p, out);
    *t = before;
    if (!whole)
        return false;
    if (!dcp_pieces_set(t->z->job->arena, p->shape, boxes, out))
        return true; /* the job has failed */
    return t->z->stage == 3 ? take_shares(t, p, out) : take_next(t, p, out);
}

/* Emit a parameter under one of its names. */
static void emit_named(struct tape *t, const struct zero_param *p, const char *own, size_t len,
                       struct dcp_pieces *pieces)
{
    struct zero *z = t->z;
    struct error err = {.offset = NO_OFFSET};
    struct text name = {.limit = LIMIT_NAME_BYTES};
    *pieces = (struct dcp_pieces){.dtype = t->dtype, .rank = p->rank, .shape = p->shape};
    text_addf(&name, "%s", z->prefix);
    text_add(&name, own, len);
    if (!z->without_slot)
        text_addf(&name, ".%s", t->slot);
    if (!text_str(&name))
        error_memory(z->job->err);
    if (!t->lost && !zero_fill(t, p, pieces)) {
        t->lost = true;
        job_issue(z->job, ISSUE_ERROR, NULL, NO_OFFSET, "size-mismatch",
                  "the ranks' %s ends before parameter \"%.200s\" is complete; it and "
                  "those after it are listed without data",
                  t->slot, p->name);
    }
    if (z->job->err->status == OK && t->lost)
        job_tensor(z->job, &(struct tensor_claim){.name = text_str(&name),
                                                  .name_len = name.len,
                                                  .dtype = t->dtype,
                                                  .shape = p->shape,
                                                  .rank = p->rank});
    else if (z->job->err->status == OK)
        dcp_pieces_emit(z->job, text_str(&name), name.len, pieces, &err);
    text_release(&name);
}

static void emit_param(struct tape *t, const struct zero_param *p)
{
    struct zero *z = t->z;
    const struct tape before = *t;
    struct dcp_pieces pieces;
    const struct zero_alias *alias =
        z->without_slot || strcmp(t->slot, "fp32") == 0 ? p->aliases : NULL;
    emit_named(t, p, p->name, p->len, &pieces);
    for (; alias && z->job->err->status == OK; alias = alias->next) {
        const bool lost = t->lost;
        z->alias_pieces += pieces.count;
        if (z->alias_pieces > ALIAS_PIECES_MAX) {
            job_issue(z->job, ISSUE_ERROR, NULL, NO_OFFSET, "limit",
                      "the other names of parameters have more than %d pieces: \"%.200s\" "
                      "and others are left out",
                      ALIAS_PIECES_MAX, alias->name);
            break;
        }
        *t = before; /* the same elements once more */
        t->lost = lost;
        emit_named(t, p, alias->name, alias->len, &pieces);
    }
}

/* --- all ------------------------------------------------------------------------------------ */

static int zero_by_place(const void *a, const void *b)
{
    const struct zero_run *x = *(struct zero_run *const *)a, *y = *(struct zero_run *const *)b;
    if (x->group != y->group)
        return x->group < y->group ? -1 : 1;
    return (x->rank > y->rank) - (x->rank < y->rank);
}

/* Collect the runs of one slot. They are `lost`, with an issue, unless each rank has one for each
 * group. False without memory. */
static bool gather(struct zero *z, const char *slot, struct tape *out)
{
    *out = (struct tape){.z = z, .slot = slot, .lost = z->lost};
    out->run = arena_array(z->job->arena, z->run_count + 1, sizeof(struct zero_run *));
    if (!out->run)
        return false;
    for (size_t i = 0; i < z->run_count; i++)
        if (strcmp(z->runs[i].slot, slot) == 0)
            out->run[out->count++] = &z->runs[i];
    if (out->count)
        qsort(out->run, out->count, sizeof(struct zero_run *), zero_by_place);
    out->dtype = out->count ? out->run[0]->dtype : "float32";
    bool even = out->count % z->ranks == 0;
    for (size_t i = 0; i < out->count; i++)
        even = even && out->run[i]->rank == i % z->ranks &&
               out->run[i]->group == out->run[i - i % z->ranks]->group &&
               strcmp(out->run[i]->dtype, out->dtype) == 0;
    if (!even && !z->lost)
        job_issue(z->job, ISSUE_ERROR, NULL, NO_OFFSET, "missing-storage",
                  "not every rank has its part of %s, of one dtype: it is listed without data",
                  slot);
    out->lost |= !even;
    return true;
}

/* Stages 1 and 2: skip the rest of a group, which must be padding, and short. */
static void leave_group(struct tape *t, unsigned group)
{
    uint64_t left = 0;
    for (; t->at < t->count && t->run[t->at]->group <= group; t->at++) {
        left += t->run[t->at]->elements - t->taken;
        t->taken = 0;
    }
    if (!t->lost && left >= 2 * (uint64_t)t->z->ranks)
        job_issue(t->z->job, ISSUE_ERROR, NULL, NO_OFFSET, "trailing-bytes",
                  "%llu elements of %s belong to no parameter of group %u, more than padding: the "
                  "shapes do not fit them",
                  (unsigned long long)left, t->slot, group);
}

static void emit_slot(struct zero *z, const char *slot)
{
    struct tape t;
    unsigned group = 0;
    if (!gather(z, slot, &t))
        return;
    for (uint64_t i = 0; i < z->param_count && z->job->err->status == OK; i++) {
        const struct zero_param *p = &z->params[i];
        for (; z->stage != 3 && group < p->group; group++)
            leave_group(&t, group);
        emit_param(&t, p);
    }
    if (z->stage != 3 && z->param_count && z->job->err->status == OK)
        leave_group(&t, group);
}

void zero_emit(struct zero *z)
{
    struct strmap slots = {.err = z->job->err};
    bool added = false;
    unsigned count = 0;
    z->ranks = z->ranks ? z->ranks : 1;
    for (size_t i = 0; i < z->run_count && z->job->err->status == OK; i++) {
        const char *slot = z->runs[i].slot;
        strmap_add(&slots, slot, strlen(slot), &added);
        if (!added || z->job->err->status != OK)
            continue;
        if (++count > SLOTS_MAX) {
            job_issue(z->job, ISSUE_ERROR, NULL, NO_OFFSET, "limit",
                      "more than %d slots of each parameter: \"%.100s\" and those after it "
                      "are left out",
                      SLOTS_MAX, slot);
            break;
        }
        emit_slot(z, slot);
    }
    strmap_release(&slots);
}

/* --- frozen parameters ---------------------------------------------------------------------- */

void zero_frozen_add(struct zero_frozen *f, const char *name, size_t len, const uint64_t *shape,
                     unsigned rank)
{
    bool added;
    const char *kept;
    uint64_t *at = strmap_keep(&f->index, f->job->arena, name, len, &kept, &added);
    if (!added)
        return;
    *at = f->count;
    struct zero *z = PUSH(f->job->arena, f->params, f->count, f->space);
    *z = (struct zero){.job = f->job, .prefix = f->prefix, .stage = 3, .without_slot = true};
    zero_add_param(z, name, len, 0, shape, rank);
}

struct zero *zero_frozen_find(const struct zero_frozen *f, const char *name, size_t len)
{
    const uint64_t *at = strmap_get(&f->index, name, len);
    return at && *at < f->count ? &f->params[*at] : NULL;
}

void zero_frozen_emit(struct zero_frozen *f, unsigned ranks, bool lost)
{
    for (size_t i = 0; i < f->count && f->job->err->status == OK; i++) {
        f->params[i].ranks = ranks;
        f->params[i].lost |= lost;
        zero_emit(&f->params[i]);
    }
}

/*
 * torch_view.c - a view of a storage as a claim: which bytes of the run it takes, in which
 * steps, and what is done to them.
 *
 *   first element  offset                    last  offset + sum of (size - 1) x stride
 *
 * In C order it is one range of exactly its bytes; else the range from the first to the last
 * element, with strides; strides of 0 (expand) and overlapping ones are as good as others.
 */
#include <stdio.h>
#include <string.h>

#include "importer/format/torch.h"

struct span {
    uint64_t begin, len; /* bytes of the run */
    bool in_order;       /* C order: no strides needed */
};

/* Dimensions of one element may have any stride. */
static bool is_in_order(const struct torch_tensor *x)
{
    uint64_t step = 1;
    for (unsigned d = x->rank; d-- > 0;) {
        if (x->shape[d] != 1 && (uint64_t)x->strides[d] != step)
            return false;
        step *= x->shape[d];
    }
    return true;
}

/* The last element's position; false where it overflows. */
static bool reach(const struct torch_tensor *x, uint64_t *last)
{
    *last = x->offset;
    for (unsigned d = 0; d < x->rank; d++) {
        uint64_t far;
        if (!mul_u64(x->shape[d] - 1, (uint64_t)x->strides[d], &far) ||
            !add_u64(*last, far, last))
            return false;
    }
    return *last < INT64_MAX / 16;
}

static bool measure(struct torch_tree *t, const struct torch_tensor *x,
                    const struct dtype *dtype, struct span *out, struct error *err)
{
    uint64_t elements, last = 0, end;
    *out = (struct span){.in_order = true};
    if (!shape_elements(x->shape, x->rank, &elements))
        return torch_fail(t, err, "shape-overflow", "its shape is impossible");
    if (elements == 0) {
        /* An empty tensor may stand at the very end of its storage. */
        return true;
    }
    out->in_order = is_in_order(x);
    if (dtype->block_elems > 1 && (!out->in_order || x->offset % dtype->block_elems))
        return torch_fail(t, err, "unsupported",
                          "a view of packed %s elements that are not in a row",
                          dtype->name);
    if (!reach(x, &last))
        return torch_fail(t, err, "bad-tensor", "its strides reach too far");
    uint64_t per = dtype->block_elems, width = x->item ? x->item : dtype->block_bytes;
    out->begin = x->offset / per * width;
    end = (last / per + 1) * width;
    out->len = end - out->begin;
    return end <= x->bound ||
           torch_fail(t, err, "bad-tensor",
                      "its last element ends at byte %llu of a storage of %llu",
                      (unsigned long long)end, (unsigned long long)x->bound);
}

static void add_step(struct text *chain, const char *step)
{
    if (chain->len)
        text_addc(chain, '|');
    text_adds(chain, step);
}

/* Steps that undo the byte order and what torch left for later. */
static void value_steps(const struct torch_tensor *x, const struct dtype *dtype,
                        struct text *chain)
{
    char step[64];
    unsigned width = dtype_swap_width(dtype);
    if (x->swap > 1) {
        snprintf(step, sizeof(step), "swap:%u", x->swap);
        add_step(chain, step);
    }
    if (x->conjugate && dtype->kind == DTYPE_COMPLEX) {
        snprintf(step, sizeof(step), "flip:%u,%u", 2 * width, 2 * width - 1);
        add_step(chain, step);
    }
    if (x->negative && (dtype->kind == DTYPE_FLOAT || dtype->kind == DTYPE_COMPLEX)) {
        snprintf(step, sizeof(step), "flip:%u,%u", width, width - 1);
        add_step(chain, step);
    }
    if (x->strings) {
        snprintf(step, sizeof(step), "strings:%s", x->strings);
        add_step(chain, step);
    }
}

/* The claim's place, and its codec in `chain`. */
static enum status place(struct torch_tree *t, const struct torch_tensor *x,
                         const struct span *span, struct text *chain,
                         struct tensor_claim *claim)
{
    const struct torch_run *run = &x->run;
    bool whole = span->begin == 0 && span->len == run->size;
    char step[64];
    claim->storage = STORAGE_RANGE;
    claim->file = run->file;
    claim->offset = run->offset + (run->codec ? 0 : span->begin);
    claim->stored = run->codec ? run->stored : span->len;
    claim->sums = run->crc && whole ? &run->crc : NULL;
    if (!run->codec && !run->inlined)
        return OK;
    struct extent *chunk = arena_alloc(t->job->arena, sizeof(*chunk));
    uint32_t *sum = arena_alloc(t->job->arena, sizeof(*sum));
    if (!chunk || !sum)
        return error_set(t->job->err, ERR_MEMORY, t->job->path, NO_OFFSET, "no memory");
    *chunk =
        (struct extent){.file = run->file, .offset = run->offset, .stored = run->stored};
    claim->storage = STORAGE_CHUNKS;
    claim->extents = chunk;
    claim->extent_count = 1;
    if (claim->sums) {
        *sum = run->crc; /* kept until the job ends */
        claim->sums = sum;
    }
    if (run->inlined) {
        claim->storage = STORAGE_INLINE;
        chunk->bytes = run->inlined + span->begin;
        chunk->stored = claim->stored = span->len;
        return OK;
    }
    add_step(chain, run->codec);
    if (!whole) {
        snprintf(step, sizeof(step), "cut:%llu,%llu", (unsigned long long)span->begin,
                 (unsigned long long)span->len);
        add_step(chain, step);
    }
    return OK;
}

/* Why a tensor has a row without data, or none, is an issue of its own. */
static enum status emit_lost(struct torch_tree *t, struct tensor_claim *claim,
                             const struct error *why)
{
    struct error e = *why;
    char what[320];
    snprintf(what, sizeof(what), "tensor \"%.240s\"", claim->name);
    error_prefix(&e, what);
    job_issue_error(t->job, ISSUE_ERROR, &e);
    claim->storage = STORAGE_NONE;
    return t->emit(t, claim);
}

static void count_without_data(struct torch_tree *t, const char *name)
{
    if (!t->without_data++)
        snprintf(t->first_without, sizeof(t->first_without), "%s", name);
}

enum status torch_emit(struct torch_tree *t, const char *name, size_t len,
                       const struct torch_tensor *x, const struct error *why)
{
    struct error err = {.offset = NO_OFFSET};
    struct text chain = {.limit = CHAIN_BYTES - 1};
    struct span span;
    struct dtype dtype;
    struct tensor_claim claim = {.name = name,
                                 .name_len = len,
                                 .dtype = x->dtype,
                                 .shape = x->shape,
                                 .rank = x->rank,
                                 .storage = STORAGE_NONE,
                                 .unique = true};
    dtype_find(x->dtype, &dtype);
    if (why && why->status != OK)
        return emit_lost(t, &claim, why);
    if (x->meta)
        count_without_data(t, name);
    if (x->meta || x->run.lost)
        return t->emit(t, &claim);
    if (x->sparse) {
        span = (struct span){0, x->run.size, true};
    } else if (!measure(t, x, &dtype, &span, &err)) {
        return emit_lost(t, &claim, &err);
    }
    if (!span.in_order)
        claim.strides = x->strides;
    enum status status = place(t, x, &span, &chain, &claim);
    value_steps(x, &dtype, &chain);
    if (!text_str(&chain) && status == OK)
        status = error_set(t->job->err, ERR_LIMIT, t->job->path, NO_OFFSET,
                           "a chain of codec steps longer than %d bytes", CHAIN_BYTES);
    claim.codec = chain.len ? chain.at : NULL;
    if (status == OK)
        status = t->emit(t, &claim);
    text_release(&chain);
    return status;
}

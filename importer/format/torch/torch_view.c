/*
 * torch_view.c - turns a tensor, a view of a storage, into a claim: the bytes of the run that it
 * takes, the codec, and the strides.
 *
 *   first element  offset
 *   last element   offset + sum of (size - 1) x stride
 *
 * A row-major tensor is the range of just its bytes. Any other is the range from its first
 * element to its last, with strides, which may be 0 (expand) or overlap. The transpose of a [2,3]
 * matrix at offset 4 has shape [3,2] and strides [1,3]: elements 4 to 4 + 2 x 1 + 1 x 3 = 9.
 */
#include <stdio.h>
#include <string.h>

#include "importer/format/torch/torch.h"

struct span {
    uint64_t begin, len; /* bytes of the run */
    bool in_order;       /* row-major: no strides are needed */
};

/* Whether a tensor is row-major; the stride of a dimension of size 1 does not matter. */
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

/* The position of the last element; false if it overflows. */
static bool reach(const struct torch_tensor *x, uint64_t *last)
{
    *last = x->offset;
    for (unsigned d = 0; d < x->rank; d++) {
        uint64_t far;
        if (!mul_u64(x->shape[d] - 1, (uint64_t)x->strides[d], &far) || !add_u64(*last, far, last))
            return false;
    }
    return *last < INT64_MAX / 16;
}

static bool measure(struct torch_tree *t, const struct torch_tensor *x, const struct dtype *dtype,
                    struct span *out, struct error *err)
{
    uint64_t elements, last = 0, end;
    *out = (struct span){.in_order = true};
    if (!shape_elements(x->shape, x->rank, &elements))
        return torch_fail(t, err, "shape-overflow", "its shape is impossible");
    if (elements == 0) {
        /* An empty tensor may be at the very end of its storage. */
        return true;
    }
    out->in_order = is_in_order(x);
    if (dtype->block_elems > 1 && (!out->in_order || x->offset % dtype->block_elems))
        return torch_fail(t, err, "unsupported",
                          "a view of packed %s elements that are not in a row", dtype->name);
    if (!reach(x, &last))
        return torch_fail(t, err, "bad-tensor", "its strides reach too far");
    uint64_t per = dtype->block_elems, width = x->item ? x->item : dtype->block_bytes;
    out->begin = x->offset / per * width;
    end = (last / per + 1) * width;
    out->len = end - out->begin;
    return end <= x->bound || torch_fail(t, err, "bad-tensor",
                                         "its last element ends at byte %llu of a storage of %llu",
                                         (unsigned long long)end, (unsigned long long)x->bound);
}

/* The separator before the next step of a chain. */
static const char *bar(const struct text *chain)
{
    return chain->len ? "|" : "";
}

/* Set the bytes of the run that are read, and append the steps that decode them. */
static void torch_view_place(const struct torch_run *run, const struct span *span,
                             struct text *chain, struct extent *out)
{
    const bool whole = span->begin == 0 && span->len == run->size;
    *out = (struct extent){.file = run->file,
                           .offset = run->offset + (run->codec ? 0 : span->begin),
                           .stored = run->codec ? run->stored : span->len};
    if (run->inlined)
        out->bytes = run->inlined + span->begin;
    if (!run->codec)
        return;
    text_adds(chain, run->codec);
    if (!whole)
        text_addf(chain, "|cut:%llu,%llu", (unsigned long long)span->begin,
                  (unsigned long long)span->len);
}

static bool copy_to_job(struct torch_tree *t, const struct torch_tensor *x, const struct span *span,
                        struct text *chain, struct extent *out, struct error *err)
{
    struct arena *arena = t->job->arena;
    if (!text_str(chain))
        return torch_fail(t, err, "unsupported", "bytes in too many layers");
    if (chain->len)
        out->codec = arena_copy(arena, chain->at, chain->len);
    if (out->bytes) {
        /* Each row has bytes of its own in the catalog, but rows may share a text. */
        t->inlined_bytes += out->stored;
        if (t->inlined_bytes > LIMIT_PICKLE_INLINE + 4 * t->pickle->text_bytes)
            return torch_fail(t, err, "limit",
                              "its bytes and other tensors' bytes are the same text in the "
                              "pickle: together they are too many for the catalog");
        out->bytes = arena_copy(arena, out->bytes, (size_t)out->stored);
    }
    if (!span->in_order && (out->strides = arena_array(arena, x->rank + 1u, sizeof(*x->strides))))
        memcpy(out->strides, x->strides, x->rank * sizeof(*x->strides));
    return true;
}

bool torch_place(struct torch_tree *t, const struct torch_tensor *x, struct extent *out,
                 struct error *err)
{
    struct text chain = {.limit = CHAIN_BYTES - 1};
    struct span span = {0, x->run.size, true};
    struct dtype dtype;
    dtype_find(x->dtype, &dtype);
    if (x->meta || x->run.lost)
        return torch_fail(t, err, "no-data", "it has no data");
    /* To negate a float is to flip its sign bit. Integers that are still to be negated come only
     * from torch's internal functions. */
    if (x->negative && dtype.kind != DTYPE_FLOAT && dtype.kind != DTYPE_COMPLEX)
        return torch_fail(t, err, "unsupported", "%s whose negation torch left for later",
                          dtype.name);
    if (!x->sparse && !measure(t, x, &dtype, &span, err))
        return false;
    torch_view_place(&x->run, &span, &chain, out);
    /* Correct the byte order, and apply what torch left for later (conj, neg). */
    const unsigned width = dtype_swap_width(&dtype);
    if (x->swap > 1)
        text_addf(&chain, "%sswap:%u", bar(&chain), x->swap);
    if (x->conjugate && dtype.kind == DTYPE_COMPLEX)
        text_addf(&chain, "%sflip:%u,%u", bar(&chain), 2 * width, 2 * width - 1);
    if (x->negative)
        text_addf(&chain, "%sflip:%u,%u", bar(&chain), width, width - 1);
    if (x->strings)
        text_addf(&chain, "%sstrings:%s", bar(&chain), x->strings);
    bool ok = copy_to_job(t, x, &span, &chain, out, err);
    text_release(&chain);
    return ok;
}

bool torch_run_summed(const struct torch_run *run, const struct extent *e)
{
    if (!run->crc)
        return false;
    return run->codec ? !e->codec || !strstr(e->codec, "|cut:") : e->stored == run->size;
}

/* Put the extent into the claim. */
static void put_place(struct torch_tree *t, const struct torch_run *run, const struct extent *e,
                      struct tensor_claim *claim)
{
    claim->codec = e->codec;
    claim->strides = e->strides;
    claim->storage = STORAGE_RANGE;
    claim->file = e->file;
    claim->offset = e->offset;
    claim->stored = e->stored;
    claim->sums = torch_run_summed(run, e) ? &run->crc : NULL;
    struct kept {
        struct extent chunk;
        uint32_t sum;
    } *kept = run->codec || run->inlined ? arena_alloc(t->job->arena, sizeof(*kept)) : NULL;
    if (!kept)
        return;
    kept->chunk = (struct extent){
        .file = e->file, .offset = e->offset, .stored = e->stored, .bytes = e->bytes};
    kept->sum = run->crc;
    claim->storage = run->inlined ? STORAGE_INLINE : STORAGE_CHUNKS;
    claim->extents = &kept->chunk;
    claim->extent_count = 1;
    if (claim->sums)
        claim->sums = &kept->sum; /* until the job ends */
}

void torch_emit(struct torch_tree *t, const char *name, size_t len, const struct torch_tensor *x,
                struct error *err)
{
    char what[320];
    struct extent place = {0};
    struct tensor_claim claim = {.name = name,
                                 .name_len = len,
                                 .dtype = x->dtype,
                                 .shape = x->shape,
                                 .rank = x->rank,
                                 .storage = STORAGE_NONE,
                                 .unique = true};
    if (err->status == OK && x->meta && !t->without_data++)
        snprintf(t->first_without, sizeof(t->first_without), "%s", name);
    if (err->status == OK && !x->meta && !x->run.lost && torch_place(t, x, &place, err))
        put_place(t, &x->run, &place, &claim);
    if (err->status != OK) {
        snprintf(what, sizeof(what), "tensor \"%.240s\"", name);
        error_prefix(err, what);
        job_issue_error(t->job, ISSUE_ERROR, err);
    }
    if (t->emit)
        t->emit(t, &claim);
    else
        job_tensor(t->job, &claim);
}

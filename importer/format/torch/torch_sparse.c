/*
 * torch_sparse.c - sparse tensors. Each is one row with dense values, which the codec "sparse"
 * (codec/sparse.c) makes from its parts. The stored range extends from the first part to the last.
 *
 *   COO            (indices, values, size [, is coalesced])
 *   CSR, BSR       (row pointers, columns, values, size)
 *   CSC, BSC       (column pointers, rows, values, size)
 *
 * In the compressed layouts (all but COO), dimensions before the last two of `size` are batches,
 * which all parts have too. A part that is deflated or big-endian is decoded by the step "append"
 * (codec/append.c).
 *
 * Not read: parts with strides of another order, conjugated parts, and parts in the pickle itself.
 */
#include <stdio.h>
#include <string.h>

#include "catalog/data/codec/codec.h"
#include "importer/container/zip.h"
#include "importer/format/torch/torch.h"

bool torch_sparse_refuse(struct torch_tree *t, struct error *err, const char *what)
{
    return torch_fail(t, err, "unsupported", "a sparse tensor %s", what);
}

bool torch_sparse_layout(const struct pickle *p, pickle_ref ref, struct torch_sparse *out)
{
    static const char *const layouts[] = {"torch.sparse_coo", "torch.sparse_csr",
                                          "torch.sparse_csc", "torch.sparse_bsr",
                                          "torch.sparse_bsc"};
    if (torch_callee(p, ref) == TORCH_TEXT)
        ref = pickle_item(p, pickle_at(p, ref)->call->args, 0);
    for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++) {
        if (pickle_is_text(p, ref, layouts[i])) {
            out->coo = i == 0;
            out->kind = "orcrc"[i];
            out->blocks = i >= 3;
            return true;
        }
    }
    return false;
}

/* The bytes of a part: a run of the file, and the codec steps to decode it, if any. */
struct place {
    uint64_t begin, end; /* in the file */
    uint64_t own, size;  /* offset of the part in the decoded bytes; all decoded bytes */
    char steps[ZIP_CODEC_BYTES + 16];
};

/* The number of elements from the first of a part to the last. If `in_order`, the part must be
 * row-major. */
static bool reach(struct torch_tree *t, const struct torch_tensor *x, bool in_order,
                  uint64_t *elements, struct error *err)
{
    uint64_t last = 0, step = 1, far;
    for (unsigned d = x->rank; d-- > 0;) {
        if (x->shape[d] == 0) {
            *elements = 0;
            return true;
        }
        if (in_order && x->shape[d] != 1 && (uint64_t)x->strides[d] != step)
            return torch_sparse_refuse(t, err, "whose parts are in another order");
        step *= x->shape[d];
        if (!mul_u64(x->shape[d] - 1, (uint64_t)x->strides[d], &far) || !add_u64(last, far, &last))
            return torch_fail(t, err, "bad-tensor", "its strides reach too far");
    }
    *elements = last + 1;
    return true;
}

static bool place_of(struct torch_tree *t, const struct torch_tensor *x, bool in_order,
                     struct place *out, struct error *err)
{
    struct dtype dtype;
    uint64_t elements = 0, last;
    dtype_find(x->dtype, &dtype);
    const uint64_t width = dtype.block_bytes;
    if (x->meta || x->run.lost || x->run.inlined || x->conjugate || x->negative ||
        dtype.block_elems != 1 || !width || (x->run.codec && strchr(x->run.codec, '|')))
        return torch_sparse_refuse(t, err, "whose parts are not plain ranges");
    if (!reach(t, x, in_order, &elements, err))
        return false;
    if (elements && (!add_u64(x->offset, elements, &last) || last > x->bound / width))
        return torch_fail(t, err, "bad-tensor", "a part ends past its storage");
    const uint64_t own = elements ? x->offset * width : 0;
    *out = (struct place){.begin = x->run.offset + own,
                          .end = x->run.offset + own + elements * width,
                          .size = elements * width};
    if (x->run.codec && elements) {
        *out = (struct place){.begin = x->run.offset,
                              .end = x->run.offset + x->run.stored,
                              .own = own,
                              .size = x->run.size};
        snprintf(out->steps, sizeof(out->steps), "%s%s", x->run.codec, x->swap > 1 ? "+" : "");
    }
    if (x->swap > 1 && out->size) {
        const size_t len = strlen(out->steps);
        if (out->size % x->swap)
            return torch_sparse_refuse(t, err, "with half an element in its storage");
        snprintf(out->steps + len, sizeof(out->steps) - len, "swap:%u", x->swap);
    }
    return true;
}

static char adds(const struct dtype *dtype)
{
    if (dtype_is_integer(dtype))
        return 'i';
    if (dtype->kind == DTYPE_COMPLEX)
        return dtype->bits >= 64 ? 'c' : '-';
    if (dtype->kind != DTYPE_FLOAT)
        return '-';
    if (dtype->bits >= 32)
        return 'f';
    return dtype->bits == 16 ? 'h' : '-';
}

/* Append the step "sparse"; `at` is the offset of each part in its input. */
static void put_sparse(const struct torch_sparse *s, const struct torch_tensor *x,
                       const uint64_t at[SPARSE_PARTS], struct text *chain)
{
    const struct torch_tensor *index = &s->part[SPARSE_INDEX], *values = &s->part[SPARSE_VALUES];
    struct dtype dtype;
    dtype_find(x->dtype, &dtype);
    const unsigned own = s->coo ? (unsigned)index->shape[0] : s->batch + 2;
    const unsigned entry = s->coo ? 1 : s->batch + (s->blocks ? 3 : 1);
    uint64_t run = 1; /* dense values per entry: of the dimensions after entries and blocks */
    for (unsigned d = entry; d < values->rank; d++)
        run *= values->shape[d];
    text_addf(chain, "sparse:%c,%c,%u,%llu,%llu,%llu,", s->kind, adds(&dtype), dtype.block_bytes,
              (unsigned long long)s->count, (unsigned long long)at[SPARSE_VALUES],
              (unsigned long long)run);
    for (unsigned d = 0; d < own; d++)
        text_addf(chain, d ? "x%llu" : "%llu", (unsigned long long)x->shape[d]);
    text_addf(chain, ",%llu,", (unsigned long long)at[SPARSE_INDEX]);
    if (s->coo)
        text_addf(chain, "%llu,%llu", (unsigned long long)index->strides[0],
                  (unsigned long long)index->strides[1]);
    else
        text_addf(chain, "%llu,%u,%llux%llu", (unsigned long long)at[SPARSE_OTHER],
                  strcmp(index->dtype, "int32") == 0 ? 4u : 8u,
                  (unsigned long long)(s->blocks ? values->shape[s->batch + 1] : 1),
                  (unsigned long long)(s->blocks ? values->shape[s->batch + 2] : 1));
}

static bool put_chain(struct torch_tree *t, struct torch_sparse *s, struct torch_tensor *x,
                      const struct place place[SPARSE_PARTS], struct error *err)
{
    struct text chain = {.limit = CHAIN_BYTES - 1};
    uint64_t at[SPARSE_PARTS] = {0}, end = x->run.stored;
    for (unsigned i = 0; i < SPARSE_PARTS; i++) {
        const struct place *p = &place[i];
        if (s->coo && i == SPARSE_OTHER)
            continue;
        at[i] = p->begin - x->run.offset;
        if (!*p->steps)
            continue;
        text_addf(&chain, "append:%llu,%llu,%s|", (unsigned long long)at[i],
                  (unsigned long long)(p->end - p->begin), p->steps);
        at[i] = end + p->own;
        if (!add_u64(end, p->size, &end))
            return torch_fail(t, err, "shape-overflow", "its parts are too large");
    }
    put_sparse(s, x, at, &chain);
    const char *text = text_str(&chain);
    const char *last = text ? strrchr(text, '|') : NULL;
    const bool fits = text && strlen(last ? last + 1 : text) < CODEC_STEP_BYTES;
    x->run.codec = text ? arena_copy(t->arena, text, chain.len) : NULL;
    text_release(&chain);
    return fits || torch_sparse_refuse(t, err, "of too many dimensions");
}

/* Whether the first dimensions of `x` are the batches of the whole. */
static bool in_batches(const struct torch_tensor *x, const struct torch_tensor *whole,
                       unsigned batch)
{
    for (unsigned d = 0; d < batch; d++)
        if (x->shape[d] != whole->shape[d])
            return false;
    return true;
}

static bool check_coo(struct torch_tree *t, struct torch_sparse *s, const struct torch_tensor *x,
                      struct error *err)
{
    const struct torch_tensor *index = &s->part[SPARSE_INDEX], *values = &s->part[SPARSE_VALUES];
    if (index->rank != 2 || strcmp(index->dtype, "int64") != 0 || index->shape[0] > x->rank ||
        index->shape[0] > 16 || values->rank < 1 || values->rank - 1 != x->rank - index->shape[0])
        return torch_sparse_refuse(t, err, "with indexes of another kind");
    s->count = values->shape[0];
    return index->shape[1] == s->count ||
           torch_fail(t, err, "bad-tensor", "it has different numbers of indexes and values");
}

static bool check_compressed(struct torch_tree *t, struct torch_sparse *s,
                             const struct torch_tensor *x, struct error *err)
{
    const struct torch_tensor *index = &s->part[SPARSE_INDEX], *other = &s->part[SPARSE_OTHER],
                              *values = &s->part[SPARSE_VALUES];
    const unsigned batch = s->batch = index->rank - 1u;
    const unsigned entry = batch + (s->blocks ? 3 : 1);
    if (!index->rank || batch + 2 > x->rank || batch + 2 > 16 || values->rank < entry ||
        values->rank - entry != x->rank - batch - 2 || other->rank != batch + 1 ||
        strcmp(other->dtype, index->dtype) != 0 ||
        (strcmp(index->dtype, "int64") != 0 && strcmp(index->dtype, "int32") != 0))
        return torch_sparse_refuse(t, err, "with indexes of another kind");
    const uint64_t outer = x->shape[batch + (s->kind == 'r' ? 0 : 1)];
    const uint64_t block = s->blocks ? values->shape[batch + (s->kind == 'r' ? 1 : 2)] : 1;
    s->count = values->shape[batch];
    bool fits = block && index->shape[batch] == outer / block + 1 &&
                other->shape[batch] == s->count && in_batches(index, x, batch) &&
                in_batches(other, x, batch) && in_batches(values, x, batch);
    for (unsigned d = 0; fits && d < batch; d++)
        fits = mul_u64(s->count, x->shape[d], &s->count);
    return fits || torch_fail(t, err, "bad-tensor", "its index does not fit its shape");
}

bool torch_sparse_join(struct torch_tree *t, struct torch_sparse *s, struct torch_tensor *x,
                       struct error *err)
{
    struct place place[SPARSE_PARTS] = {{.begin = 0}};
    uint64_t elements, first = UINT64_MAX, last = 0;
    struct dtype dtype;
    if (!(s->coo ? check_coo(t, s, x, err) : check_compressed(t, s, x, err)))
        return false;
    dtype_find(x->dtype, &dtype);
    for (unsigned i = 0; i < SPARSE_PARTS; i++) {
        if (s->coo && i == SPARSE_OTHER)
            continue;
        if (s->part[i].run.file != s->part[SPARSE_VALUES].run.file)
            return torch_sparse_refuse(t, err, "whose parts are in different files");
        if (!place_of(t, &s->part[i], !s->coo || i == SPARSE_VALUES, &place[i], err))
            return false;
        first = place[i].begin < first ? place[i].begin : first;
        last = place[i].end > last ? place[i].end : last;
    }
    x->run = s->part[SPARSE_VALUES].run;
    x->run.offset = first;
    x->run.stored = last - first;
    x->run.crc = 0;
    if (!shape_elements(x->shape, x->rank, &elements) ||
        !mul_u64(elements, dtype.block_bytes, &x->run.size))
        return torch_fail(t, err, "shape-overflow", "its shape is impossible");
    return put_chain(t, s, x, place, err);
}

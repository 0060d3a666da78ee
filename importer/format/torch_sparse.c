/*
 * torch_sparse.c - sparse tensors: one row with the dense values, made by the codec "sparse"
 * (codec/sparse.c) from the bytes between the first and the last of its parts.
 *
 *   COO            (indices, values, size [, is coalesced])
 *   CSR, BSR       (row pointers, columns, values, size)
 *   CSC, BSC       (column pointers, rows, values, size)
 *
 * Not read: those whose parts are deflated, big-endian or in other orders, batches.
 */
#include <stdio.h>
#include <string.h>

#include "importer/format/torch.h"

struct parts {
    struct torch_tensor index, other, values;
    char kind; /* as in the codec */
    bool blocks;
};

static bool unsupported(struct torch_tree *t, struct error *err, const char *what)
{
    return torch_fail(t, err, "unsupported", "a sparse tensor %s", what);
}

/* Which layout: torch.sparse_coo, … */
static bool read_layout(const struct pickle *p, pickle_ref ref, struct parts *out)
{
    static const char *const layouts[] = {"torch.sparse_coo", "torch.sparse_csr",
                                          "torch.sparse_csc", "torch.sparse_bsr",
                                          "torch.sparse_bsc"};
    if (torch_callee(p, ref) == TORCH_TEXT)
        ref = pickle_item(p, pickle_at(p, ref)->call->args, 0);
    for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++) {
        if (pickle_is_text(p, ref, layouts[i])) {
            out->kind = "orcrc"[i];
            out->blocks = i >= 3;
            return true;
        }
    }
    return false;
}

static bool read_part(struct torch_tree *t, pickle_ref ref, struct torch_tensor *out,
                      struct error *err)
{
    if (!torch_is_tensor(t->pickle, ref) ||
        torch_callee(t->pickle, ref) == TORCH_REBUILD_SPARSE)
        return unsupported(t, err, "without its parts");
    return torch_tensor_read(t, ref, out, err) &&
           (!out->sparse || unsupported(t, err, "made of sparse ones"));
}

/* Bytes [*begin, *end) of the file that the part takes. */
static bool extent_of(struct torch_tree *t, const struct torch_tensor *x, bool in_order,
                      uint64_t *begin, uint64_t *end, struct error *err)
{
    struct dtype dtype;
    uint64_t last = x->offset, step = 1;
    dtype_find(x->dtype, &dtype);
    if (x->meta || x->run.lost || x->run.codec || x->run.inlined || x->swap > 1 ||
        x->conjugate || x->negative || dtype.block_elems != 1)
        return unsupported(t, err, "whose parts are not plain little-endian ranges");
    for (unsigned d = x->rank; d-- > 0;) {
        uint64_t far;
        if (x->shape[d] == 0) {
            *begin = *end = x->run.offset;
            return true;
        }
        if (in_order && x->shape[d] != 1 && (uint64_t)x->strides[d] != step)
            return unsupported(t, err, "whose parts are in another order");
        step *= x->shape[d];
        if (!mul_u64(x->shape[d] - 1, (uint64_t)x->strides[d], &far) ||
            !add_u64(last, far, &last))
            return torch_fail(t, err, "bad-tensor", "its strides reach too far");
    }
    if (last >= x->bound / dtype.block_bytes)
        return torch_fail(t, err, "bad-tensor", "a part of it ends past its storage");
    *begin = x->run.offset + x->offset * dtype.block_bytes;
    *end = x->run.offset + (last + 1) * dtype.block_bytes;
    return true;
}

static void put_shape(struct text *out, const uint64_t *shape, unsigned rank)
{
    for (unsigned d = 0; d < rank; d++)
        text_addf(out, d ? "x%llu" : "%llu", (unsigned long long)shape[d]);
    if (!rank)
        text_addc(out, '1');
}

static char adds(const struct dtype *dtype)
{
    if (dtype->kind == DTYPE_INT || dtype->kind == DTYPE_UINT)
        return 'i';
    if (dtype->kind == DTYPE_COMPLEX)
        return dtype->bits >= 64 ? 'c' : '-';
    if (dtype->kind != DTYPE_FLOAT)
        return '-';
    if (dtype->bits >= 32)
        return 'f';
    return dtype->bits == 16 ? 'h' : '-';
}

/* Dimensions of the values behind those of the entries (and of a block). */
static uint64_t dense_run(const struct torch_tensor *values, unsigned first)
{
    uint64_t run = 1;
    for (unsigned d = first; d < values->rank; d++)
        run *= values->shape[d];
    return run;
}

static bool put_chain(struct torch_tree *t, struct parts *s, struct torch_tensor *x,
                      const uint64_t *at, struct error *err)
{
    struct text chain = {.limit = 95};
    struct dtype dtype;
    dtype_find(x->dtype, &dtype);
    bool coo = s->kind == 'o';
    unsigned own = coo ? (unsigned)s->index.shape[0] : 2;
    unsigned skip = coo ? 1 : s->blocks ? 3 : 1;
    text_addf(&chain, "sparse:%c,%c,%u,%llu,%llu,%llu,", s->kind, adds(&dtype),
              dtype.block_bytes, (unsigned long long)s->values.shape[0],
              (unsigned long long)at[2], (unsigned long long)dense_run(&s->values, skip));
    put_shape(&chain, x->shape, own);
    text_addf(&chain, ",%llu,", (unsigned long long)at[0]);
    if (coo)
        text_addf(&chain, "%llu,%llu", (unsigned long long)s->index.strides[0],
                  (unsigned long long)s->index.strides[1]);
    else
        text_addf(&chain, "%llu,%u,%llux%llu", (unsigned long long)at[1],
                  strcmp(s->index.dtype, "int32") == 0 ? 4u : 8u,
                  (unsigned long long)(s->blocks ? s->values.shape[1] : 1),
                  (unsigned long long)(s->blocks ? s->values.shape[2] : 1));
    const char *text = text_str(&chain);
    x->run.codec = text ? arena_copy(t->arena, text, chain.len) : NULL;
    text_release(&chain);
    return x->run.codec || unsupported(t, err, "of too many dimensions");
}

/* What the codec relies on. */
static bool check_parts(struct torch_tree *t, const struct parts *s,
                        const struct torch_tensor *x, struct error *err)
{
    bool coo = s->kind == 'o';
    bool wide = strcmp(s->index.dtype, "int64") == 0;
    uint64_t own = coo && s->index.rank == 2 ? s->index.shape[0] : 2;
    unsigned skip = coo ? 1 : s->blocks ? 3 : 1;
    if (s->index.rank != (coo ? 2u : 1u) || own > x->rank || own > 16 ||
        s->values.rank < skip || s->values.rank - skip != x->rank - own ||
        (!wide && (coo || strcmp(s->index.dtype, "int32") != 0)))
        return unsupported(t, err, "in batches, or with indexes of another kind");
    if (coo)
        return s->index.shape[1] == s->values.shape[0] ||
               torch_fail(t, err, "bad-tensor", "it has not as many indexes as values");
    uint64_t outer = x->shape[s->kind == 'r' ? 0 : 1];
    uint64_t block = s->blocks ? s->values.shape[s->kind == 'r' ? 1 : 2] : 1;
    return (block && s->index.shape[0] == outer / block + 1 && s->other.rank == 1 &&
            s->other.shape[0] == s->values.shape[0] &&
            strcmp(s->other.dtype, s->index.dtype) == 0) ||
           torch_fail(t, err, "bad-tensor", "its index does not fit its shape");
}

static bool put_run(struct torch_tree *t, struct parts *s, struct torch_tensor *x,
                    struct error *err)
{
    bool coo = s->kind == 'o';
    uint64_t begin[3] = {0}, end[3] = {0}, elements;
    struct dtype dtype;
    dtype_find(x->dtype, &dtype);
    if (!extent_of(t, &s->index, !coo, &begin[0], &end[0], err) ||
        (!coo && !extent_of(t, &s->other, true, &begin[1], &end[1], err)) ||
        !extent_of(t, &s->values, true, &begin[2], &end[2], err))
        return false;
    uint64_t first = UINT64_MAX, last = 0;
    for (unsigned i = 0; i < 3; i++) {
        if (coo && i == 1)
            continue;
        first = begin[i] < first ? begin[i] : first;
        last = end[i] > last ? end[i] : last;
    }
    const uint64_t at[] = {begin[0] - first, begin[1] - first, begin[2] - first};
    x->run = s->values.run;
    x->run.offset = first;
    x->run.stored = last - first;
    x->run.crc = 0;
    if (!shape_elements(x->shape, x->rank, &elements) ||
        !mul_u64(elements, dtype.block_bytes, &x->run.size))
        return torch_fail(t, err, "shape-overflow", "its shape is impossible");
    return put_chain(t, s, x, at, err);
}

bool torch_sparse_read(struct torch_tree *t, pickle_ref args, struct torch_tensor *x,
                       struct error *err)
{
    const struct pickle *p = t->pickle;
    pickle_ref data = pickle_item(p, args, 1);
    struct parts *s = arena_alloc(t->arena, sizeof(*s));
    if (!s)
        return torch_no_memory(t, err);
    if (!read_layout(p, pickle_item(p, args, 0), s))
        return unsupported(t, err, "of an unknown layout");
    bool coo = s->kind == 'o';
    if (!torch_numbers(p, pickle_item(p, data, coo ? 2 : 3), x->shape, &x->rank))
        return torch_fail(t, err, "bad-tensor", "its shape is not a list of sizes");
    if (!read_part(t, pickle_item(p, data, coo ? 1 : 2), &s->values, err))
        return false;
    x->dtype = s->values.dtype;
    x->known = x->sparse = true;
    if (!read_part(t, pickle_item(p, data, 0), &s->index, err) ||
        (!coo && !read_part(t, pickle_item(p, data, 1), &s->other, err)))
        return false;
    return check_parts(t, s, x, err) && put_run(t, s, x, err);
}

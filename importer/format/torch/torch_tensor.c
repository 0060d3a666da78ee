/* torch_tensor.c - the calls that rebuild a tensor: dtype, shape, strides and storage. */
#include <stdlib.h>
#include <string.h>

#include "importer/format/torch/torch.h"

/* --- storages --------------------------------------------------------------------------- */

/* Old files have views of storages: narrow the run to the part that the view is. */
static bool read_view(struct torch_tree *t, const struct torch_key *key, struct torch_run *run,
                      uint64_t *bound, struct error *err)
{
    const struct pickle *p = t->pickle;
    pickle_ref view = pickle_item(p, pickle_item(p, key->node, 0), 5);
    const unsigned width = torch_element_bytes(key->dtype);
    uint64_t offset, size, from, len, end;
    *bound = key->bytes;
    if (!view || pickle_kind(p, view) == PICKLE_NONE)
        return true;
    if (!torch_number(p, pickle_item(p, view, 1), &offset) ||
        !torch_number(p, pickle_item(p, view, 2), &size) || !mul_u64(offset, width, &from) ||
        !mul_u64(size, width, &len) || !add_u64(from, len, &end) || end > key->bytes || run->codec)
        return torch_fail(t, err, "bad-storage", "a view of a storage reaches past it");
    run->offset += from;
    run->stored = run->size = *bound = len;
    run->crc = 0;
    return true;
}

static bool read_storage(struct torch_tree *t, pickle_ref ref, struct torch_key *key,
                         struct torch_tensor *out, struct error *err)
{
    const struct pickle *p = t->pickle;
    if (torch_callee(p, ref) == TORCH_STORAGE_BYTES)
        return torch_embedded(t, ref, key, &out->run, err);
    if (pickle_kind(p, ref) != PICKLE_PERSID)
        return torch_fail(t, err, "bad-storage", "it has no storage");
    if (t->find_key)
        return t->find_key(t, ref, key, &out->run, err);
    if (!torch_key_read(t, ref, key, err))
        return false;
    out->meta = key->location && strcmp(key->location, "meta") == 0;
    return true;
}

/* Find the storage. By now dtype and shape are known, so if this fails there is still a row. */
static bool torch_tensor_place(struct torch_tree *t, const struct torch_key *key,
                               struct torch_tensor *out, struct error *err)
{
    uint64_t bound = key->bytes;
    if (out->meta)
        return true;
    if (key->node) {
        if (!t->find(t, key, &out->run, err))
            return false;
        if (out->run.lost)
            return true;
        if (key->bytes > out->run.size) {
            torch_fail(t, err, "truncated",
                       "its storage \"%.40s\" should have %llu bytes and has %llu", key->key,
                       (unsigned long long)key->bytes, (unsigned long long)out->run.size);
            return false;
        }
        if (!read_view(t, key, &out->run, &bound, err))
            return false;
    }
    out->bound = bound;
    return true;
}

static bool read_strides(struct torch_tree *t, pickle_ref size, pickle_ref stride,
                         struct torch_tensor *out, struct error *err)
{
    uint64_t strides[TENSOR_RANK_MAX];
    unsigned rank = 0;
    if (!torch_numbers(t->pickle, size, out->shape, &out->rank))
        return torch_fail(t, err, "bad-tensor", "its shape is not a list of sizes");
    if (!torch_numbers(t->pickle, stride, strides, &rank) || rank != out->rank)
        return torch_fail(t, err, "bad-tensor",
                          "its strides are not as many numbers as it has dimensions");
    for (unsigned d = 0; d < rank; d++)
        out->strides[d] = (int64_t)strides[d];
    return true;
}

/* Read (storage, offset, size, stride, …). The dtype is the storage class's; v3 has it as an
 * argument. With conj or neg in the metadata, the values are the conjugate or the negative of the
 * stored ones. */
static bool read_rebuild(struct torch_tree *t, pickle_ref args, bool v3, struct torch_tensor *out,
                         struct error *err)
{
    const struct pickle *p = t->pickle;
    struct torch_key key = {0};
    if (!read_strides(t, pickle_item(p, args, 2), pickle_item(p, args, 3), out, err))
        return false;
    if (!torch_number(p, pickle_item(p, args, 1), &out->offset))
        return torch_fail(t, err, "bad-tensor", "its offset is not a number");
    if (!read_storage(t, pickle_item(p, args, 0), &key, out, err))
        return false;
    out->dtype = v3 ? torch_dtype_of(p, pickle_item(p, args, 6)) : key.dtype;
    const pickle_ref metadata = pickle_item(p, args, v3 ? 7 : 6);
    if (pickle_kind(p, metadata) == PICKLE_DICT)
        t->visits += pickle_at(p, metadata)->count / 2; /* tensors may share it */
    out->conjugate = pickle_kind(p, pickle_get(p, metadata, "conj")) == PICKLE_TRUE;
    out->negative = pickle_kind(p, pickle_get(p, metadata, "neg")) == PICKLE_TRUE;
    if (!out->dtype)
        return torch_fail(t, err, "bad-tensor", "its dtype is not known");
    struct dtype dtype;
    dtype_find(out->dtype, &dtype);
    /* torch swaps the bytes of typed storages only */
    out->swap = t->big_endian && key.dtype ? dtype_swap_width(&dtype) : 1;
    out->known = true;
    return torch_tensor_place(t, &key, out, err);
}

static bool read_meta(struct torch_tree *t, pickle_ref args, struct torch_tensor *out,
                      struct error *err)
{
    const struct pickle *p = t->pickle;
    out->dtype = torch_dtype_of(p, pickle_item(p, args, 0));
    out->meta = true;
    if (!read_strides(t, pickle_item(p, args, 1), pickle_item(p, args, 2), out, err))
        return false;
    out->known = out->dtype != NULL;
    return out->known || torch_fail(t, err, "bad-tensor", "its dtype is not known");
}

/* --- calls ------------------------------------------------------------------------------ */

/* The tensor in an instance of a tensor class. The state is (storage, offset, size, stride)
 * (*is_rebuild), or begins with a tensor; without state the first argument is the tensor. */
static pickle_ref inside_class(const struct pickle *p, const struct pickle_call *call,
                               bool *is_rebuild)
{
    pickle_ref first = call->state ? pickle_item(p, call->state, 0) : 0;
    *is_rebuild = false;
    if (!first)
        return pickle_item(p, call->args, 0);
    if (torch_is_tensor(p, first))
        return first;
    *is_rebuild = true;
    return call->state;
}

/* Take off the wrappers: the meaning of the call that rebuilds the tensor, its node (0 if it is
 * not a call of its own), and its arguments. */
static enum torch_meaning unwrap(const struct pickle *p, pickle_ref ref, pickle_ref *node,
                                 pickle_ref *args)
{
    enum torch_meaning meaning = torch_callee(p, ref);
    bool is_rebuild;
    *args = pickle_kind(p, ref) == PICKLE_CALL ? pickle_at(p, ref)->call->args : 0;
    *node = ref;
    for (unsigned i = 0; i < TORCH_WRAPS_MAX; i++) {
        pickle_ref inner = 0;
        if (meaning == TORCH_WRAP_FIRST) {
            inner = pickle_item(p, *args, 0);
        } else if (meaning == TORCH_WRAP_TYPE || meaning == TORCH_WRAP_TYPE_V2) {
            meaning = torch_meaning_of(p, pickle_item(p, *args, 0));
            *args = pickle_item(p, *args, 2);
            *node = 0;
            continue;
        } else if (meaning == TORCH_TENSOR_CLASS && *node) {
            inner = inside_class(p, pickle_at(p, *node)->call, &is_rebuild);
            if (is_rebuild) {
                *args = inner;
                return TORCH_REBUILD;
            }
        } else {
            return meaning;
        }
        *node = inner;
        if (pickle_kind(p, inner) != PICKLE_CALL)
            return TORCH_UNKNOWN;
        *node = inner;
        *args = pickle_at(p, inner)->call->args;
        meaning = torch_callee(p, inner);
    }
    return TORCH_UNKNOWN;
}

/* --- tensors made of tensors ------------------------------------------------------------ */

/* Read a DTensor that this rank has whole. */
static bool read_local(struct torch_tree *t, pickle_ref local, struct torch_tensor *x,
                       struct error *err)
{
    struct torch_tensor own;
    if (!torch_tensor_read(t, local, &own, err))
        return false;
    if (own.rank != x->rank || !own.dtype || strcmp(own.dtype, x->dtype) != 0 ||
        memcmp(own.shape, x->shape, x->rank * sizeof(*x->shape)) != 0)
        return torch_fail(t, err, "incomplete",
                          "one rank's part of a distributed tensor: its other parts are "
                          "not in the file");
    *x = own;
    return true;
}

static bool read_wrapper(struct torch_tree *t, pickle_ref wrapper, struct torch_tensor *x,
                         struct error *err)
{
    const struct pickle *p = t->pickle;
    const pickle_ref outer = pickle_at(p, wrapper)->call->args;
    const pickle_ref args = pickle_item(p, outer, 2),
                     local = torch_wrapper_part(p, wrapper, "_local_tensor");
    const pickle_ref class = pickle_item(p, outer, 1);
    x->opaque = true;
    x->dtype = torch_dtype_of(p, pickle_item(p, args, 1));
    if (!x->dtype || !torch_numbers(p, pickle_item(p, args, 2), x->shape, &x->rank))
        return torch_fail(t, err, "bad-tensor", "its dtype or its shape is not known");
    x->known = true;
    if (local && torch_is_tensor(p, local) && !torch_wrapper(p, local))
        return read_local(t, local, x, err);
    return torch_fail(
        t, err, "unsupported", "it is a %.100s, made of the tensors that are named after it",
        pickle_kind(p, class) == PICKLE_GLOBAL ? p->globals[pickle_at(p, class)->integer].name
                                               : "tensor of another class");
}

static bool read_sparse_part(struct torch_tree *t, pickle_ref ref, struct torch_tensor *out,
                             struct error *err)
{
    if (!torch_is_tensor(t->pickle, ref) || torch_callee(t->pickle, ref) == TORCH_REBUILD_SPARSE)
        return torch_sparse_refuse(t, err, "without its parts");
    return torch_tensor_read(t, ref, out, err) &&
           (!out->sparse || torch_sparse_refuse(t, err, "made of sparse ones"));
}

/* Read (layout, (parts, size)). */
static bool read_sparse(struct torch_tree *t, pickle_ref args, struct torch_tensor *x,
                        struct error *err)
{
    const struct pickle *p = t->pickle;
    const pickle_ref data = pickle_item(p, args, 1);
    struct torch_sparse *s = calloc(1, sizeof(*s)); /* large: neither on the stack nor kept */
    bool ok = false;
    if (!s)
        error_memory(t->job->err);
    else if (!torch_sparse_layout(p, pickle_item(p, args, 0), s))
        torch_sparse_refuse(t, err, "of an unknown layout");
    else if (!torch_numbers(p, pickle_item(p, data, s->coo ? 2 : 3), x->shape, &x->rank))
        torch_fail(t, err, "bad-tensor", "its shape is not a list of sizes");
    else
        ok =
            read_sparse_part(t, pickle_item(p, data, s->coo ? 1 : 2), &s->part[SPARSE_VALUES], err);
    if (ok) {
        x->dtype = s->part[SPARSE_VALUES].dtype;
        x->known = x->sparse = true;
        ok =
            read_sparse_part(t, pickle_item(p, data, 0), &s->part[SPARSE_INDEX], err) &&
            (s->coo || read_sparse_part(t, pickle_item(p, data, 1), &s->part[SPARSE_OTHER], err)) &&
            torch_sparse_join(t, s, x, err);
    }
    free(s);
    return ok;
}

bool torch_tensor_read(struct torch_tree *t, pickle_ref ref, struct torch_tensor *out,
                       struct error *err)
{
    pickle_ref node, args;
    out->dtype = out->strings = NULL;
    out->known = out->meta = out->conjugate = out->negative = out->opaque = false;
    out->run = (struct torch_run){.file = t->run.file};
    out->rank = 0;
    out->swap = 1;
    out->item = 0;
    out->offset = out->bound = 0;
    out->sparse = false;
    out->quantiser = 0;
    if (pickle_kind(t->pickle, ref) == PICKLE_PERSID)
        return t->read_id(t, ref, out, err);
    switch (unwrap(t->pickle, ref, &node, &args)) {
    case TORCH_REBUILD_QUANTISED:
        out->quantiser = pickle_item(t->pickle, args, 4);
        return read_rebuild(t, args, false, out, err);
    case TORCH_REBUILD: return read_rebuild(t, args, false, out, err);
    case TORCH_REBUILD_V3: return read_rebuild(t, args, true, out, err);
    case TORCH_REBUILD_META: return read_meta(t, args, out, err);
    case TORCH_REBUILD_SPARSE: return read_sparse(t, args, out, err);
    case TORCH_REBUILD_WRAPPER:
        if (torch_wrapper(t->pickle, ref))
            return read_wrapper(t, torch_wrapper(t->pickle, ref), out, err);
        break;
    case NUMPY_RECONSTRUCT:
    case NUMPY_FROM_BUFFER:
    case JAX_ARRAY:
        if (node)
            return torch_numpy_read(t, node, out, err);
        break;
    default:
        /* a parameter around a tensor that is a persistent id */
        if (node && node != ref && torch_is_tensor(t->pickle, node) &&
            pickle_kind(t->pickle, node) == PICKLE_PERSID)
            return t->read_id(t, node, out, err);
        break;
    }
    out->opaque = true;
    return torch_fail(t, err, "bad-tensor", "it is rebuilt in a way that is not known");
}

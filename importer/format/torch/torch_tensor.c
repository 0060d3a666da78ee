/* torch_tensor.c - the calls that rebuild a tensor: dtype, shape, strides and storage. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "importer/format/torch/torch.h"

bool torch_fail(struct torch_tree *t, struct error *err, const char *code, const char *fmt, ...)
{
    char what[256];
    va_list args;
    va_start(args, fmt);
    vsnprintf(what, sizeof(what), fmt, args);
    va_end(args);
    error_set(err, ERR_CORRUPT, t->path ? t->path : t->job->path, NO_OFFSET, "%s", what);
    error_code(err, code);
    return false;
}

bool torch_no_memory(struct torch_tree *t, struct error *err)
{
    error_memory_at(err, t->job->path);
    return false;
}

/* --- parts ------------------------------------------------------------------------------ */

bool torch_number(const struct pickle *p, pickle_ref ref, uint64_t *out)
{
    const struct pickle_node *n = pickle_at(p, ref);
    if (n->kind != PICKLE_INT || n->integer < 0)
        return false;
    *out = (uint64_t)n->integer;
    return true;
}

bool torch_numbers(const struct pickle *p, pickle_ref ref, uint64_t *out, unsigned *count)
{
    const struct pickle_node *n = pickle_at(p, ref);
    if (torch_callee(p, ref) == TORCH_SEQUENCE) {
        ref = pickle_item(p, n->call->args, 0);
        n = pickle_at(p, ref);
    }
    if ((n->kind != PICKLE_TUPLE && n->kind != PICKLE_LIST) || n->count > TENSOR_RANK_MAX)
        return false;
    for (uint32_t i = 0; i < n->count; i++)
        if (!torch_number(p, n->items[i], &out[i]))
            return false;
    *count = n->count;
    return true;
}

/* ('storage', class, key, location, number of elements [, (view key, offset, size)]) */
bool torch_key_read(struct torch_tree *t, pickle_ref persid, struct torch_key *key,
                    struct error *err)
{
    const struct pickle *p = t->pickle;
    pickle_ref id = pickle_item(p, persid, 0);
    pickle_ref name = pickle_item(p, id, 2), location = pickle_item(p, id, 3);
    const struct pickle_node *n = pickle_at(p, name);
    *key = (struct torch_key){.node = persid};
    if (pickle_kind(p, id) != PICKLE_TUPLE ||
        !pickle_is_text(p, pickle_item(p, id, 0), "storage") ||
        torch_meaning_of(p, pickle_item(p, id, 1)) != TORCH_STORAGE || n->kind != PICKLE_TEXT ||
        pickle_kind(p, location) != PICKLE_TEXT ||
        !torch_number(p, pickle_item(p, id, 4), &key->numel))
        return torch_fail(t, err, "bad-storage", "its persistent id does not name a storage");
    key->key = n->text;
    key->len = n->count;
    key->location = pickle_at(p, location)->text;
    key->dtype = torch_dtype_of(p, pickle_item(p, id, 1));
    key->bytes = key->numel;
    struct dtype dtype;
    if (!key->dtype)
        return true;
    dtype_find(key->dtype, &dtype);
    if (!mul_u64(key->numel, dtype.block_bytes, &key->bytes) || key->bytes > INT64_MAX)
        return torch_fail(t, err, "bad-storage", "its storage of %llu elements is too large",
                          (unsigned long long)key->numel);
    return true;
}

/* Old files have views of storages: narrow the run to the part that the view is. */
static bool read_view(struct torch_tree *t, const struct torch_key *key, struct torch_run *run,
                      uint64_t *bound, struct error *err)
{
    const struct pickle *p = t->pickle;
    pickle_ref view = pickle_item(p, pickle_item(p, key->node, 0), 5);
    struct dtype dtype = {.block_bytes = 1};
    uint64_t offset, size, from, len, end;
    *bound = key->bytes;
    if (!view || pickle_kind(p, view) == PICKLE_NONE)
        return true;
    if (key->dtype)
        dtype_find(key->dtype, &dtype);
    if (!torch_number(p, pickle_item(p, view, 1), &offset) ||
        !torch_number(p, pickle_item(p, view, 2), &size) ||
        !mul_u64(offset, dtype.block_bytes, &from) || !mul_u64(size, dtype.block_bytes, &len) ||
        !add_u64(from, len, &end) || end > key->bytes || run->codec)
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

/* With conj or neg set, the values are the conjugate or the negative of the stored ones. */
static void read_flags(struct torch_tree *t, pickle_ref metadata, struct torch_tensor *out)
{
    const struct pickle *p = t->pickle;
    if (pickle_kind(p, metadata) == PICKLE_DICT)
        t->visits += pickle_at(p, metadata)->count / 2; /* tensors may share it */
    out->conjugate = pickle_kind(p, pickle_get(p, metadata, "conj")) == PICKLE_TRUE;
    out->negative = pickle_kind(p, pickle_get(p, metadata, "neg")) == PICKLE_TRUE;
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

/* Read (storage, offset, size, stride, …). The dtype is that of the storage's class; v3 has it as
 * an argument. */
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
    read_flags(t, pickle_item(p, args, v3 ? 7 : 6), out);
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

bool torch_is_tensor(const struct pickle *p, pickle_ref ref)
{
    if (pickle_kind(p, ref) == PICKLE_PERSID)
        return pickle_at(p, ref)->flags & TORCH_IS_TENSOR;
    switch (torch_callee(p, ref)) {
    case TORCH_REBUILD:
    case TORCH_REBUILD_V3:
    case TORCH_REBUILD_QUANTISED:
    case TORCH_REBUILD_SPARSE:
    case TORCH_REBUILD_META:
    case TORCH_WRAP_FIRST:
    case TORCH_WRAP_TYPE:
    case TORCH_WRAP_TYPE_V2:
    case TORCH_TENSOR_CLASS:
    case NUMPY_RECONSTRUCT:
    case NUMPY_FROM_BUFFER:
        return true;
    default:
        return false;
    }
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
    case TORCH_REBUILD:
        return read_rebuild(t, args, false, out, err);
    case TORCH_REBUILD_V3:
        return read_rebuild(t, args, true, out, err);
    case TORCH_REBUILD_META:
        return read_meta(t, args, out, err);
    case TORCH_REBUILD_SPARSE:
        return torch_sparse_read(t, args, out, err);
    case TORCH_REBUILD_WRAPPER:
        if (torch_wrapper(t->pickle, ref))
            return torch_wrapper_read(t, torch_wrapper(t->pickle, ref), out, err);
        break;
    case NUMPY_RECONSTRUCT:
    case NUMPY_FROM_BUFFER:
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

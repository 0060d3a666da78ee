/*
 * torch_numpy.c - NumPy arrays and scalars in a pickle.
 *
 *   _reconstruct(ndarray, (0,), b'b')  state ([version,] shape, dtype, is Fortran, bytes)
 *   _frombuffer(bytes, dtype, shape, 'C' or 'F')      protocol 5
 *   scalar(dtype, bytes)
 *   dtype('f4', False, True)           state (3, '<', subarray, names, fields, -1, -1, 0
 *                                             [, (metadata, (unit, count, …))])
 *   dtype(ml_dtypes.bfloat16, False, True)
 *   _reconstruct_array(_reconstruct, arguments, state, …)     JAX: the first form, taken apart
 *
 * Source: numpy/core/src/multiarray/methods.c (array_reduce), descriptor.c; jax/_src/array.py.
 * Not read: arrays of objects and of structures: an issue each.
 */
#include <stdio.h>
#include <string.h>

#include "importer/container/numpytype.h"
#include "importer/format/torch/torch.h"

/* Copy a short text or byte string; false if it is neither, too long, or holds a NUL. */
static bool short_text(struct torch_tree *t, pickle_ref ref, char *out, size_t room)
{
    const struct pickle_node *n = pickle_at(t->pickle, ref);
    struct error ignored = {.offset = NO_OFFSET};
    struct source *s = NULL;
    size_t len = 0;
    if (n->kind == PICKLE_TEXT) {
        if ((len = n->count) < room)
            memcpy(out, n->text, len);
    } else if (torch_bytes_source(t, ref, &s, &ignored)) {
        len = s->size < room ? (size_t)s->size : room;
        if (len < room && source_read(s, 0, out, len, &ignored) != OK)
            len = room;
        source_close(s);
    } else {
        return false;
    }
    if (len >= room || memchr(out, '\0', len))
        return false;
    out[len] = '\0';
    return true;
}

/* The first argument of dtype(): a text, or a class of ml_dtypes. */
static bool type_code(struct torch_tree *t, pickle_ref ref, char *out, size_t room)
{
    const struct pickle_node *n = pickle_at(t->pickle, ref);
    if (n->kind != PICKLE_GLOBAL)
        return short_text(t, ref, out, room);
    const struct pickle_global *g = &t->pickle->globals[n->integer];
    return torch_meaning_of(t->pickle, ref) == TORCH_CONSTANT &&
           snprintf(out, room, "%s", g->name + g->module_len + 1) < (int)room;
}

static bool read_type(struct torch_tree *t, pickle_ref ref, struct numpy_type *type)
{
    const struct pickle *p = t->pickle;
    char code[24], order[4] = "|", unit[8] = "", text[NUMPY_TYPE_BYTES];
    uint64_t count = 1;
    if (torch_callee(p, ref) != NUMPY_DTYPE)
        return false;
    const struct pickle_call *call = pickle_at(p, ref)->call;
    if (!type_code(t, pickle_item(p, call->args, 0), code, sizeof(code)) ||
        (call->state && !short_text(t, pickle_item(p, call->state, 1), order, sizeof(order))))
        return false;
    if (pickle_kind(p, pickle_item(p, call->state, 3)) == PICKLE_TUPLE)
        return false; /* a structured dtype */
    pickle_ref time = pickle_item(p, pickle_item(p, call->state, 8), 1);
    if (time && (!short_text(t, pickle_item(p, time, 0), unit, sizeof(unit)) ||
                 !torch_number(p, pickle_item(p, time, 1), &count)))
        return false;
    int len = !unit[0] || strcmp(unit, "generic") == 0
                  ? snprintf(text, sizeof(text), "%s%s", order, code)
              : count == 1 ? snprintf(text, sizeof(text), "%s%s[%s]", order, code, unit)
                           : snprintf(text, sizeof(text), "%s%s[%llu%s]", order, code,
                                      (unsigned long long)count, unit);
    return len < (int)sizeof(text) && numpy_type_parse(text, type);
}

/* The parts of an array, in either form. */
struct parts {
    pickle_ref shape, dtype, data;
    bool fortran;
};

static bool take_apart(const struct pickle *p, pickle_ref node, struct parts *out)
{
    const struct pickle_call *call = pickle_at(p, node)->call;
    if (torch_callee(p, node) == NUMPY_FROM_BUFFER) {
        *out = (struct parts){pickle_item(p, call->args, 2), pickle_item(p, call->args, 1),
                              pickle_item(p, call->args, 0),
                              pickle_is_text(p, pickle_item(p, call->args, 3), "F")};
        return true;
    }
    if (torch_callee(p, node) == NUMPY_SCALAR) {
        *out = (struct parts){.dtype = pickle_item(p, call->args, 0),
                              .data = pickle_item(p, call->args, 1)};
        return true;
    }
    const pickle_ref state =
        torch_callee(p, node) == JAX_ARRAY ? pickle_item(p, call->args, 2) : call->state;
    if (!state)
        return false;
    /* Old NumPy left out the version. */
    uint32_t first = pickle_kind(p, pickle_item(p, state, 0)) == PICKLE_INT;
    const struct pickle_node *n = pickle_at(p, pickle_item(p, state, first + 2));
    *out = (struct parts){pickle_item(p, state, first), pickle_item(p, state, first + 1),
                          pickle_item(p, state, first + 3),
                          n->kind == PICKLE_TRUE || (n->kind == PICKLE_INT && n->integer != 0)};
    return true;
}

bool torch_numpy_read(struct torch_tree *t, pickle_ref node, struct torch_tensor *out,
                      struct error *err)
{
    const struct pickle *p = t->pickle;
    struct parts parts;
    struct numpy_type type;
    uint64_t elements, nbytes, steps = 1;
    out->rank = 0;
    if (!take_apart(p, node, &parts) || (torch_callee(p, node) != NUMPY_SCALAR &&
                                         !torch_numbers(p, parts.shape, out->shape, &out->rank)))
        return torch_fail(t, err, "bad-array", "a NumPy array without a shape");
    if (!read_type(t, parts.dtype, &type))
        return torch_fail(t, err, "unsupported",
                          "a NumPy array of objects, structures or an unknown dtype");
    for (unsigned i = 0; i < out->rank; i++) {
        const unsigned d = parts.fortran ? i : out->rank - 1 - i;
        out->strides[d] = (int64_t)steps;
        if (!mul_u64(steps, out->shape[d] ? out->shape[d] : 1, &steps))
            return torch_fail(t, err, "shape-overflow", "its shape is impossible");
    }
    if (!shape_elements(out->shape, out->rank, &elements) || steps > INT64_MAX ||
        !mul_u64(elements, type.item, &nbytes))
        return torch_fail(t, err, "shape-overflow", "its shape is impossible");
    out->dtype = arena_copy(t->job->arena, type.dtype, strlen(type.dtype));
    out->strings =
        type.strings[0] ? arena_copy(t->arena, type.strings, strlen(type.strings)) : NULL;
    out->item = type.item;
    out->swap = type.swap > 1 ? type.swap : 1;
    out->known = true;
    if (!torch_bytes_run(t, parts.data, &out->run, err))
        return false;
    out->bound = out->run.size;
    return nbytes <= out->run.size ||
           torch_fail(t, err, "truncated", "it needs %llu bytes and has %llu",
                      (unsigned long long)nbytes, (unsigned long long)out->run.size);
}

/* --- scalars ---------------------------------------------------------------------------- */

enum element_type torch_numpy_scalar(struct torch_tree *t, pickle_ref ref, struct element *out)
{
    const struct pickle *p = t->pickle;
    struct error ignored = {.offset = NO_OFFSET};
    struct numpy_type type;
    struct source *s = NULL;
    uint8_t raw[8];
    pickle_ref args = pickle_at(p, ref)->call->args;
    const bool there = read_type(t, pickle_item(p, args, 0), &type) && type.item <= sizeof(raw) &&
                       torch_bytes_source(t, pickle_item(p, args, 1), &s, &ignored) &&
                       s->size == type.item && source_read(s, 0, raw, type.item, &ignored) == OK;
    source_close(s);
    return there ? facts_number(type.dtype, raw, type.item, type.swap > 1, out) : ELEMENT_NONE;
}

/*
 * torch_wrapper.c - tensors made of other tensors, as subclasses of torch.Tensor are:
 *
 *   torch._tensor._rebuild_from_type_v2(
 *       torch._utils._rebuild_wrapper_subclass, CLASS,
 *       (CLASS, dtype, size, strides, offset, layout, device, requires_grad),
 *       state: its attributes, or (attributes, slots))
 *
 * The row has the dtype and shape that the whole states. How its values are made depends on the
 * class, so the tensors inside it get rows of their own, NAME.ATTRIBUTE. Only DTensor is known:
 * _local_tensor is the part that this rank has; if the shapes are equal, that is the whole.
 *
 * Source: torch/_utils.py, torch/_tensor.py, torch/distributed/tensor/_api.py.
 */

#include "importer/format/torch/torch.h"

pickle_ref torch_inside(const struct pickle *p, pickle_ref call)
{
    const pickle_ref args = pickle_at(p, call)->call->args;
    if (torch_callee(p, call) == TORCH_WRAP_FIRST)
        return pickle_item(p, args, 0);
    if (torch_meaning_of(p, pickle_item(p, args, 0)) == TORCH_WRAP_FIRST)
        return pickle_item(p, pickle_item(p, args, 2), 0);
    return 0;
}

/* The call of _rebuild_from_type or its version 2 that a node is, inside any parameters around it,
 * or, if `attributed`, one of these that has attributes (_rebuild_parameter_with_state); 0: none. */
static pickle_ref typed_call(const struct pickle *p, pickle_ref ref, bool attributed)
{
    pickle_ref parts[2];
    for (unsigned i = 0; i < TORCH_WRAPS_MAX && pickle_kind(p, ref) == PICKLE_CALL; i++) {
        const enum torch_meaning meaning = torch_callee(p, ref);
        if (meaning == TORCH_WRAP_TYPE || meaning == TORCH_WRAP_TYPE_V2)
            return ref;
        if (meaning != TORCH_WRAP_FIRST)
            return 0;
        torch_wrapper_parts(p, ref, parts);
        if (attributed && (parts[0] || parts[1]))
            return ref;
        ref = torch_inside(p, ref);
    }
    return 0;
}

pickle_ref torch_wrapper(const struct pickle *p, pickle_ref ref)
{
    const pickle_ref typed = typed_call(p, ref, false);
    const pickle_ref function = typed ? pickle_item(p, pickle_at(p, typed)->call->args, 0) : 0;
    return torch_meaning_of(p, function) == TORCH_REBUILD_WRAPPER ? typed : 0;
}

pickle_ref torch_attributed(const struct pickle *p, pickle_ref ref)
{
    return typed_call(p, ref, true);
}

void torch_wrapper_parts(const struct pickle *p, pickle_ref call, pickle_ref parts[2])
{
    const pickle_ref state = pickle_item(p, pickle_at(p, call)->call->args, 3);
    const bool both = pickle_kind(p, state) == PICKLE_TUPLE;
    for (unsigned i = 0; i < 2; i++) {
        parts[i] = both ? pickle_item(p, state, i) : i == 0 ? state : 0;
        if (pickle_kind(p, parts[i]) != PICKLE_DICT)
            parts[i] = 0;
    }
}

pickle_ref torch_wrapper_part(const struct pickle *p, pickle_ref wrapper, const char *name)
{
    pickle_ref parts[2];
    torch_wrapper_parts(p, wrapper, parts);
    for (unsigned i = 0; i < 2; i++)
        if (parts[i] && pickle_get(p, parts[i], name))
            return pickle_get(p, parts[i], name);
    return 0;
}

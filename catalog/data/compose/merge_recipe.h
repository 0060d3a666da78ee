/*
 * merge_recipe.h - a tensor into which adapters are merged (LoRA, DoRA, replaced tensors).
 *
 * The steps are a JSON list, whose first element is the dtype of the result: "float32" (not rounded),
 * or null: the base's (float32 for quantised blocks). The others are done one after the other:
 *
 *   ["lora", SCALE, TURNED, A, B, MAGNITUDE, ALPHA]
 *                             W + SCALE * (B A), or with TURNED 1 its transpose. With a MAGNITUDE (DoRA;
 *                             else null) each output is then multiplied by its magnitude over its norm in
 *                             W0 + SCALE * (B A). With an ALPHA (else null), its number is a factor of SCALE
 *   ["add", SCALE, ID]        W + SCALE * tensor
 *   ["replace", FACTOR, ID]   W + FACTOR * (tensor - W); FACTOR 1: the tensor itself
 *
 * A, B, MAGNITUDE, ALPHA and ID are ids of tensors, W0 is the base before any step. A base of any rank is
 * a matrix here: its first axis are the rows, the others together the columns.
 *
 * Everything is float32, operation by operation as in PyTorch (product.h says how products are summed), and
 * the result is rounded once. It does not depend on the processor or on threads.
 */
#pragma once

#include "catalog/data/compose/compose.h"

enum merge_kind {
    MERGE_LORA,
    MERGE_ADD,
    MERGE_REPLACE,
};

struct merge_step {
    enum merge_kind kind;
    double scale;
    bool turned;
    uint64_t terms; /* of each product: the rank */
    /* a, b, magnitude and alpha (NULL: none); of the other kinds only `a` */
    struct stored_tensor *a, *b, *magnitude, *alpha;
};

struct merging {
    struct stored_tensor *base; /* decoded, if it is quantised */
    uint64_t rows, columns;
    struct merge_step *step;
    size_t count;
};

/* Turn *t, the base, into a tensor for the reader. All in `arena`. ERR_ARGUMENT if shapes do not fit, or
 * the text is no list of steps; ERR_UNSUPPORTED if its elements are no floating-point numbers. */
enum status merge(const char *steps, const struct composer *, struct arena *arena,
                  struct stored_tensor *t, struct error *err);

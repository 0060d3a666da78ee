/*
 * shapes.h - shapes and dtypes after operations, before a byte is read. Shapes are text, "[2,3]";
 * NULL: not known.
 */
#pragma once

#include "catalog/base/text.h"
#include "catalog/data/compose/view.h"
#include "catalog/data/model/tensor.h"

/* A shape of at most VIEW_RANK_MAX axes. ERR_ARGUMENT, ERR_MEMORY. */
enum status shapes_read(const char *shape, uint64_t sizes[VIEW_RANK_MAX], unsigned *rank,
                        struct error *err);
enum status shapes_view(const char *shape, struct view *, struct error *err);

/* Whether operations are possible on elements of this dtype, scaled by `scale` (1: not scaled), and
 * `add` added (0: nothing). ERR_UNSUPPORTED. */
enum status shapes_dtype(const struct dtype *, double scale, double add, struct error *err);

/* The dtype after operations on this one: float32 for quantised blocks, since these have no
 * single elements to rearrange; else the same. */
const char *shapes_result(const char *dtype);

/* Append the shape after the operations, and check that they are possible on elements of this dtype
 * (NULL: any). ERR_ARGUMENT, ERR_UNSUPPORTED, ERR_MEMORY. */
enum status shapes_after(const char *operations, const char *shape, const char *dtype,
                         struct text *out, struct error *err);

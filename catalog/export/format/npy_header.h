/*
 * npy_header.h - the header that makes raw elements a .npy file.
 */
#pragma once

#include "catalog/base/text.h"
#include "catalog/data/model/dtype.h"

#define NPY_RANK_MAX 64 /* of NumPy 2 */

/* NumPy's spelling of a dtype ("<f4", "|b1", "<M8[us]") into `out`; false where NumPy has no type with
 * the layout: block types, strings, complex32, more than one element per byte. A dtype that only ml_dtypes
 * knows becomes raw bytes, as in its own files: bfloat16 "|V2", 8-bit floats "|V1". */
bool npy_descr(const struct dtype *, char out[64]);

/* Append a version 1.0 header for C order; its length is a multiple of 64, so data after it
 * is aligned where it is. */
bool npy_header(struct text *out, const char *descr, const uint64_t *shape, unsigned rank);

/* What .npy and .npz can hold (struct exporter, `holds`). */
struct export_tensor;
bool export_numpy_holds(const struct export_tensor *, struct text *why, const char **instead);
/* Say which tensors NumPy alone will see as raw bytes. */
struct export_layout;
void export_numpy_warn(const struct export_layout *);

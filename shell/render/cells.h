/*
 * cells.h - the elements of a tensor, or of a slice of one, as text, at any position.
 */
#ifndef CKPTDB_SHELL_CELLS_H
#define CKPTDB_SHELL_CELLS_H

#include "catalog/base/text.h"
#include "catalog/read/read.h"

struct cells;

/* How an element is spelled. */
enum cell_style {
    CELL_TEXT, /* 1.5, nan, True, 1.0+2.0j, "text" */
    CELL_JSON, /* NaN and infinities null, complex [re,im], {"hex": ...} for other bytes */
    CELL_CSV,  /* as CELL_TEXT, strings quoted where they must be */
};

/* `slices` NULL: all of it. `to` NULL: the tensor's own dtype, block types dequantised.
 * `near`: how many elements are read at once. */
enum status cells_open(const struct stored_tensor *, const struct slice *slices,
                       const struct dtype *to, unsigned near, struct cells **out,
                       struct error *err);
void cells_close(struct cells *);

uint64_t cells_count(const struct cells *);

/* Append the element at a position in C order. */
enum status cells_put(struct cells *, uint64_t position, enum cell_style,
                      struct text *out, struct error *err);

/* All elements were put, in order: verify checksums. */
enum status cells_verify(struct cells *, struct error *err);

#endif

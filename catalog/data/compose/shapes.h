/*
 * shapes.h - applies operations to shapes alone, before a byte is read. Shapes are text, "[2,3]";
 * NULL: not known.
 */
#ifndef CKPTDB_SHAPES_H
#define CKPTDB_SHAPES_H

#include "catalog/base/text.h"
#include "catalog/data/compose/view.h"

/* A shape of at most VIEW_RANK_MAX axes. ERR_ARGUMENT, ERR_MEMORY. */
enum status shapes_read(const char *shape, uint64_t sizes[VIEW_RANK_MAX], unsigned *rank,
                        struct error *err);
enum status shapes_view(const char *shape, struct view *, struct error *err);

/* Append the shape after the operations, and check that they are possible on elements of this dtype
 * (NULL: any). ERR_ARGUMENT, ERR_UNSUPPORTED, ERR_MEMORY. */
enum status shapes_after(const char *operations, const char *shape, const char *dtype,
                         struct text *out, struct error *err);

#endif

/*
 * compose.h - tensors made of tensors: a recipe as text, and as what the reader reads.
 *
 * A recipe is a JSON list [PARTS, JOIN, OPERATIONS]:
 *
 *   PARTS       [[ID, OPERATIONS], ...]: stored tensors, each as its operations arrange it
 *   JOIN        null: there is one part. ["stack", AXIS], ["concat", AXIS]: how they make one
 *   OPERATIONS  null, or those that give the result another shape
 *
 *   [[[7,[["transpose"]]],[8,[["transpose"]]]],["stack",1],null]
 *
 * The view `conversion` writes recipes, and whoever reads tensors by id takes them in its
 * place. Shapes and strides are worked out here; catalog/read/composed.c moves the bytes.
 */
#ifndef CKPTDB_COMPOSE_COMPOSE_H
#define CKPTDB_COMPOSE_COMPOSE_H

#include "catalog/base/text.h"
#include "catalog/compose/view.h"
#include "catalog/model/tensor.h"

/* One of the tensors. The result is rows, and each has `length` elements of this part from
 * `place` on: its own rows are the axes of its view before `axis`. */
struct composed_part {
    struct stored_tensor *tensor;
    struct view view;
    unsigned axis;
    uint64_t length; /* elements */
    uint64_t place;  /* elements */
};

/* The elements of the result in C order: `rows` of them, each `length` elements long. */
struct composition {
    struct composed_part *part;
    uint64_t count;
    uint64_t rows, length;
    double scale; /* 1: none */
};

/* Finds a stored tensor; `out` lives in `arena`. */
struct composer {
    enum status (*load)(void *context, int64_t id, struct arena *arena,
                        struct stored_tensor *out, struct error *err);
    void *context;
};

/* What the recipe says, as a tensor that the reader reads (catalog/read/read.h): the name, the
 * checkpoint, the dtype (float32 of quantised blocks) and the id are those of its first part.
 * All in `arena`.
 * ERR_ARGUMENT where it makes no sense for these tensors, ERR_UNSUPPORTED where elements
 * are packed or strings. */
enum status compose(const char *recipe, const struct composer *, struct arena *arena,
                    struct stored_tensor *out, struct error *err);

/* Whether operations can be done on elements of this dtype, scaled by `scale` (1: not).
 * ERR_UNSUPPORTED. */
enum status compose_dtype(const struct dtype *, double scale, struct error *err);

/* The dtype that comes of operations on this one: float32 of quantised blocks, which have no
 * elements of their own to arrange; else the same. */
const char *compose_result(const char *dtype);

/* Make the shape of a part that of the whole: of `count` tensors like it ("stack"), or of
 * tensors whose sizes along the axis add up to `count` ("concat"). *axis is the one in
 * question. ERR_ARGUMENT. */
enum status compose_shape(const struct operation *join, uint64_t count, uint64_t *shape,
                          unsigned *rank, unsigned *axis, struct error *err);

/* Give what was joined another shape; changes *shape, *rank. ERR_ARGUMENT. */
enum status compose_reshape(const char *operations, uint64_t *shape, unsigned *rank,
                            struct error *err);

#endif

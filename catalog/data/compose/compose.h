/*
 * compose.h - tensors made of other tensors: turns a recipe's text into what the reader reads.
 *
 * A recipe is a JSON list [PARTS, JOIN, OPERATIONS]:
 *
 *   PARTS       [[ID, OPERATIONS], ...]: stored tensors, each with operations applied to it; a third
 *               element says what is merged into the tensor before that (merge.h)
 *   JOIN        null: there is one part. ["stack", AXIS], ["concat", AXIS]: how to join several
 *   OPERATIONS  null, or operations that give the result another shape
 *
 *   [[[7,[["transpose"]]],[8,[["transpose"]]]],["stack",1],null]
 *
 * The view `conversion` writes recipes, and every function that reads a tensor by its id also takes
 * a recipe. Shapes and strides are worked out here; catalog/data/read/composed.c moves the bytes.
 */
#pragma once

#include "catalog/base/text.h"
#include "catalog/data/compose/view.h"
#include "catalog/data/model/tensor.h"

/* One of the parts. The result consists of rows, and each row has `length` elements of this part,
 * beginning at `place`. The axes of its view before `axis` count its rows. */
struct composed_part {
    struct stored_tensor *tensor;
    struct view view;
    unsigned axis;
    uint64_t length; /* elements */
    uint64_t place;  /* elements */
};

/* The elements of the result in C order: `rows` rows of `length` elements each. */
struct composition {
    struct composed_part *part;
    uint64_t count;
    uint64_t rows, length;
    double scale; /* 1: none */
    double add;   /* 0: nothing */
};

/* Finds a stored tensor; `out` lives in `arena`. */
struct composer {
    enum status (*load)(void *context, int64_t id, struct arena *arena, struct stored_tensor *out,
                        struct error *err);
    void *context;
};

/* Turn the recipe into a tensor for the reader (catalog/data/read/read.h). The tensor takes name,
 * checkpoint, id and dtype (float32 for quantised blocks) from its first part. All in `arena`.
 * ERR_ARGUMENT if it makes no sense for these tensors, ERR_UNSUPPORTED if elements are packed or
 * strings. */
enum status compose(const char *recipe, const struct composer *, struct arena *arena,
                    struct stored_tensor *out, struct error *err);

/* Change the shape of a part to the shape of the result: of `count` equal tensors ("stack"), or of
 * tensors whose sizes along the axis add up to `count` ("concat"). Sets *axis. ERR_ARGUMENT. */
enum status compose_shape(const struct operation *join, uint64_t count, uint64_t *shape,
                          unsigned *rank, unsigned *axis, struct error *err);

/* Apply the operations after a join to its shape; changes *shape and *rank. ERR_ARGUMENT. */
enum status compose_reshape(const char *operations, uint64_t *shape, unsigned *rank,
                            struct error *err);

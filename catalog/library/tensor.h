/*
 * tensor.h - the inside of an open tensor, for what reads it: tensor.c, cells.c.
 */
#ifndef CKPTDB_LIBRARY_TENSOR_H
#define CKPTDB_LIBRARY_TENSOR_H

#include "catalog/base/arena.h"
#include "catalog/library/library.h"
#include "catalog/read/read.h"

struct ckptdb_tensor {
    struct arena arena;
    struct stored_tensor stored;
    struct ckptdb_tensor_info info;
    struct dtype given; /* by a map: what it is read as by default */
    bool casts;
};

/* The dtype that is asked for, perhaps in `room`; NULL: the tensor's own. */
const struct dtype *tensor_dtype(const ckptdb_tensor *, const char *name,
                                 struct dtype *room, struct error *err);

/* Slices come from a caller's own arithmetic: ERR_ARGUMENT where one leaves the tensor. */
enum status tensor_check_slices(const ckptdb_tensor *, const struct ckptdb_slice *,
                                struct error *err);

/* The two structs are the same but for their names. */
static inline const struct slice *tensor_slices(const struct ckptdb_slice *s)
{
    return (const struct slice *)s;
}

/* library_end(), with the tensor's name in front of what is wrong with its bytes. */
enum ckptdb_status tensor_end(const ckptdb_tensor *, struct error *,
                              struct ckptdb_error *);

#endif

/*
 * api_tensor.h - the inside of an open tensor, shared by api_tensor.c and cells.c.
 */
#pragma once

#include "catalog/base/arena.h"
#include "catalog/data/read/read.h"
#include "catalog/library/library.h"

struct ckptdb_tensor {
    struct arena arena;
    struct stored_tensor stored;
    struct ckptdb_tensor_info info;
    struct dtype given; /* the dtype that a map casts to: the default for reading */
    bool casts;
};

/* The dtype with this name, in `room`; `name` NULL: what the map casts to, or NULL for the
 * tensor's own. */
const struct dtype *tensor_dtype(const ckptdb_tensor *, const char *name, struct dtype *room,
                                 struct error *err);

/* Callers compute slices (NULL: none) themselves: ERR_ARGUMENT if one leaves the tensor. */
void tensor_check_slices(const ckptdb_tensor *, const struct ckptdb_slice *, struct error *err);

/* library_end(), with the tensor's name in front of errors about its bytes. */
enum ckptdb_status tensor_end(const ckptdb_tensor *, struct error *, struct ckptdb_error *);

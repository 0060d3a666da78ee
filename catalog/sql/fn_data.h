/*
 * fn_data.h - what the functions that read tensors share.
 */
#ifndef CKPTDB_SQL_FN_DATA_H
#define CKPTDB_SQL_FN_DATA_H

#include "catalog/sql/keeper.h"

/* Whether a tensor has values to read at all, as far as the catalog knows: not with storage
 * none, dtype variant or resource. */
bool tensor_has_values(const struct stored_tensor *);

/* The tensor that a function's argument stands for: an id, or a recipe (compose/compose.h). */
enum status tensor_given(struct lookup *, sqlite3_value *, struct arena *,
                         struct stored_tensor *out, struct error *err);

/* Name the tensor in front of an error's message. */
void tensor_error(const struct stored_tensor *, struct error *err);

/* Registers tensor_values() and what it needs (vt_values.c). An SQLite code. */
int values_register(sqlite3 *, struct keeper *);

#endif

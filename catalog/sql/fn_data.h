/*
 * fn_data.h - shared by the functions that read tensors.
 */
#pragma once

#include "catalog/sql/keeper.h"

/* Whether a tensor has values to read, as far as the catalog knows: not if its storage is `none`,
 * or its dtype variant or resource. */
bool tensor_has_values(const struct stored_tensor *);

/* Look up the tensor given by an argument: an id, or a recipe (compose/compose.h). */
enum status tensor_given(struct lookup *, sqlite3_value *, struct arena *,
                         struct stored_tensor *out, struct error *err);

/* Prefix an error's message with the name of the tensor. */
void tensor_error(const struct stored_tensor *, struct error *err);

/*
 * torch_facts.h - the values in a pickle that are not tensors: as text, and as facts of the
 * checkpoint.
 */
#pragma once

#include "importer/format/torch/torch.h"

/* --- torch_text.c: values as text ------------------------------------------------------------- */

/* Append a number as Python prints it, in the shortest digits that read back: 1e-05, 2.0, NaN,
 * -Infinity. */
void torch_add_real(struct text *, double value);
/* Append the name of a class or a function: "torch.float32". */
void torch_add_global(struct text *, const struct pickle *, pickle_ref);
/* Append a key of a dict as part of a name: (0,'a') as "(0,a)". */
void torch_add_key(struct text *, const struct pickle *, pickle_ref);
/* The list or dict that a node is; for a call, its appended items or its first argument. 0: none.
 * */
pickle_ref torch_list_of(const struct pickle *, pickle_ref);
/* Append a list as JSON; values without a JSON form are named by what they are ("<12 bytes>"). If
 * the text grows past its limit it fails, which the caller checks. */
void torch_add_list(struct torch_tree *, pickle_ref list, struct text *);

/* --- torch_facts.c: facts. `key` is any text; they stop at LIMIT_FACTS_BYTES, which is reported
 * once -- */

void torch_fact_text(struct torch_tree *, const struct text *key, const char *text, size_t len);
/* State a call that makes one value (a path, a device, a NumPy scalar). False: another call. */
bool torch_fact_call(struct torch_tree *, const struct text *key, pickle_ref call);
/* State any other value: a list, a number, a text, None. */
void torch_fact_value(struct torch_tree *, const struct text *key, pickle_ref);

/*
 * torch_facts.h - what a pickle holds beside its tensors: as text, and as facts of the checkpoint.
 */
#ifndef CKPTDB_IMPORTER_FORMAT_TORCH_FACTS_H
#define CKPTDB_IMPORTER_FORMAT_TORCH_FACTS_H

#include "importer/format/torch.h"

/* --- torch_text.c: values as text ------------------------------------------------------------- */

/* As Python prints it, the shortest digits that read back: 1e-05, 2.0, NaN, -Infinity. */
void torch_add_real(struct text *, double value);
/* Of a class or a function: "torch.float32". */
void torch_add_global(struct text *, const struct pickle *, pickle_ref);
/* A key of a dict as part of a name: (0,'a') is "(0,a)". */
void torch_add_key(struct text *, const struct pickle *, pickle_ref);
/* What stands for a list in a call: its own items, or its first argument; or a dict. 0: none. */
pickle_ref torch_list_of(const struct pickle *, pickle_ref);
/* A list of plain values as JSON; anything else in it by what it is. A text that grows past
 * its limit fails, which is seen at the end. */
void torch_add_list(struct torch_tree *, pickle_ref list, struct text *);

/* --- torch_facts.c: facts. `key` is any text; they stop at LIMIT_FACTS_BYTES, which is reported once -- */

void torch_fact_text(struct torch_tree *, const struct text *key, const char *text,
                     size_t len);
/* A call that stands for one value (a path, a device, a NumPy scalar). False: none of those. */
bool torch_fact_call(struct torch_tree *, const struct text *key, pickle_ref call);
/* Any other value: a list, a number, a text, None. */
void torch_fact_value(struct torch_tree *, const struct text *key, pickle_ref);

#endif

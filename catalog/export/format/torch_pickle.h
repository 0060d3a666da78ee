/*
 * torch_pickle.h - what PyTorch pickles, written: tensors whose storages lie beside the pickle.
 *
 *   struct torch_pickle p = {0};
 *   text_adds(&p.text, "\x80\x02");
 *   torch_pickle_tensor(&p, t, 0);           its storage is the archive's data/0
 *   text_addc(&p.text, '.');
 *   ... p.text ...
 *   text_release(&p.text);
 *
 * Source: torch/_utils.py, torch/_tensor.py, and torch/_weights_only_unpickler.py for what it allows.
 */
#pragma once

#include "catalog/export/export.h"

#define TORCH_PICKLE_SAID 64

/* Recurring parts of a pickle are written once, and then referred to by number. */
struct torch_pickle {
    struct text text;
    const char *said[TORCH_PICKLE_SAID]; /* literals, by number */
    unsigned count;
};

/* A global: "module\nname\n". A literal, as torch_pickle_word() takes it. */
void torch_pickle_global(struct torch_pickle *, const char *name);
/* A string that recurs: a literal; any string. */
void torch_pickle_word(struct torch_pickle *, const char *word);
void torch_pickle_string(struct torch_pickle *, const char *string);
void torch_pickle_number(struct torch_pickle *, uint64_t value);
/* A tuple of numbers. */
void torch_pickle_numbers(struct torch_pickle *, const uint64_t *values, unsigned count);

/* "torch\nfloat32\n"; NULL: PyTorch has no such dtype that it saves by itself. */
const char *torch_dtype_global(const struct dtype *);

/* A call of _rebuild_tensor_v2 or, for dtypes without a class of storage, _rebuild_tensor_v3, with the
 * storage data/KEY. */
void torch_pickle_tensor(struct torch_pickle *, const struct export_tensor *, uint64_t key);

/* What formats of PyTorch can hold (struct exporter, `holds`). */
bool export_torch_holds(const struct export_tensor *, struct text *why, const char **instead);

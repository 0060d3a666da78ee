/*
 * flax_leaf.h - how the leaves of a Flax tree are catalogued.
 *
 *   arrays                             tensors: a range of the file, or pieces of chunks
 *   None, {}, []                       rows of `node`
 *   numbers, booleans, texts, complex  facts, keyed by their path
 *
 * flax_leaf_emit() is a visitor for flax_tree.h, with a struct flax_sink as its context. Other
 * visitors call it for leaves that they do not treat specially.
 */
#pragma once

#include "importer/container/flax_tree.h"

struct flax_sink {
    struct job *job;
    const struct source *source; /* file `file` of the job */
    uint32_t file;
    uint64_t fact_bytes, box_bytes; /* used so far, for the limits of flax_leaf.c */
};

void flax_leaf_emit(void *sink, const struct flax_leaf *);

/* Take the step from the name of the file or folder, and the run from the directory around it.
 * False: the name states no step. */
bool flax_state_step(struct job *);

/* The canonical name of a dtype that NumPy or ml_dtypes call `name`, and the codec from their
 * stored elements to the catalog's (NULL if not needed). *width: stored bytes per element, 0 if
 * unknown. The result is constant or in the arena. */
const char *flax_dtype(struct job *, const char *name, const char **codec, uint64_t *width);

/*
 * flax_leaf.h - what the leaves of a Flax tree are in the catalog.
 *
 *   arrays                             tensors: a range of the file, or pieces of chunks
 *   None, {}, []                       rows of `node`
 *   numbers, truths, texts, complex    facts, keyed by their path
 *
 * flax_leaf_emit() is a visitor for flax_tree.h, with a struct flax_sink as its context, and
 * what other visitors hand over the leaves to that mean nothing to them.
 */
#ifndef CKPTDB_IMPORTER_FORMAT_FLAX_LEAF_H
#define CKPTDB_IMPORTER_FORMAT_FLAX_LEAF_H

#include "importer/format/flax_tree.h"

struct flax_sink {
    struct job *job;
    const struct source *source; /* file `file` of the job */
    uint32_t file;
    uint64_t fact_bytes, box_bytes; /* so far */
};

enum status flax_leaf_emit(void *sink, const struct flax_leaf *);

/* Take the step from the name of the file or folder, and the run from where it lies; false:
 * the name says none. */
bool flax_state_step(struct job *);

/* The canonical name of a dtype as NumPy and ml_dtypes name it, and the steps from the bytes
 * of its elements as they keep them to what the catalog means (NULL: none). *width is bytes
 * an element there; 0: not known. In the arena; NULL: no memory. */
const char *flax_dtype(struct job *, const char *name, const char **codec,
                       uint64_t *width);

#endif

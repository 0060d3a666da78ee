/*
 * hdf5_tree.h - what an HDF5 file holds, as a checkpoint: datasets are tensors, named by their
 * groups joined by '/'; attributes are facts ("model_config" of the root, "layers/dense/units"
 * of what is below it); groups without anything are empty leaves.
 *
 *   struct hdf5_tree t = {.job = job, .path = job->path};
 *   hdf5_tree_index(&t, job->source, err);
 *
 * Only hard links are followed. What is not a plain tensor (compounds, references, lists), what
 * lies in other files (external storage, virtual datasets) and links of other kinds are issues;
 * a link back to a group above is one, too.
 *
 * hdf5_tree.c goes through the groups, hdf5_tensor.c describes a dataset, hdf5_codec.c the steps
 * of its chunks, hdf5_text.c its strings of varying length, hdf5_facts.c attributes.
 */
#ifndef CKPTDB_IMPORTER_FORMAT_HDF5_TREE_H
#define CKPTDB_IMPORTER_FORMAT_HDF5_TREE_H

#include "catalog/base/text.h"
#include "importer/container/hdf5.h"
#include "importer/job/job.h"

struct hdf5_tree {
    struct job *job;
    const char *path; /* of the file, for issues */
    uint32_t file;    /* of the checkpoint, */
    uint64_t base;    /* and where the HDF5 file begins in it */
    /* Where it is a deflated member of an archive: the step that inflates it, and its run, which
     * then stands for all offsets. NULL: it is not. */
    const char *inflate;
    uint64_t member_at, member_stored;
    bool no_facts;
    /* Whether a tensor belongs to the checkpoint; NULL: all do. */
    bool (*wants)(struct hdf5_tree *, const char *name, size_t len);
    void *set;       /* the caller's */
    uint64_t nbytes; /* of the tensors that were given to the job */

    /* hdf5_tree.c's */
    struct hdf5 h;
    struct text name;
    uint64_t fact_bytes;
    bool facts_are_full;
    struct hdf5_level *top;
    unsigned depth;
};

/* Go through all of it. A status other than OK: none of it can be used, or the machine is in
 * trouble; what is wrong with a part is an issue. */
enum status hdf5_tree_index(struct hdf5_tree *, const struct source *, struct error *);

/* --- its parts ---------------------------------------------------------------------------- */

/* A dataset under the tree's name. */
enum status hdf5_tree_tensor(struct hdf5_tree *, const struct hdf5_object *,
                             struct arena *, struct error *);

/* The attributes of the object with the tree's name ("": the root). `dtype` (may be NULL) is
 * what an attribute of that name says; or NULL. */
enum status hdf5_tree_facts(struct hdf5_tree *, const struct hdf5_object *,
                            struct arena *, const char **dtype, struct error *);

/* The steps from a stored chunk to elements; `skipped` as in hdf5_chunk, `whole`: without any
 * filter. With `strings`, a last step for texts. "" where there is none. False: a filter that
 * cannot be undone, named in *err. */
bool hdf5_chain(const struct hdf5_dataset *, uint32_t skipped, bool whole, bool strings,
                char out[CHAIN_BYTES], struct error *err);

/* The values of a dataset of strings of varying length as one run: "strings:vlen". */
enum status hdf5_tree_strings(struct hdf5_tree *, const struct hdf5_dataset *,
                              uint64_t count, struct bytes *out, struct error *);

#endif

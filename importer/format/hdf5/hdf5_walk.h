/*
 * hdf5_walk.h - the contents of an HDF5 file as a checkpoint: datasets become tensors, named by
 * their path of groups joined by '/'; attributes become facts ("model_config" of the root,
 * "layers/dense/units" of a group below it); empty groups become empty leaves.
 *
 *   struct hdf5_tree t = {.job = job, .path = job->path};
 *   hdf5_tree_index(&t, job->source, err);
 *
 * Only hard links are followed. Issues are: datasets that are not plain tensors (compounds,
 * references, lists) or have their data in other files (external storage, virtual datasets),
 * links of other kinds, and links back to a group above.
 *
 * hdf5_walk.c walks the groups, hdf5_tensor.c describes a dataset, hdf5_codec.c turns its filters
 * into a codec chain, hdf5_text.c reads variable-length strings, hdf5_facts.c attributes.
 */
#pragma once

#include "catalog/base/text.h"
#include "importer/format/hdf5/hdf5_file.h"
#include "importer/job/job.h"

struct hdf5_tree {
    struct job *job;
    const char *path; /* of the file, for issues */
    uint32_t file;    /* its number in the checkpoint, */
    uint64_t base;    /* and the offset in it where the HDF5 data begins */
    /* For a deflated member of an archive, the codec step that inflates it (else NULL), and the
     * bytes of the member in the archive: extents of all its tensors are this run. */
    const char *inflate;
    uint64_t member_at, member_stored;
    bool no_facts;
    /* Whether a tensor belongs to the checkpoint; NULL: all do. */
    bool (*wants)(struct hdf5_tree *, const char *name, size_t len);
    void *set;       /* for the caller's `wants` */
    uint64_t nbytes; /* of all tensors emitted */

    /* private to hdf5_walk.c */
    struct hdf5 h;
    struct text name;
    uint64_t fact_bytes;
    bool facts_are_full;
    struct hdf5_level *top;
    unsigned depth;
};

/* Emit the whole file. Errors in parts become issues. A status other than OK means that nothing
 * in the file can be used, or that memory or reading failed. */
enum status hdf5_tree_index(struct hdf5_tree *, const struct source *, struct error *);

/* --- its parts: failures go to hdf5_tree.h.err --------------------------------------------- */

/* Emit a dataset under the tree's current name. */
void hdf5_tree_tensor(struct hdf5_tree *, const struct hdf5_object *, struct arena *);

/* State the attributes of the object with the tree's current name ("": the root). *dtype: the
 * text of an attribute called "dtype", unchanged if absent; `dtype` may be NULL. */
void hdf5_tree_facts(struct hdf5_tree *, const struct hdf5_object *, struct arena *,
                     const char **dtype);

/* The codec chain from a stored chunk to elements, "" if nothing is to be done. `skipped` is as
 * in struct hdf5_chunk; `whole`: no filter was applied; `strings`: end with the step that decodes
 * texts. False: a filter cannot be undone; *err names it. */
bool hdf5_chain(const struct hdf5_dataset *, uint32_t skipped, bool whole, bool strings,
                char out[CHAIN_BYTES], struct error *err);

/* Gather the values of a dataset of variable-length strings, encoded as codec "strings:vlen". */
struct bytes hdf5_tree_strings(struct hdf5_tree *, const struct hdf5_dataset *, uint64_t count);

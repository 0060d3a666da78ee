/*
 * hdf5_sharded.c - HDF5 shards with an index, as Hugging Face's TensorFlow models have them:
 * tf_model.h5.index.json and tf_model-00001-of-00002.h5. weight_map.c reads the index,
 * hdf5_walk.c a shard.
 */
#include "importer/container/weight_map.h"
#include "importer/format/hdf5/hdf5_walk.h"

static bool shard_wants(struct hdf5_tree *t, const char *name, size_t len)
{
    return weight_map_wants(t->job, t->set, name, len);
}

static void hdf5_read_shard(struct job *job, const struct weight_source *in, struct error *err)
{
    struct weight_source shard = *in;
    struct hdf5_tree t = {.job = job,
                          .path = in->source->name,
                          .file = in->file,
                          .no_facts = true,
                          .wants = shard_wants,
                          .set = &shard};
    hdf5_tree_index(&t, in->source, err);
    in->map->nbytes += t.nbytes;
}

const struct format format_hdf5_sharded = {
    .name = "hdf5-sharded",
    .summary = "HDF5 shards with an index",
    .separator = '/',
    .beside = {"config.json", "generation_config.json"},
    WEIGHT_MAP_SET(".h5", hdf5_read_shard),
};

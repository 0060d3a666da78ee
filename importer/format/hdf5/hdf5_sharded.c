/*
 * hdf5_sharded.c - HDF5 shards with an index, as Hugging Face's TensorFlow models have them:
 * tf_model.h5.index.json and tf_model-00001-of-00002.h5. weight_map.c reads the index,
 * hdf5_walk.c a shard.
 */
#include "importer/container/weight_map.h"
#include "importer/format/hdf5/hdf5_walk.h"

#define SUFFIX ".h5"

static int hdf5_sharded_probe(const struct probe *p)
{
    return weight_map_probe(p, SUFFIX);
}

static bool hdf5_sharded_shadow(const char *name, struct text *out)
{
    return weight_map_single(name, SUFFIX, out);
}

static enum status hdf5_sharded_claim(struct claim *c)
{
    return weight_map_claim(c, SUFFIX);
}

struct hdf5_shard {
    struct weight_map *map;
    uint32_t number;
};

static bool shard_wants(struct hdf5_tree *t, const char *name, size_t len)
{
    const struct hdf5_shard *s = t->set;
    return weight_map_wants(t->job, s->map, s->number, name, len);
}

static void index_hdf5_shard(struct job *job, struct weight_map *m, uint32_t number)
{
    struct error err = {.offset = NO_OFFSET};
    struct hdf5_shard shard = {m, number};
    struct source *s;
    uint32_t file;
    if (!weight_map_open(job, m, number, &s, &file))
        return;
    struct hdf5_tree t = {.job = job,
                          .path = s->name,
                          .file = file,
                          .no_facts = true,
                          .wants = shard_wants,
                          .set = &shard};
    if (hdf5_tree_index(&t, s, &err) != OK && job->err->status == OK)
        weight_map_lose(job, m, number, &err);
    m->nbytes += t.nbytes;
}

static enum status hdf5_sharded_index(struct job *job)
{
    struct weight_map m;
    if (weight_map_read(job, SUFFIX, &m) == OK)
        for (uint32_t i = 0; i < m.shard_count && job->err->status == OK; i++)
            index_hdf5_shard(job, &m, i);
    weight_map_finish(job, &m);
    return job->err->status;
}

const struct format format_hdf5_sharded = {
    .name = "hdf5-sharded",
    .summary = "HDF5 shards with an index",
    .suffixes = ".h5.index.json",
    .separator = '/',
    .set = true,
    .beside = {"config.json", "generation_config.json"},
    .loaded_first = hdf5_sharded_shadow,
    .probe = hdf5_sharded_probe,
    .claim = hdf5_sharded_claim,
    .index = hdf5_sharded_index,
};

/*
 * flax_index.c - a set of Flax files with their index, as Hugging Face writes large models.
 * weight_map.c reads the index, which names arrays by their paths, joined by '/'; flax_tree.c reads
 * a shard, a tree of some of the arrays.
 *
 * Source: transformers/modeling_flax_utils.py (flax_shard_checkpoint).
 */
#include "importer/container/flax_leaf.h"
#include "importer/container/weight_map.h"

#define SUFFIX ".msgpack"

static int index_probe(const struct probe *p)
{
    return weight_map_probe(p, SUFFIX);
}

static bool index_shadow(const char *name, struct text *out)
{
    return weight_map_single(name, SUFFIX, out);
}

static enum status index_claim(struct claim *c)
{
    return weight_map_claim(c, SUFFIX);
}

struct flax_shard {
    struct flax_sink sink;
    struct weight_map *map;
    uint32_t shard;
};

static enum status flax_index_see_leaf(void *context, const struct flax_leaf *leaf)
{
    struct flax_shard *s = context;
    struct job *job = s->sink.job;
    if (leaf->kind == FLAX_ARRAY) {
        if (!weight_map_wants(job, s->map, s->shard, leaf->name, leaf->name_len))
            return job->err->status;
        for (uint64_t i = 0; i < leaf->array->run_count; i++)
            s->map->nbytes += leaf->array->runs[i].len;
    }
    return flax_leaf_emit(&s->sink, leaf);
}

/* Index a shard. If it is damaged in the middle, the tensors before the damage are kept; lack of memory
 * is the job's. */
static void flax_index_shard(struct job *job, struct weight_map *m, uint32_t shard)
{
    struct flax_shard s = {.sink.job = job, .map = m, .shard = shard};
    struct source *source;
    if (!weight_map_open(job, m, shard, &source, &s.sink.file))
        return;
    s.sink.source = source;
    flax_walk(job, source, &(struct flax_visitor){.leaf = flax_index_see_leaf, .context = &s});
    const struct error err = *job->err;
    if (err.status == OK || err.status == ERR_MEMORY)
        return;
    error_clear(job->err);
    weight_map_lose(job, m, shard, &err);
}

static enum status flax_index_set(struct job *job)
{
    struct weight_map m;
    if (weight_map_read(job, SUFFIX, &m) == OK)
        for (uint32_t i = 0; i < m.shard_count && job->err->status == OK; i++)
            flax_index_shard(job, &m, i);
    weight_map_finish(job, &m);
    return job->err->status;
}

const struct format format_flax_index = {
    .name = "flax-sharded",
    .summary = "Flax files with an index",
    .suffixes = ".msgpack.index.json",
    .separator = '/',
    .set = true,
    .beside = {"config.json"},
    .probe = index_probe,
    .loaded_first = index_shadow,
    .claim = index_claim,
    .index = flax_index_set,
};

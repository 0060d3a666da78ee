/*
 * flax_index.c - a set of Flax files with their index, as Hugging Face writes large models.
 * weight_map.c reads the index, which names arrays by their paths, joined by '/'; flax_tree.c reads
 * a shard, a tree of some of the arrays.
 *
 * Source: transformers/modeling_flax_utils.py (flax_shard_checkpoint).
 */
#include "importer/container/flax_leaf.h"
#include "importer/container/weight_map.h"

struct flax_shard {
    struct flax_sink sink;
    const struct weight_source *in;
};

static void flax_index_see_leaf(void *context, const struct flax_leaf *leaf)
{
    struct flax_shard *s = context;
    struct job *job = s->sink.job;
    if (leaf->kind == FLAX_ARRAY) {
        if (!weight_map_wants(job, s->in, leaf->name, leaf->name_len))
            return;
        for (uint64_t i = 0; i < leaf->array->run_count; i++)
            s->in->map->nbytes += leaf->array->runs[i].len;
    }
    flax_leaf_emit(&s->sink, leaf);
}

/* If a shard is damaged in the middle, the tensors before the damage are kept; lack of memory is the
 * job's. */
static void flax_read_shard(struct job *job, const struct weight_source *in, struct error *err)
{
    struct flax_shard s = {{.job = job, .source = in->source, .file = in->file}, in};
    flax_walk(job, in->source, &(struct flax_visitor){.leaf = flax_index_see_leaf, .context = &s});
    if (job->err->status == OK || job->err->status == ERR_MEMORY)
        return;
    *err = *job->err;
    error_clear(job->err);
}

const struct format format_flax_index = {
    .name = "flax-sharded",
    .summary = "Flax files with an index",
    .separator = '/',
    .beside = {"config.json"},
    WEIGHT_MAP_SET(".msgpack", flax_read_shard),
};

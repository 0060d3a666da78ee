/*
 * torch_sharded.c - a set of torch.save files with their index: pytorch_model.bin.index.json.
 * weight_map.c reads the index, torch_file_state() a shard.
 */

#include "importer/container/weight_map.h"
#include "importer/format/torch/torch_file.h"

struct shard {
    const struct weight_source *in;
    struct strmap begun; /* offset of a tensor -> bytes of the smallest there */
};

/* Count a tensor's bytes. transformers counts a storage that tensors share once, and other writers
 * count each tensor. */
static void torch_count_bytes(struct job *job, struct shard *s, const struct tensor_claim *claim,
                              uint64_t nbytes)
{
    bool added = true;
    const char *key;
    s->in->map->nbytes += nbytes;
    if (claim->storage != STORAGE_RANGE || !nbytes)
        return;
    uint64_t *least = strmap_keep(&s->begun, job->arena, (const char *)&claim->offset,
                                  sizeof(claim->offset), &key, &added);
    if (!added)
        s->in->map->tied += *least > nbytes ? *least : nbytes;
    if (added || nbytes < *least)
        *least = nbytes;
}

static void emit_wanted(struct torch_tree *t, const struct tensor_claim *claim)
{
    struct shard *s = t->set;
    struct dtype dtype;
    uint64_t elements, nbytes;
    if (!weight_map_wants(t->job, s->in, claim->name, claim->name_len))
        return;
    dtype_find(claim->dtype, &dtype);
    if (shape_elements(claim->shape, claim->rank, &elements) &&
        dtype_nbytes(&dtype, elements, &nbytes))
        torch_count_bytes(t->job, s, claim, nbytes);
    job_tensor(t->job, claim);
}

static void torch_sharded_read(struct job *job, const struct weight_source *in, struct error *err)
{
    struct shard shard = {.in = in, .begun.err = job->err};
    struct torch_tree t = {.job = job,
                           .path = in->source->name,
                           .run = {.file = in->file},
                           .emit = emit_wanted,
                           .set = &shard,
                           .no_facts = true};
    job_sum_kind(job, "crc32");
    torch_file_state(&t, in->source, err);
    strmap_release(&shard.begun);
}

const struct format format_torch_sharded = {
    .name = "torch-sharded",
    .summary = "PyTorch shards with an index",
    .separator = '.',
    .beside = {"config.json", "generation_config.json"},
    WEIGHT_MAP_SET(".bin", torch_sharded_read),
};

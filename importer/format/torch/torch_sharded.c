/*
 * torch_sharded.c - a set of torch.save files with their index: pytorch_model.bin.index.json.
 * weight_map.c reads the index, torch_file_state() a shard.
 */
#include <string.h>

#include "importer/container/weight_map.h"
#include "importer/format/torch/torch_file.h"

#define SUFFIX ".bin"

static int sharded_probe(const struct probe *p)
{
    return weight_map_probe(p, SUFFIX);
}

static bool torch_sharded_shadow(const char *name, struct text *out)
{
    return weight_map_single(name, SUFFIX, out);
}

static enum status sharded_claim(struct claim *c)
{
    return weight_map_claim(c, SUFFIX);
}

struct shard {
    struct weight_map *map;
    uint32_t number;
    struct strmap begun; /* offset of a tensor -> bytes of the smallest there */
};

/* Count a tensor's bytes. transformers counts a storage that tensors share once, and other writers
 * count each tensor. */
static void torch_count_bytes(struct job *job, struct shard *s, const struct tensor_claim *claim,
                              uint64_t nbytes)
{
    bool added = true;
    const char *key;
    s->map->nbytes += nbytes;
    if (claim->storage != STORAGE_RANGE || !nbytes)
        return;
    uint64_t *least = strmap_keep(&s->begun, job->arena, (const char *)&claim->offset,
                                  sizeof(claim->offset), &key, &added);
    if (!added)
        s->map->tied += *least > nbytes ? *least : nbytes;
    if (added || nbytes < *least)
        *least = nbytes;
}

static void emit_wanted(struct torch_tree *t, const struct tensor_claim *claim)
{
    struct shard *s = t->set;
    struct dtype dtype;
    uint64_t elements, nbytes;
    if (!weight_map_wants(t->job, s->map, s->number, claim->name, claim->name_len))
        return;
    dtype_find(claim->dtype, &dtype);
    if (shape_elements(claim->shape, claim->rank, &elements) &&
        dtype_nbytes(&dtype, elements, &nbytes))
        torch_count_bytes(t->job, s, claim, nbytes);
    job_tensor(t->job, claim);
}

static void torch_sharded_index_shard(struct job *job, struct weight_map *m, uint32_t number)
{
    struct error err = {.offset = NO_OFFSET};
    struct shard shard = {.map = m, .number = number, .begun.err = job->err};
    struct source *s;
    uint32_t file;
    if (!weight_map_open(job, m, number, &s, &file))
        return;
    struct torch_tree t = {.job = job,
                           .path = s->name,
                           .run = {.file = file},
                           .emit = emit_wanted,
                           .set = &shard,
                           .no_facts = true};
    if (torch_file_state(&t, s, &err) != OK && job->err->status == OK)
        weight_map_lose(job, m, number, &err);
    strmap_release(&shard.begun);
}

static enum status torch_sharded_index_set(struct job *job)
{
    struct weight_map m;
    job_sum_kind(job, "crc32");
    if (weight_map_read(job, SUFFIX, &m) == OK)
        for (uint32_t i = 0; i < m.shard_count && job->err->status == OK; i++)
            torch_sharded_index_shard(job, &m, i);
    weight_map_finish(job, &m);
    return job->err->status;
}

const struct format format_torch_sharded = {
    .name = "torch-sharded",
    .summary = "PyTorch shards with an index",
    .suffixes = ".bin.index.json",
    .separator = '.',
    .set = true,
    .beside = {"config.json", "generation_config.json"},
    .probe = sharded_probe,
    .loaded_first = torch_sharded_shadow,
    .claim = sharded_claim,
    .index = torch_sharded_index_set,
};

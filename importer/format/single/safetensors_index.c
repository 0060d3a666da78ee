/*
 * safetensors_index.c - a set of safetensors shards with their index. weight_map.c reads the index,
 * safetensors_header.c a shard.
 */
#include <string.h>

#include "importer/container/safetensors_header.h"
#include "importer/container/weight_map.h"

/* State a fact from a shard's header. What most shards repeat is stated once; a value that
 * differs from the index's or an earlier shard's gets the key "SHARD:KEY", like the facts of
 * a neighbour. */
static void state_fact_once(struct job *job, struct weight_map *m, const char *shard,
                            const struct safetensors_fact *f)
{
    struct bytes before;
    struct text key = {0};
    if (weight_map_fact(m, f->key, f->value, &before, job->err) != OK ||
        (before.at && before.len == f->value.len &&
         memcmp(before.at, f->value.at, before.len) == 0))
        return;
    if (before.at)
        text_addf(&key, "%s:", shard);
    text_add(&key, f->key.at, f->key.len);
    if (text_str(&key))
        job_meta_text(job, text_str(&key), (const char *)f->value.at, f->value.len);
    else
        error_memory(job->err);
    text_release(&key);
}

static void safetensors_read_shard(struct job *job, const struct weight_source *in,
                                   struct error *err)
{
    const struct source *s = in->source;
    struct weight_map *m = in->map;
    struct safetensors_header h;
    struct bytes text;
    if (safetensors_load(s, job->arena, &text, err) != OK ||
        safetensors_parse(text, s->name, job->arena, job->arena, &h, err) != OK ||
        (safetensors_check_end(s, text, h.data_end, err) != OK && !job_cut(job, in->file, err)))
        return;
    job_base(job, in->file, 8 + text.len);
    safetensors_report(job, s->name, &h);
    for (uint64_t i = 0; i < h.count && job->err->status == OK; i++) {
        const struct safetensors_tensor *t = &h.tensors[i];
        if (!weight_map_wants(job, in, t->name, t->name_len))
            continue;
        m->nbytes += t->end - t->begin;
        safetensors_emit(job, in->file, t, false);
    }
    for (uint64_t i = 0; i < h.fact_count && job->err->status == OK; i++)
        state_fact_once(job, m, m->shards[in->shard].name, &h.facts[i]);
}

const struct format format_safetensors_index = {
    .name = "safetensors-sharded",
    .summary = "safetensors shards with an index",
    .separator = '.',
    .beside = {"config.json", "generation_config.json", "adapter_config.json"},
    WEIGHT_MAP_SET(".safetensors", safetensors_read_shard),
};

/*
 * weight_map.h - the index of a sharded checkpoint, as Hugging Face writes it:
 * model.safetensors.index.json, pytorch_model.bin.index.json, flax_model.msgpack.index.json.
 *
 * The index says which shard holds which tensor. It is not trusted: shards are plain names
 * beside it, tensors count only where the shard and the index agree, and whatever they
 * disagree on is an issue of the set.
 *
 *   static void read_shard(struct job *job, const struct weight_source *in, struct error *err)
 *       ... per tensor: if (weight_map_wants(job, in, name, len)) emit it, in->map->nbytes += its bytes
 *   const struct format format_x = {.name = ..., WEIGHT_MAP_SET(".bin", read_shard)};
 */
#pragma once

#include "catalog/base/strmap.h"
#include "importer/job/job.h"

struct weight {
    const char *name; /* not NUL-terminated */
    size_t len;
    uint32_t shard;
    bool found;
};

struct weight_shard {
    const char *name;
    uint64_t weights; /* tensors that the index puts into it */
    bool lost;        /* missing, or not readable */
};

struct weight_map {
    struct arena *arena;
    struct weight *weights;
    size_t count;
    struct strmap names; /* weight name -> position */
    struct strmap tails; /* name after its first '/' -> position; made when needed */
    bool has_tails;
    struct strmap facts;      /* keys stated so far -> position in fact_texts */
    struct bytes *fact_texts; /* their values; empty unless they are strings */
    size_t fact_count, fact_space;
    struct weight_shard *shards; /* sorted bytewise by name */
    uint32_t shard_count;
    bool has_total; /* the index states a total_size: */
    double total;
    uint64_t nbytes; /* bytes of all tensors found; the caller adds them up */
    /* of tensors that begin where another does, which total_size may leave out */
    uint64_t tied;
    bool any_lost;
    struct weight_stray *strays; /* private to weight_map.c */
    size_t stray_count, stray_space;
};

/* The members of a format whose shards' names end in `suffix`. `reader` emits the tensors of a shard; damage goes to its
 * *err: the shard is then reported as lost. */
#define WEIGHT_MAP_SET(suffix, reader)                                                             \
    .suffixes = suffix ".index.json", .set = true, .probe = weight_map_probe,                      \
    .loaded_first = weight_map_single, .claim = weight_map_claim, .index = weight_map_index,       \
    .shard_suffix = suffix, .read_shard = reader

/* 64 if the text says "weight_map" and names files with the suffix; 8 if only the file's own name
 * looks like such an index. */
int weight_map_probe(const struct probe *);

/* Of "model.safetensors.index.json": "model.safetensors", which the libraries look for first. */
bool weight_map_single(const struct format *, const char *name, struct text *out);

/* Take the files that the index names, and those that are named like its shards. */
enum status weight_map_claim(struct claim *);

/* One shard, opened. */
struct weight_source {
    struct weight_map *map;
    uint32_t shard; /* position in map->shards */
    uint32_t file;
    struct source *source;
};

/* Index the set whose index is the job's primary file: state its metadata as facts, read every shard
 * that it names, and report what the index and the shards do not agree on. */
enum status weight_map_index(struct job *);

/* Remember a fact; its bytes must outlive the map. *before: the value this key had before; its
 * `at` is NULL if it had none. ERR_MEMORY. */
enum status weight_map_fact(struct weight_map *, struct bytes key, struct bytes value,
                            struct bytes *before, struct error *err);

/* Whether the index places this tensor in this shard. In shards of TensorFlow models transformers
 * leaves out the model's name, which the index has: "bert/kernel:0" for "tf_bert/bert/kernel:0".
 * */
bool weight_map_wants(struct job *, const struct weight_source *, const char *name, size_t len);

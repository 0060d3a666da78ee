/*
 * shards.h - the shards of a grid whose indexes are in memory: the last few.
 *
 * A shard (zarr version 3, sharding_indexed codec) holds chunks in any order, and at its
 * beginning or end an index, in C order of them, or in the order of its level:
 *
 *   each:  u64 offset from the shard's first byte, u64 bytes; both 2^64 - 1: absent
 *   u32le  CRC-32C of the index, if the grid has one
 */
#ifndef CKPTDB_SHARDS_H
#define CKPTDB_SHARDS_H

#include "catalog/data/model/tensor.h"

struct shard;
struct shards;

enum status shards_open(const struct stored_tensor *, struct shards **out, struct error *err);
void shards_close(struct shards *);

/* Which shard: the value's index in the level 0 grid, and for one that lies in that one its
 * position there. */
struct shard_name {
    uint64_t value;
    uint64_t inner; /* SHARD_OUTER: the value itself */
};
#define SHARD_OUTER UINT64_MAX

/* A shard that is in memory, or NULL. */
struct shard *shards_find(struct shards *, struct shard_name);

/* Read the index of a shard and keep it. Takes ownership of `source`, the shard's bytes as
 * stored, and of the hold on `outer`, the shard that they lie in (NULL: none). */
enum status shards_add(struct shards *, struct shard_name, struct source *source,
                       struct shard *outer, struct shard **out, struct error *err);

/* Release a shard that was found or added. Takes NULL. */
void shard_drop(struct shards *, struct shard *);

/* The bytes at a place inside the shard's box (`rank` numbers, in the grid of next-level boxes);
 * *out NULL: absent. The shard must be held while *out is open. */
enum status shard_entry(const struct shard *, const uint64_t *at, struct source **out,
                        struct error *err);

#endif

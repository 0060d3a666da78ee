/*
 * naive_reader.h - the value of each element of a stored tensor, found the slow way: its run or its
 * chunk is decoded as a whole, and its place worked out from its index alone. Runs in the
 * catalog itself only; no strings. What is compared with the reader.
 */
#pragma once

#include <stdlib.h>
#include <string.h>

#include "catalog/data/codec/codec.h"
#include "catalog/data/model/tensor.h"

#define NAIVE_RANK 8
#define NAIVE_RUN  ((uint64_t)1 << 22) /* bytes of a decoded one */

/* Decoded bytes; `at` NULL: they cannot be had. */
struct naive_run {
    uint8_t *at;
    uint64_t len;
    bool tried, absent;
};

struct naive {
    const struct stored_tensor *t;
    struct naive_run *runs; /* of extents, or of the chunks of the last level */
    uint64_t count;
    uint64_t chunks[NAIVE_RANK]; /* along each axis */
    unsigned bits;               /* of an element in a run */
};

/* How an element is in a run: of a grid whose elements are packed later, in a byte each. */
static inline bool naive_open(struct naive *n, const struct stored_tensor *t)
{
    uint64_t unpack;
    *n = (struct naive){.t = t, .count = t->extent_count, .bits = t->dtype.bits};
    if (t->dtype.block_elems == 1)
        n->bits = t->dtype.block_bytes * 8u;
    if (t->grid) {
        const struct grid_level *last = &t->grid->level[t->grid->levels - 1];
        if (codec_chain_argument(t->codec, "unpack", &unpack))
            n->bits = 8;
        if (!grid_counts(t->shape, t->rank, last->shape, n->chunks, &n->count))
            return false;
    }
    n->runs = calloc(n->count + 1, sizeof(*n->runs));
    return n->runs && n->bits;
}

static inline void naive_close(struct naive *n)
{
    for (uint64_t i = 0; n->runs && i < n->count; i++)
        free(n->runs[i].at);
    free(n->runs);
}

/* Pass stored bytes through a chain; false if that fails. Frees *bytes if it is replaced. */
static inline bool naive_decode(struct bytes stored, const char *chain, struct naive_run *out)
{
    struct error err = {.offset = NO_OFFSET};
    struct source *s = NULL;
    if (source_open_memory("naive", stored, true, &s, &err) != OK ||
        codec_chain_open(s, chain, &s, NULL, &err) != OK)
        return false;
    out->len = s->size;
    out->at = s->size <= NAIVE_RUN ? malloc(s->size + 1) : NULL;
    if (out->at && source_read(s, 0, out->at, s->size, &err) != OK) {
        free(out->at);
        out->at = NULL;
    }
    source_close(s);
    return out->at;
}

/* The position of an index in a box whose axes are in this order (NULL: C). */
static inline uint64_t naive_position(const uint64_t *index, const uint64_t *box,
                                      const uint8_t *order, unsigned rank)
{
    uint64_t position = 0;
    for (unsigned d = 0; d < rank; d++) {
        unsigned axis = order ? order[d] : d;
        position = position * box[axis] + index[axis] % box[axis];
    }
    return position;
}

/* From a shard to the value inside it at an index of the tensor. */
static inline bool naive_inside(const struct naive *n, unsigned level, const uint64_t *index,
                                struct naive_run *value)
{
    const struct grid_level *l = &n->t->grid->level[level], *next = l + 1;
    uint64_t box[NAIVE_RANK], inside[NAIVE_RANK], count = 1, from, len;
    struct naive_run shard = {.at = NULL}, stored = {.at = NULL};
    bool there = naive_decode((struct bytes){value->at, value->len}, l->codec, &shard);
    free(value->at);
    *value = (struct naive_run){.absent = false};
    for (unsigned d = 0; d < n->t->rank; d++) {
        box[d] = l->shape[d] / next->shape[d];
        inside[d] = index[d] % l->shape[d] / next->shape[d];
        count *= box[d];
    }
    uint64_t bytes = count * 16 + (l->index_summed ? 4 : 0);
    uint64_t at = naive_position(inside, box, l->order, n->t->rank) * 16;
    if (there && bytes <= shard.len) {
        const uint8_t *entry = shard.at + (l->index_first ? 0 : shard.len - bytes) + at;
        from = l->index_big ? load_u64be(entry) : load_u64le(entry);
        len = l->index_big ? load_u64be(entry + 8) : load_u64le(entry + 8);
        value->absent = from == UINT64_MAX && len == UINT64_MAX;
        if (!value->absent && from <= shard.len && len <= shard.len - from)
            naive_decode((struct bytes){shard.at + from, len}, NULL, &stored);
        value->at = stored.at;
        value->len = stored.len;
    }
    free(shard.at);
    return value->at;
}

static inline void naive_chunk(const struct naive *n, const uint64_t *index, struct naive_run *out)
{
    const struct stored_tensor *t = n->t;
    const struct grid *g = t->grid;
    uint64_t cell = 0;
    const struct grid_value *v = NULL;
    for (unsigned d = 0; d < t->rank; d++) {
        uint64_t size = g->level[0].shape[d];
        cell = cell * (t->shape[d] / size + (t->shape[d] % size != 0)) + index[d] / size;
    }
    for (uint64_t i = 0; !v && i < g->value_count; i++)
        if (g->values[i].index == cell)
            v = &g->values[i];
    out->absent = !v;
    if (!v || v->file != GRID_NO_FILE)
        return;
    struct naive_run value = {.at = NULL};
    naive_decode((struct bytes){v->bytes, v->stored}, NULL, &value);
    for (unsigned level = 0; level + 1 < g->levels && value.at; level++)
        naive_inside(n, level, index, &value);
    out->absent = value.absent;
    if (!value.at)
        return;
    char chain[CHAIN_BYTES] = "";
    const char *codec = v->codec ? v->codec : t->codec;
    size_t len = v->codec ? strlen(codec) : codec_of_bytes(codec);
    if (len < sizeof(chain)) {
        if (len)
            memcpy(chain, codec, len);
        chain[len] = '\0';
        naive_decode((struct bytes){value.at, value.len}, chain, out);
    }
    free(value.at);
}

/* Bits of a run, the lowest first. */
static inline bool naive_bits(const struct naive_run *run, uint64_t position, unsigned bits,
                              uint8_t *out)
{
    for (unsigned b = 0; b < bits; b++) {
        uint64_t at = position * bits + b;
        if (!run->at || at / 8 >= run->len)
            return false;
        out[b / 8] |= (uint8_t)((run->at[at / 8] >> at % 8 & 1) << b % 8);
    }
    return true;
}

static inline bool naive_of_grid(struct naive *n, const uint64_t *index, uint8_t *out)
{
    const struct grid *g = n->t->grid;
    const struct grid_level *last = &g->level[g->levels - 1];
    uint64_t number = 0;
    for (unsigned d = 0; d < n->t->rank; d++)
        number = number * n->chunks[d] + index[d] / last->shape[d];
    struct naive_run *run = &n->runs[number];
    if (!run->tried)
        naive_chunk(n, index, run);
    run->tried = true;
    if (run->absent && g->fill.len)
        memcpy(out, g->fill.at, g->fill.len < n->bits / 8 ? g->fill.len : n->bits / 8);
    return run->absent ||
           naive_bits(run, naive_position(index, last->shape, last->order, n->t->rank), n->bits,
                      out);
}

static inline bool naive_of_extent(struct naive *n, uint64_t i, const uint64_t *index, uint8_t *out)
{
    const struct stored_tensor *t = n->t;
    const struct extent *e = &t->extents[i];
    const int64_t *strides = e->strides ? e->strides : t->strides;
    struct naive_run *run = &n->runs[i];
    struct error err = {.offset = NO_OFFSET};
    char filled[CHAIN_BYTES];
    const char *chain;
    uint64_t position = 0;
    for (unsigned d = 0; d < t->rank; d++) {
        uint64_t inside = index[d] - (e->origin ? e->origin[d] : 0);
        uint64_t size = e->shape ? e->shape[d] : t->shape[d];
        position = strides ? position + inside * (uint64_t)strides[d] : position * size + inside;
    }
    if (!run->tried && extent_chain(t, e, filled, &chain, &err) == OK)
        naive_decode((struct bytes){e->bytes, e->stored}, chain, run);
    run->tried = true;
    return naive_bits(run, position, n->bits, out);
}

/* The element at an index (little-endian; of a packed one, its bits) into `out`, which is
 * cleared. False if there is no such element. */
static inline bool naive_element(struct naive *n, const uint64_t *index, uint8_t *out)
{
    const struct stored_tensor *t = n->t;
    if (t->grid)
        return naive_of_grid(n, index, out);
    for (uint64_t i = 0; i < t->extent_count; i++) {
        const struct extent *e = &t->extents[i];
        bool inside = true;
        for (unsigned d = 0; d < t->rank; d++) {
            uint64_t origin = e->origin ? e->origin[d] : 0;
            uint64_t size = e->shape ? e->shape[d] : t->shape[d];
            inside = inside && index[d] >= origin && index[d] - origin < size;
        }
        if (inside)
            return naive_of_extent(n, i, index, out);
    }
    return false;
}

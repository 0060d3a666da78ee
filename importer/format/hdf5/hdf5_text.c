/*
 * hdf5_text.c - datasets of variable-length strings. An element is only a reference to its text
 * in the file's global heap, so the texts are gathered at import and stored in the catalog.
 */
#include <stdlib.h>
#include <string.h>

#include "catalog/data/codec/block.h"
#include "importer/format/hdf5/hdf5_walk.h"

#define ELEMENTS_MOST 1000000
#define DECODED_MOST  ((uint64_t)1 << 28) /* bytes of all chunks */

struct gathering {
    struct hdf5_tree *tree;
    const struct hdf5_dataset *d;
    uint8_t *elements; /* of the dataset, row-major */
    uint64_t count;
};

static void gathering_fails(const struct gathering *g, enum status status, const char *why)
{
    error_set(g->tree->h.err, status, g->tree->path, NO_OFFSET, "%s", why);
}

/* Copy the part of a chunk that is inside the dataset, row by row. For shape [5,3] and chunks
 * [2,2] the grid is 3 by 2; chunk 5 is its last: origin [4,2]; `inside` keeps [1,1]. */
static void place_chunk(struct gathering *g, const uint8_t *chunk, uint64_t index)
{
    const struct hdf5_dataset *d = g->d;
    uint64_t origin[HDF5_RANK_MAX], inside[HDF5_RANK_MAX], at[HDF5_RANK_MAX] = {0};
    unsigned rank = d->space.rank; /* 1 or more, as hdf5_dataset() has checked */
    uint64_t item = d->type.size, rows = 1;
    for (unsigned i = rank; i-- > 0;) {
        uint64_t n = d->space.shape[i] / d->box[i] + (d->space.shape[i] % d->box[i] != 0);
        origin[i] = index % n * d->box[i];
        index /= n;
        inside[i] =
            d->space.shape[i] - origin[i] < d->box[i] ? d->space.shape[i] - origin[i] : d->box[i];
        rows *= i + 1 < rank ? inside[i] : 1;
    }
    for (uint64_t r = 0; rank && r < rows; r++) {
        uint64_t to = 0, from = 0;
        for (unsigned i = 0; i < rank; i++) {
            to = to * d->space.shape[i] + origin[i] + at[i];
            from = from * d->box[i] + at[i];
        }
        memcpy(g->elements + to * item, chunk + from * item, (size_t)(inside[rank - 1] * item));
        for (unsigned i = rank - 1; i-- > 0 && ++at[i] == inside[i];)
            at[i] = 0;
    }
}

static void read_chunk(struct gathering *g, struct block_decoder *decoder,
                       const struct hdf5_chunk *c, uint8_t *room)
{
    char chain[CHAIN_BYTES];
    struct error *err = g->tree->h.err;
    const struct source *s = g->tree->h.source;
    bool whole = g->d->version > 3 && g->d->flags & 1 && hdf5_chunk_is_partial(g->d, c->index);
    if (!hdf5_chain(g->d, c->skipped, whole, false, chain, err))
        return;
    if (c->offset > s->size || c->stored > s->size - c->offset) {
        gathering_fails(g, ERR_CORRUPT, "a chunk ends past the end of the file");
        return;
    }
    uint8_t *stored = malloc((size_t)c->stored + !c->stored);
    struct block b = {.chain = *chain ? chain : NULL,
                      .stored = {stored, (size_t)c->stored},
                      .name = s->name,
                      .offset = c->offset};
    if (!stored)
        error_memory(err);
    else if (source_read(s, c->offset, stored, (size_t)c->stored, err) == OK &&
             block_decode(decoder, &b, room, g->d->chunk_bytes, err) == OK)
        place_chunk(g, room, c->index);
    free(stored);
}

static void read_chunks(struct gathering *g)
{
    struct hdf5_chunks list;
    struct error *err = g->tree->h.err;
    struct block_decoder *decoder = block_decoder_new();
    uint8_t *room = NULL;
    if (hdf5_chunks(&g->tree->h, g->d, &list) && list.count) {
        if (g->d->chunk_bytes > LIMIT_PICKLE_INLINE ||
            list.count > DECODED_MOST / g->d->chunk_bytes)
            gathering_fails(g, ERR_LIMIT, "chunks of strings that are too large");
        else if (!decoder || !(room = malloc((size_t)g->d->chunk_bytes)))
            error_memory(err);
        for (size_t i = 0; i < list.count && err->status == OK; i++)
            read_chunk(g, decoder, &list.at[i], room);
    }
    free(list.at);
    free(room);
    block_decoder_free(decoder);
}

/* Append the number of texts, then each text after its length (codec/strings.h). */
static void put_texts(struct gathering *g, struct text *out)
{
    struct bytes text;
    uint8_t number[4];
    size_t item = g->d->type.item;
    store_u32le(number, (uint32_t)g->count);
    text_add(out, number, sizeof(number));
    for (uint64_t i = 0; i < g->count && !out->failed; i++) {
        struct bytes element = {g->elements + i * item, item};
        if (!hdf5_text(&g->tree->h, &g->d->type, element, &text))
            return;
        store_u32le(number, (uint32_t)text.len);
        text_add(out, number, sizeof(number));
        text_add(out, text.at, text.len);
    }
    if (out->failed)
        gathering_fails(g, ERR_LIMIT, "more bytes of strings than can be kept in the catalog");
}

struct bytes hdf5_tree_strings(struct hdf5_tree *t, const struct hdf5_dataset *d, uint64_t count)
{
    struct gathering g = {.tree = t, .d = d, .count = count};
    struct text all = {.limit = LIMIT_PICKLE_INLINE};
    struct bytes kept = {0};
    const struct source *s = t->h.source;
    if (count > ELEMENTS_MOST || d->type.item > 32) {
        gathering_fails(&g, ERR_LIMIT,
                        "more strings of varying length than can be kept in the catalog");
        return kept;
    }
    const uint64_t len = count * d->type.item;
    g.elements = calloc((size_t)count + 1, d->type.item ? d->type.item : 1);
    if (!g.elements)
        error_memory(t->h.err);
    else if (d->layout == HDF5_CHUNKED)
        read_chunks(&g);
    else if (len && d->offset != HDF5_UNDEFINED &&
             (d->offset > s->size || len > s->size - d->offset))
        gathering_fails(&g, ERR_CORRUPT, "its elements end past the end of the file");
    else if (len && d->offset != HDF5_UNDEFINED)
        source_read(s, d->offset, g.elements, (size_t)len, t->h.err);
    if (t->h.err->status == OK)
        put_texts(&g, &all);
    if (t->h.err->status == OK)
        kept = (struct bytes){(uint8_t *)arena_copy(t->job->arena, all.at, all.len), all.len};
    free(g.elements);
    text_release(&all);
    return kept;
}

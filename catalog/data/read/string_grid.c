#include "catalog/data/read/string_grid.h"

#include <stdlib.h>

#include "catalog/data/codec/codec.h"
#include "catalog/data/codec/strings.h"
#include "catalog/data/read/chunks.h"

/* Strings are read in C order, so all chunks of a row of chunks take turns: so many are kept decoded, but
 * not more than this. */
#define KEPT_LEAST 128
#define KEPT_MOST  ((uint64_t)1 << 16)
#define KEPT_BYTES ((uint64_t)64 << 20) /* of all of them together */
#define IN_MEMORY  ((uint64_t)8 << 20)  /* of one in memory */
#define KEPT_EACH  2048                 /* what else one needs, about */
#define WINDOWS    ((uint64_t)64 << 10) /* strings.c has up to two of them of each */

/* A decoded chunk. */
struct kept {
    struct strings *strings; /* NULL: free, or the chunk is absent */
    uint64_t number;         /* the chunk's index in C order, plus 1; 0: free */
    uint64_t bytes;
};

struct string_grid {
    const struct stored_tensor *tensor;
    const struct grid_level *level; /* of the chunks */
    struct chunks *chunks;
    uint64_t elements; /* in a chunk */
    struct kept *kept; /* direct-mapped: chunk n is in slot n % slots */
    uint64_t slots, bytes;
    uint64_t hand; /* slot to evict next */
};

/* How many chunks to keep: those of a row of chunks. */
static uint64_t slots_for(const struct stored_tensor *t, const struct grid_level *level)
{
    uint64_t row = 1;
    for (unsigned d = 1; d < t->rank; d++)
        if (t->shape[d] &&
            (!mul_u64(row, (t->shape[d] - 1) / level->shape[d] + 1, &row) || row > KEPT_MOST))
            return KEPT_MOST;
    return row > KEPT_LEAST ? row : KEPT_LEAST;
}

enum status string_grid_open(const struct stored_tensor *t, struct file_cache *files,
                             struct string_grid **out, struct error *err)
{
    struct string_grid *g = calloc(1, sizeof(*g));
    if (!g)
        return error_memory_at(err, t->checkpoint);
    g->tensor = t;
    g->level = &t->grid->level[t->grid->levels - 1];
    g->slots = slots_for(t, g->level);
    g->kept = calloc((size_t)g->slots, sizeof(*g->kept));
    if (!g->kept)
        error_memory_at(err, t->checkpoint);
    else if (!shape_elements(g->level->shape, t->rank, &g->elements))
        error_set(err, ERR_LIMIT, t->checkpoint, NO_OFFSET, "a chunk of the tensor is too large");
    else
        chunks_open(t, files, &g->chunks, err);
    if (err->status == OK)
        *out = g;
    else
        string_grid_close(g);
    return err->status;
}

static void give_up(struct string_grid *g, struct kept *k)
{
    strings_close(k->strings);
    g->bytes -= k->bytes;
    *k = (struct kept){0};
}

void string_grid_close(struct string_grid *g)
{
    if (!g)
        return;
    for (uint64_t i = 0; g->kept && i < g->slots; i++)
        give_up(g, &g->kept[i]);
    free(g->kept);
    chunks_close(g->chunks);
    free(g);
}

static enum status open_strings(struct string_grid *g, const struct chunk *chunk, struct kept *k,
                                struct error *err)
{
    char *encoding = NULL, filled[CHAIN_BYTES];
    const char *chain;
    struct source *s = NULL;
    if (run_chain(g->tensor, chunk->codec, filled, &chain, err) != OK ||
        source_open_view(chunk->source, 0, chunk->source->size, &s, err) != OK ||
        codec_chain_open(s, chain, &s, &encoding, err) != OK)
        return err->status;
    free(encoding);
    if (source_open_spill(s, &s, err) != OK)
        return err->status;
    k->bytes = (s->size < IN_MEMORY ? s->size : IN_MEMORY) +
               2 * (s->size < WINDOWS ? s->size : WINDOWS) + KEPT_EACH;
    return strings_open(s, g->tensor->codec, g->elements, &k->strings, err);
}

static enum status string_grid_keep(struct string_grid *g, const uint64_t *at, uint64_t number,
                                    struct kept *slot, struct error *err)
{
    struct chunk chunk;
    struct kept k = {.number = number + 1};
    give_up(g, slot);
    if (chunk_take(g->chunks, at, &chunk, err) == OK) {
        if (chunk.source)
            open_strings(g, &chunk, &k, err);
        chunk_give(g->chunks, &chunk);
    }
    if (err->status != OK) {
        chunk_error(g->chunks, at, err);
        return err->status;
    }
    while (g->bytes && k.bytes > KEPT_BYTES - g->bytes)
        give_up(g, &g->kept[g->hand++ % g->slots]);
    *slot = k;
    g->bytes += k.bytes;
    return OK;
}

enum status string_grid_at(struct string_grid *g, uint64_t index, struct bytes *out,
                           struct error *err)
{
    const struct stored_tensor *t = g->tensor;
    const uint64_t *chunk = g->level->shape;
    uint64_t at[TENSOR_RANK_MAX], inside[TENSOR_RANK_MAX], number = 0, position = 0;
    for (unsigned d = t->rank; d-- > 0;) {
        at[d] = index % t->shape[d] / chunk[d];
        inside[d] = index % t->shape[d] % chunk[d];
        index /= t->shape[d];
    }
    for (unsigned d = 0; d < t->rank; d++) {
        unsigned axis = g->level->order ? g->level->order[d] : d;
        number = number * ((t->shape[d] - 1) / chunk[d] + 1) + at[d];
        position = position * chunk[axis] + inside[axis];
    }
    struct kept *k = &g->kept[number % g->slots];
    if (k->number != number + 1 && string_grid_keep(g, at, number, k, err) != OK)
        return err->status;
    if (k->strings)
        return strings_at(k->strings, position, out, err);
    *out = t->grid->fill;
    if (!out->at)
        out->at = (const uint8_t *)"";
    return OK;
}

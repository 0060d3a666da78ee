/*
 * string_table.c - the strings of a tensor, by position.
 *
 * NumPy's strings have a fixed width: the reader itself puts them into C order. TensorFlow's do
 * not: each extent is a run of strings, and a position is looked up in the extent's box.
 *
 * In a grid, a chunk holds its strings in C order, or in the order of its level; a chunk at the edge of
 * the tensor also holds strings that lie outside. One row of chunks is kept decoded, as far as
 * 64 MiB hold them, so that reading in order decodes each once.
 */
#include <stdlib.h>

#include "catalog/data/codec/codec.h"
#include "catalog/data/codec/strings.h"
#include "catalog/data/read/chunks.h"
#include "catalog/data/read/reader.h"

/* --- in a grid ------------------------------------------------------------ */

/* Strings are read in C order, so all chunks of a row of chunks take turns: one row is kept
 * decoded, within these limits. */
#define KEPT_LEAST 128
#define KEPT_MOST  ((uint64_t)1 << 16)
#define KEPT_BYTES ((uint64_t)64 << 20) /* of all chunks together */
#define IN_MEMORY  ((uint64_t)8 << 20)  /* of one in memory */
#define KEPT_EACH  2048                 /* what else one needs, about */
#define WINDOWS    ((uint64_t)64 << 10) /* bytes; strings.c has up to two windows per run */

/* A decoded chunk. */
struct kept_chunk {
    struct strings *strings; /* NULL: free, or the chunk is absent */
    uint64_t number;         /* the chunk's index in C order, plus 1; 0: free */
    uint64_t bytes;
};

struct string_grid {
    const struct stored_tensor *tensor;
    const struct grid_level *level; /* of the chunks */
    struct chunks *chunks;
    uint64_t elements;       /* in a chunk */
    struct kept_chunk *kept; /* direct-mapped: chunk n is in slot n % slots */
    uint64_t slots, bytes;
    uint64_t hand; /* slot to evict next */
};

/* How many chunks to keep: one row. */
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
    struct string_grid *g = *out = calloc(1, sizeof(*g));
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
    return err->status;
}

static void give_up(struct string_grid *g, struct kept_chunk *k)
{
    strings_close(k->strings);
    g->bytes -= k->bytes;
    *k = (struct kept_chunk){0};
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

static void open_strings(struct string_grid *g, const struct chunk *chunk, struct kept_chunk *k,
                         struct error *err)
{
    char *encoding = NULL, filled[CHAIN_BYTES];
    const char *chain;
    struct source *s = NULL;
    if (run_chain(g->tensor, chunk->codec, filled, &chain, err) == OK &&
        source_open_view(chunk->source, 0, chunk->source->size, &s, err) == OK &&
        codec_chain_open(s, chain, &s, &encoding, err) == OK)
        source_open_spill(s, &s, err);
    free(encoding);
    if (err->status != OK || !s)
        return;
    k->bytes = (s->size < IN_MEMORY ? s->size : IN_MEMORY) +
               2 * (s->size < WINDOWS ? s->size : WINDOWS) + KEPT_EACH;
    strings_open(s, g->tensor->codec, g->elements, &k->strings, err);
}

static enum status string_grid_keep(struct string_grid *g, const uint64_t *at, uint64_t number,
                                    struct kept_chunk *slot, struct error *err)
{
    struct chunk chunk;
    struct kept_chunk k = {.number = number + 1};
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

/* String `index`, in C order; valid until the next call. */
static enum status string_grid_at(struct string_grid *g, uint64_t index, struct bytes *out,
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
    struct kept_chunk *k = &g->kept[number % g->slots];
    if (k->number != number + 1 && string_grid_keep(g, at, number, k, err) != OK)
        return err->status;
    if (k->strings)
        return strings_at(k->strings, position, out, err);
    *out = t->grid->fill;
    if (!out->at)
        out->at = (const uint8_t *)"";
    return OK;
}

/* --- of any tensor ------------------------------------------------------------ */

#define RUNS 16 /* kept open; each has part of its lengths in memory */

/* The strings of one extent. */
struct run {
    struct strings *strings; /* NULL: free */
    uint64_t extent;
    struct kept *lease;
};

struct string_table {
    struct reader *reader;
    struct strings *all; /* strings of fixed width; NULL: `run` is used */
    struct run run[RUNS];
    unsigned next; /* slot to evict next */
};

/* A reader's fixed-width strings, with their padding, as a source. */
struct padded_source {
    struct source base; /* must be first */
    struct reader *reader;
};

static enum status padded_read(const struct source *s, uint64_t offset, void *dst, size_t len,
                               struct error *err)
{
    return reader_read_padded(((const struct padded_source *)s)->reader, offset, dst, len, err);
}

static const struct source_ops padded_ops = {.read_at = padded_read};

static enum status open_padded(struct string_table *t, struct error *err)
{
    struct reader *r = t->reader;
    struct padded_source *s = calloc(1, sizeof(*s));
    if (!s)
        return error_memory_at(err, r->tensor->checkpoint);
    s->base = (struct source){&padded_ops, r->nbytes, r->tensor->checkpoint, r->sequential, NULL};
    s->reader = r;
    return strings_open(&s->base, r->tensor->codec, r->tensor->elements, &t->all, err);
}

static void run_release(struct reader *r, struct run *run)
{
    if (!run->strings)
        return;
    strings_close(run->strings);
    pool_give(r->pool, run->lease);
    run->strings = NULL;
}

static void run_open(struct reader *r, uint64_t extent, struct run *out, struct error *err)
{
    const struct stored_tensor *t = r->tensor;
    struct run run = {.extent = extent};
    struct source *view = NULL;
    if (pool_take(r->pool, extent, false, &run.lease, err) != OK)
        return;
    if (source_open_view(run.lease->source, 0, run.lease->source->size, &view, err) == OK &&
        strings_open(view, t->codec, extent_elements(t, &t->extents[extent]), &run.strings, err) ==
            OK)
        *out = run;
    else
        pool_give(r->pool, run.lease);
}

enum status reader_strings(struct reader *r, struct string_table **out, struct error *err)
{
    if (r->tensor->dtype.kind != DTYPE_STRING)
        return error_set(err, ERR_UNSUPPORTED, r->tensor->checkpoint, NO_OFFSET,
                         "not a tensor of strings");
    struct string_table *t = calloc(1, sizeof(*t));
    if (!t)
        return error_memory_at(err, r->tensor->checkpoint);
    t->reader = r;
    if (!strings_vary(r->tensor->codec))
        open_padded(t, err);
    else if (r->tensor->elements && !r->texts) /* opening fails if the first run is damaged */
        run_open(r, 0, &t->run[0], err);
    if (err->status == OK)
        *out = t;
    else
        string_table_close(t);
    return err->status;
}

void string_table_close(struct string_table *t)
{
    if (!t)
        return;
    strings_close(t->all);
    for (int i = 0; i < RUNS; i++)
        run_release(t->reader, &t->run[i]);
    free(t);
}

uint64_t string_count(const struct string_table *t)
{
    return t->reader->tensor->elements;
}

static struct run *run_of(struct string_table *t, uint64_t extent, struct error *err)
{
    for (int i = 0; i < RUNS; i++)
        if (t->run[i].strings && t->run[i].extent == extent)
            return &t->run[i];
    struct run *run = &t->run[t->next++ % RUNS];
    run_release(t->reader, run);
    run_open(t->reader, extent, run, err);
    return run;
}

/* The position of an element in an extent; false: it is not in it. */
static bool find_in(const struct stored_tensor *t, const struct extent *e, const uint64_t *index,
                    uint64_t *position)
{
    *position = 0;
    for (unsigned d = 0; d < t->rank; d++) {
        uint64_t origin = e->origin ? e->origin[d] : 0;
        uint64_t count = e->shape ? e->shape[d] : t->shape[d];
        if (index[d] < origin || index[d] - origin >= count)
            return false;
        *position = *position * count + index[d] - origin;
    }
    return true;
}

/* Find the extent with element `at`, and the position in it. */
static enum status string_table_locate(const struct reader *r, uint64_t at, uint64_t *extent,
                                       uint64_t *position, struct error *err)
{
    const struct stored_tensor *t = r->tensor;
    uint64_t index[TENSOR_RANK_MAX], rest = at, candidate, end;
    for (unsigned d = t->rank; d-- > 0;) {
        index[d] = rest % t->shape[d];
        rest /= t->shape[d];
    }
    tiles_between(r->tiles, at, at, &candidate, &end);
    for (; candidate < end; candidate++) {
        *extent = tiles_extent(r->tiles, candidate);
        if (find_in(t, &t->extents[*extent], index, position))
            return OK;
    }
    return error_set(err, ERR_CORRUPT, t->checkpoint, NO_OFFSET,
                     "no part of the tensor holds string %llu", (unsigned long long)at);
}

enum status string_at(struct string_table *t, uint64_t index, struct bytes *out, struct error *err)
{
    uint64_t extent = 0, position = index;
    if (index >= string_count(t))
        return error_set(err, ERR_ARGUMENT, t->reader->tensor->checkpoint, NO_OFFSET,
                         "there is no string %llu", (unsigned long long)index);
    if (t->all)
        return strings_at(t->all, index, out, err);
    if (t->reader->texts)
        return string_grid_at(t->reader->texts, index, out, err);
    if (t->reader->tiles && string_table_locate(t->reader, index, &extent, &position, err) != OK)
        return err->status;
    const struct run *run = run_of(t, extent, err);
    return err->status == OK ? strings_at(run->strings, position, out, err) : err->status;
}

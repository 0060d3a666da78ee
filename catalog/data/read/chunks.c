#include "catalog/data/read/chunks.h"

#include <stdlib.h>

#include "catalog/base/search.h"
#include "catalog/base/text.h"
#include "catalog/data/read/files.h"
#include "catalog/data/read/shards.h"

struct chunks {
    const struct stored_tensor *tensor;
    const struct grid *grid;
    struct file_set *files;
    struct shards *shards;
    uint64_t *counts; /* number of level 0 boxes along each axis */
    unsigned last;    /* the level whose boxes are chunks */
};

enum status chunks_open(const struct stored_tensor *t, struct file_cache *files,
                        struct chunks **out, struct error *err)
{
    uint64_t all;
    struct chunks *c = *out = calloc(1, sizeof(*c));
    if (!c || !(c->counts = calloc(t->rank + 1, sizeof(*c->counts))))
        return error_memory_at(err, t->checkpoint);
    c->tensor = t;
    c->grid = t->grid;
    c->last = t->grid->levels - 1;
    if (!grid_counts(t->shape, t->rank, t->grid->level[0].shape, c->counts, &all))
        error_set(err, ERR_CORRUPT, t->checkpoint, NO_OFFSET,
                  "the chunks of the tensor are not a grid of it");
    else if (file_set_open(t, files, &c->files, err) == OK)
        shards_open(t, &c->shards, err);
    return err->status;
}

void chunks_close(struct chunks *c)
{
    if (!c)
        return;
    shards_close(c->shards);
    file_set_close(c->files);
    free(c->counts);
    free(c);
}

/* --- places ----------------------------------------------------------------------------- */

/* The box of `level` that contains the chunk. Chunks of 10 in shards of 40: chunk 7 is in shard
 * 1. */
static void box_of(const struct chunks *c, unsigned level, const uint64_t *at, uint64_t *box)
{
    const uint64_t *own = c->grid->level[level].shape;
    const uint64_t *chunk = c->grid->level[c->last].shape;
    for (unsigned d = 0; d < c->tensor->rank; d++)
        box[d] = at[d] / (own[d] / chunk[d]);
}

/* The index, in C order of the level 0 grid, of the value (file, run or shard) with the chunk. */
static uint64_t chunks_value_of(const struct chunks *c, const uint64_t *at)
{
    uint64_t box[TENSOR_RANK_MAX], index = 0;
    box_of(c, 0, at, box);
    for (unsigned d = 0; d < c->tensor->rank; d++)
        index = index * c->counts[d] + box[d];
    return index;
}

bool chunks_between(const struct chunks *c, const uint64_t *low, const uint64_t *high)
{
    const struct grid *g = c->grid;
    uint64_t first = chunks_value_of(c, low), last = chunks_value_of(c, high);
    uint64_t at;
    if (g->in_files) {
        PARTITION_POINT(at, g->run_count, g->runs[at].first + g->runs[at].count <= first);
        return at < g->run_count && g->runs[at].first <= last;
    }
    PARTITION_POINT(at, g->value_count, g->values[at].index < first);
    return at < g->value_count && g->values[at].index <= last;
}

bool chunks_from(const struct chunks *c, const uint64_t *at, uint64_t *corner)
{
    const struct grid *g = c->grid;
    const uint64_t *own = g->level[0].shape;
    uint64_t first = 0, i;
    for (unsigned d = 0; d < c->tensor->rank; d++)
        first = first * c->counts[d] + at[d] / own[d];
    if (g->in_files) {
        PARTITION_POINT(i, g->run_count, g->runs[i].first + g->runs[i].count <= first);
        if (i == g->run_count)
            return false;
        first = g->runs[i].first > first ? g->runs[i].first : first;
    } else {
        PARTITION_POINT(i, g->value_count, g->values[i].index < first);
        if (i == g->value_count)
            return false;
        first = g->values[i].index;
    }
    for (unsigned d = c->tensor->rank; d-- > 0; first /= c->counts[d])
        corner[d] = first % c->counts[d] * own[d];
    return true;
}

void chunk_error(const struct chunks *c, const uint64_t *at, struct error *err)
{
    struct text what = {.limit = 256};
    text_adds(&what, "chunk ");
    shape_print(&what, at, c->tensor->rank);
    const char *text = text_str(&what);
    error_prefix(err, text ? text : "a chunk");
    text_release(&what);
}

/* --- values ----------------------------------------------------------------------------- */

static enum status chunks_open_file(struct chunks *c, uint64_t index, struct source **out,
                                    struct error *err)
{
    const struct stored_tensor *t = c->tensor;
    struct text path = {0};
    text_addf(&path, "%s/", t->files[c->grid->directory].path);
    grid_key(c->grid, t->shape, t->rank, index, &path);
    const char *name = text_str(&path);
    if (!name)
        error_memory_at(err, t->checkpoint);
    else if (source_open_file(name, 0, out, NULL, err) == ERR_MISSING)
        file_gone(name, err);
    else if (err->status == ERR_UNSUPPORTED)
        file_replaced(name, err);
    text_release(&path);
    return err->status;
}

static enum status open_listed(struct chunks *c, const struct grid_value *v, struct source **out,
                               struct error *err)
{
    struct bytes bytes = {v->bytes, (size_t)v->stored};
    if (grid_value_inline(v))
        return source_open_memory(c->tensor->checkpoint, bytes, false, out, err);
    return file_set_range(c->files, v->file, v->offset, v->stored, out, err);
}

/* The stored bytes of a value; *out NULL: it is absent. *codec: the chunk's own chain, or NULL. */
static enum status open_value(struct chunks *c, uint64_t index, struct source **out,
                              const char **codec, struct error *err)
{
    *out = NULL;
    *codec = NULL;
    if (c->grid->in_files)
        return grid_holds(c->grid, index) ? chunks_open_file(c, index, out, err) : OK;
    const struct grid_value *v = grid_value_at(c->grid, index);
    if (v)
        *codec = v->codec;
    return v ? open_listed(c, v, out, err) : OK;
}

/* --- through the shards ----------------------------------------------------------------- */

/* Go one level down: release `outer` (NULL at the top), which the caller holds, and return the
 * shard `name` inside it, held. NULL: that shard is absent, or there was an error. */
static struct shard *take_shard(struct chunks *c, struct shard_name name, const uint64_t *box,
                                struct shard *outer, struct error *err)
{
    struct source *source = NULL;
    const char *codec; /* unused: a shard has no chain of its own */
    struct shard *shard = shards_find(c->shards, name);
    if (shard) {
        shard_drop(c->shards, outer);
        return shard;
    }
    if (outer)
        shard_entry(outer, box, &source, err);
    else
        open_value(c, name.value, &source, &codec, err);
    if (source)
        shards_add(c->shards, name, source, outer, &shard, err);
    else
        shard_drop(c->shards, outer);
    return shard;
}

/* Position of a level 1 box, in C order, among those inside its level 0 box. */
static uint64_t place_inside(const struct chunks *c, const uint64_t *box)
{
    const uint64_t *outer = c->grid->level[0].shape, *own = c->grid->level[1].shape;
    uint64_t place = 0;
    for (unsigned d = 0; d < c->tensor->rank; d++) {
        uint64_t count = outer[d] / own[d];
        place = place * count + box[d] % count;
    }
    return place;
}

enum status chunk_take(struct chunks *c, const uint64_t *at, struct chunk *out, struct error *err)
{
    uint64_t box[TENSOR_RANK_MAX];
    struct shard *shard = NULL;
    struct source *source = NULL;
    struct shard_name name = {chunks_value_of(c, at), SHARD_OUTER};
    *out = (struct chunk){0};
    if (c->last == 0)
        return open_value(c, name.value, &out->source, &out->codec, err);
    for (unsigned level = 0; level < c->last; level++) {
        box_of(c, level, at, box);
        if (level)
            name.inner = place_inside(c, box);
        shard = take_shard(c, name, box, shard, err);
        if (!shard)
            return err->status;
    }
    if (shard_entry(shard, at, &source, err) == OK && source)
        *out = (struct chunk){.source = source, .shard = shard};
    else
        shard_drop(c->shards, shard);
    return err->status;
}

void chunk_give(struct chunks *c, struct chunk *chunk)
{
    source_close(chunk->source);
    shard_drop(c->shards, chunk->shard);
    *chunk = (struct chunk){0};
}

/*
 * chunks.c - finds chunks, through shards if need be; the indexes of the last few shards are kept in memory.
 *
 * A shard (zarr version 3, sharding_indexed codec) holds chunks in any order, and at its
 * beginning or end an index, in C order of the chunks, or in the order of its level:
 *
 *   each:  u64 offset from the shard's first byte, u64 bytes; both 2^64 - 1: absent
 *   u32le  CRC-32C of the index, if the grid has one
 */
#include "catalog/data/read/chunks.h"

#include <pthread.h>
#include <stdlib.h>

#include "catalog/base/cursor.h"
#include "catalog/base/search.h"
#include "catalog/base/text.h"
#include "catalog/data/codec/codec.h"
#include "catalog/data/kernel/crc32c.h"
#include "catalog/data/read/files.h"

#define KEPT        64                   /* open shards, each with its file */
#define KEPT_BYTES  ((uint64_t)32 << 20) /* of indexes in memory */
#define INDEX_BYTES ((uint64_t)64 << 20) /* of one index, at most */
#define ENTRY_BYTES 16
#define SUM_BYTES   4
#define SHARD_OUTER UINT64_MAX

/* Which shard: the value's index in the level 0 grid, and for a shard inside that value its position
 * there. */
struct shard_name {
    uint64_t value;
    uint64_t inner; /* SHARD_OUTER: the value itself */
};

struct shard {
    struct shard *next;
    struct shard_name name;
    unsigned level, holds;
    uint64_t used;         /* clock of the last use */
    struct source *source; /* the shard's own bytes */
    struct shard *outer;   /* the shard it lies in, held; NULL: none */
    uint64_t *inside;      /* number of next-level boxes along each axis */
    const uint8_t *order;  /* axes from slowest to fastest; NULL: C order */
    unsigned rank;
    bool big;
    uint8_t *index;
    uint64_t index_bytes; /* with its checksum */
    uint64_t begin, end;  /* chunks must lie in [begin, end) */
};

struct shards {
    const struct stored_tensor *tensor;
    pthread_mutex_t lock; /* guards all below, and next, holds and used of each shard */
    struct shard *first;
    unsigned count;
    uint64_t bytes, clock;
};

struct chunks {
    const struct stored_tensor *tensor;
    const struct grid *grid;
    struct file_set *files;
    struct shards shards;
    uint64_t *counts; /* number of level 0 boxes along each axis */
    unsigned last;    /* the level whose boxes are chunks */
};

static void shard_free(struct shard *s)
{
    source_close(s->source);
    free(s->inside);
    free(s->index);
    free(s);
}

/* --- shards in memory -------------------------------------------------------------------------- */

/* These functions are called with the lock held. */

static struct shard *shards_find_kept(struct shards *s, struct shard_name name)
{
    for (struct shard *at = s->first; at; at = at->next)
        if (at->name.value == name.value && at->name.inner == name.inner) {
            at->holds++;
            at->used = ++s->clock;
            return at;
        }
    return NULL;
}

/* Remove the least recently used shard that nobody holds from the list. An inner shard holds the
 * shard it lies in, so inner ones go first. */
static struct shard *give_up_one(struct shards *s)
{
    struct shard **oldest = NULL;
    for (struct shard **at = &s->first; *at; at = &(*at)->next)
        if (!(*at)->holds && (!oldest || (*at)->used < (*oldest)->used))
            oldest = at;
    struct shard *given = oldest ? *oldest : NULL;
    if (!given)
        return NULL;
    *oldest = given->next;
    s->count--;
    s->bytes -= given->index_bytes;
    if (given->outer)
        given->outer->holds--;
    return given;
}

/* Add a shard to the list. Returns the shards that were removed to make room, linked. */
static struct shard *shards_keep(struct shards *s, struct shard *shard)
{
    struct shard *gone = NULL, *given;
    while ((s->count >= KEPT || s->bytes + shard->index_bytes > KEPT_BYTES) &&
           (given = give_up_one(s))) {
        given->next = gone;
        gone = given;
    }
    shard->next = s->first;
    s->first = shard;
    s->count++;
    s->bytes += shard->index_bytes;
    shard->used = ++s->clock;
    return gone;
}

/* Release a shard that is held. Takes NULL. */
static void shard_drop(struct shards *s, struct shard *shard)
{
    if (!shard)
        return;
    pthread_mutex_lock(&s->lock);
    shard->holds--;
    pthread_mutex_unlock(&s->lock);
}

/* --- reading the index of a shard ------------------------------------------------------------------- */

/* Offset of the shard's first byte in its file. */
static uint64_t file_offset(const struct shard *s)
{
    uint64_t begin;
    source_descriptor(s->source, &begin);
    return begin;
}

/* Compute the size of the index, and where the shard's chunks may lie. */
static enum status shards_measure(struct shard *s, const struct grid *g, struct error *err)
{
    const struct grid_level *own = &g->level[s->level], *next = own + 1;
    uint64_t entries = 1, bytes = 0;
    bool fits = true;
    for (unsigned d = 0; d < s->rank; d++) {
        s->inside[d] = own->shape[d] / next->shape[d];
        fits = fits && mul_u64(entries, s->inside[d], &entries);
    }
    fits = fits && mul_u64(entries, ENTRY_BYTES, &bytes) &&
           add_u64(bytes, own->index_summed ? SUM_BYTES : 0, &bytes);
    if (!fits || bytes > s->source->size)
        return error_set(err, ERR_CORRUPT, s->source->name, file_offset(s),
                         "the shard is %llu bytes, less than its index of %llu chunks",
                         (unsigned long long)s->source->size, (unsigned long long)entries);
    if (bytes > INDEX_BYTES)
        return error_set(err, ERR_LIMIT, s->source->name, file_offset(s),
                         "the shard has an index of %llu bytes, most is %llu",
                         (unsigned long long)bytes, (unsigned long long)INDEX_BYTES);
    s->index_bytes = bytes;
    s->begin = own->index_first ? bytes : 0;
    s->end = own->index_first ? s->source->size : s->source->size - bytes;
    return OK;
}

static enum status shards_read_index(struct shard *s, const struct grid_level *level,
                                     struct error *err)
{
    uint64_t at = level->index_first ? 0 : s->end;
    s->index = malloc((size_t)s->index_bytes + 1);
    if (!s->index)
        return error_memory_at(err, s->source ? s->source->name : NULL);
    if (source_read(s->source, at, s->index, (size_t)s->index_bytes, err) != OK ||
        !level->index_summed)
        return err->status;
    size_t summed = (size_t)s->index_bytes - SUM_BYTES;
    uint32_t stated = load_u32le(s->index + summed);
    uint32_t found = crc32c_extend(0, s->index, summed);
    if (found == stated)
        return OK;
    return error_set(err, ERR_CHECKSUM, s->source->name, file_offset(s) + at,
                     "the index of the shard is damaged: its crc32c is %08x, the file states %08x",
                     (unsigned)found, (unsigned)stated);
}

/* Decode a shard that was compressed as a whole, so that it can be read in any order. Takes
 * ownership of `s`; NULL after an error. */
static struct source *decode_whole(struct source *s, const char *codec, struct error *err)
{
    if (codec && codec_chain_open(s, codec, &s, NULL, err) != OK)
        return NULL;
    if (s->sequential && source_open_spill(s, &s, err) != OK)
        return NULL;
    return s;
}

static enum status shards_load(struct shard *s, const struct grid *g, struct error *err)
{
    const struct grid_level *level = &g->level[s->level];
    s->source = decode_whole(s->source, level->codec, err);
    if (!s->source)
        return err->status;
    s->order = level->order;
    s->big = level->index_big;
    s->inside = calloc(s->rank + 1, sizeof(*s->inside));
    if (!s->inside)
        return error_memory_at(err, s->source ? s->source->name : NULL);
    return shards_measure(s, g, err) == OK ? shards_read_index(s, level, err) : err->status;
}

/* Read the index of a shard and keep it. Takes ownership of `source`, the shard's bytes as stored, and
 * of the hold on `outer`, the shard that they lie in (NULL: none). */
static void shards_add(struct shards *shards, struct shard_name name, struct source *source,
                       struct shard *outer, struct shard **out, struct error *err)
{
    struct shard *gone = NULL, *s = calloc(1, sizeof(*s));
    if (!s) {
        source_close(source);
        shard_drop(shards, outer);
        error_memory_at(err, shards->tensor->checkpoint);
        return;
    }
    *s = (struct shard){.name = name,
                        .level = name.inner == SHARD_OUTER ? 0 : 1,
                        .holds = 1,
                        .source = source,
                        .outer = outer,
                        .rank = shards->tensor->rank};
    if (shards_load(s, shards->tensor->grid, err) != OK) {
        shard_free(s);
        shard_drop(shards, outer);
        return;
    }
    pthread_mutex_lock(&shards->lock);
    /* Another thread may have loaded it meanwhile. */
    struct shard *other = shards_find_kept(shards, name);
    if (!other) {
        gone = shards_keep(shards, s);
    } else {
        gone = s;
        if (outer)
            outer->holds--;
    }
    pthread_mutex_unlock(&shards->lock);
    while (gone) {
        struct shard *next = gone->next;
        shard_free(gone);
        gone = next;
    }
    *out = other ? other : s;
}

/* The bytes at a place inside the shard's box (`rank` numbers, in the grid of next-level boxes);
 * *out NULL: absent. The shard must be held while *out is open. */
static enum status shard_entry(const struct shard *s, const uint64_t *at, struct source **out,
                               struct error *err)
{
    uint64_t position = 0, end;
    for (unsigned d = 0; d < s->rank; d++) {
        unsigned axis = s->order ? s->order[d] : d;
        position = position * s->inside[axis] + at[axis] % s->inside[axis];
    }
    const uint8_t *entry = s->index + position * ENTRY_BYTES;
    uint64_t offset = s->big ? load_u64be(entry) : load_u64le(entry);
    uint64_t stored = s->big ? load_u64be(entry + 8) : load_u64le(entry + 8);
    *out = NULL;
    if (offset == GRID_ABSENT && stored == GRID_ABSENT)
        return OK;
    if (!add_u64(offset, stored, &end) || offset < s->begin || end > s->end)
        return error_set(err, ERR_CORRUPT, s->source->name, file_offset(s),
                         "the shard's index puts a chunk at %llu, %llu bytes, where the "
                         "shard has room from %llu to %llu",
                         (unsigned long long)offset, (unsigned long long)stored,
                         (unsigned long long)s->begin, (unsigned long long)s->end);
    return source_open_view(s->source, offset, stored, out, err);
}

/* --- opening ------------------------------------------------------------ */

enum status chunks_open(const struct stored_tensor *t, struct file_cache *files,
                        struct chunks **out, struct error *err)
{
    uint64_t all;
    struct chunks *c = *out = calloc(1, sizeof(*c));
    if (!c)
        return error_memory_at(err, t->checkpoint);
    pthread_mutex_init(&c->shards.lock, NULL);
    if (!(c->counts = calloc(t->rank + 1, sizeof(*c->counts))))
        return error_memory_at(err, t->checkpoint);
    c->tensor = c->shards.tensor = t;
    c->grid = t->grid;
    c->last = t->grid->levels - 1;
    if (!grid_counts(t->shape, t->rank, t->grid->level[0].shape, c->counts, &all))
        error_set(err, ERR_CORRUPT, t->checkpoint, NO_OFFSET,
                  "the chunks of the tensor do not form a grid over it");
    else
        file_set_open(t, files, &c->files, err);
    return err->status;
}

void chunks_close(struct chunks *c)
{
    if (!c)
        return;
    struct shards *s = &c->shards;
    while (s->first) {
        struct shard *next = s->first->next;
        shard_free(s->first);
        s->first = next;
    }
    pthread_mutex_destroy(&s->lock);
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

/* The stored bytes of a value; *out NULL: it is absent. *codec: the chunk's own chain, or NULL. */
static enum status open_value(struct chunks *c, uint64_t index, struct source **out,
                              const char **codec, struct error *err)
{
    *out = NULL;
    *codec = NULL;
    if (c->grid->in_files)
        return grid_holds(c->grid, index) ? chunks_open_file(c, index, out, err) : OK;
    const struct grid_value *v = grid_value_at(c->grid, index);
    if (!v)
        return OK;
    *codec = v->codec;
    if (!grid_value_inline(v))
        return file_set_range(c->files, v->file, v->offset, v->stored, out, err);
    const struct bytes bytes = {v->bytes, (size_t)v->stored};
    return source_open_memory(c->tensor->checkpoint, bytes, false, out, err);
}

/* --- through the shards ----------------------------------------------------------------- */

/* Go one level down: release `outer` (NULL at the top), which the caller holds, and return the
 * shard `name` inside it, held. NULL: that shard is absent, or there was an error. */
static struct shard *take_shard(struct chunks *c, struct shard_name name, const uint64_t *box,
                                struct shard *outer, struct error *err)
{
    struct source *source = NULL;
    const char *codec; /* unused: a shard has no chain of its own */
    /* A shard that is in memory, held, or NULL. */
    struct shards *s = &c->shards;
    pthread_mutex_lock(&s->lock);
    struct shard *shard = shards_find_kept(s, name);
    pthread_mutex_unlock(&s->lock);
    if (shard) {
        shard_drop(&c->shards, outer);
        return shard;
    }
    if (outer)
        shard_entry(outer, box, &source, err);
    else
        open_value(c, name.value, &source, &codec, err);
    if (source)
        shards_add(&c->shards, name, source, outer, &shard, err);
    else
        shard_drop(&c->shards, outer);
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
    uint64_t box[TENSOR_RANK_MAX] = {0};
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
        shard_drop(&c->shards, shard);
    return err->status;
}

void chunk_give(struct chunks *c, struct chunk *chunk)
{
    source_close(chunk->source);
    shard_drop(&c->shards, chunk->shard);
    *chunk = (struct chunk){0};
}

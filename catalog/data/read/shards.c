#include "catalog/data/read/shards.h"

#include <pthread.h>
#include <stdlib.h>

#include "catalog/base/cursor.h"
#include "catalog/data/codec/codec.h"
#include "catalog/data/kernel/crc32c.h"

#define KEPT        64                   /* open shards, each with its file */
#define KEPT_BYTES  ((uint64_t)32 << 20) /* of indexes in memory */
#define INDEX_BYTES ((uint64_t)64 << 20) /* of one index, at most */
#define ENTRY_BYTES 16
#define SUM_BYTES   4

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

enum status shards_open(const struct stored_tensor *t, struct shards **out, struct error *err)
{
    struct shards *s = calloc(1, sizeof(*s));
    if (!s)
        return error_memory_at(err, t->checkpoint);
    s->tensor = t;
    pthread_mutex_init(&s->lock, NULL);
    *out = s;
    return OK;
}

static void shard_free(struct shard *s)
{
    source_close(s->source);
    free(s->inside);
    free(s->index);
    free(s);
}

void shards_close(struct shards *s)
{
    if (!s)
        return;
    while (s->first) {
        struct shard *next = s->first->next;
        shard_free(s->first);
        s->first = next;
    }
    pthread_mutex_destroy(&s->lock);
    free(s);
}

/* --- in memory -------------------------------------------------------------------------- */

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

struct shard *shards_find(struct shards *s, struct shard_name name)
{
    pthread_mutex_lock(&s->lock);
    struct shard *found = shards_find_kept(s, name);
    pthread_mutex_unlock(&s->lock);
    return found;
}

void shard_drop(struct shards *s, struct shard *shard)
{
    if (!shard)
        return;
    pthread_mutex_lock(&s->lock);
    shard->holds--;
    pthread_mutex_unlock(&s->lock);
}

/* --- reading an index ------------------------------------------------------------------- */

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

enum status shards_add(struct shards *shards, struct shard_name name, struct source *source,
                       struct shard *outer, struct shard **out, struct error *err)
{
    struct shard *gone = NULL, *s = calloc(1, sizeof(*s));
    if (!s) {
        source_close(source);
        shard_drop(shards, outer);
        return error_memory_at(err, shards->tensor->checkpoint);
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
        return err->status;
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
    return OK;
}

enum status shard_entry(const struct shard *s, const uint64_t *at, struct source **out,
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

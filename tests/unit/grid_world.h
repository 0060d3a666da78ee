/*
 * grid_world.h - random arrays in chunks, in files or in a list, with or without
 * shards, and the values of all their elements. For tests of the reader.
 */
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <zlib.h>

#include "catalog/base/text.h"
#include "catalog/data/kernel/crc32c.h"
#include "catalog/data/read/read.h"
#include "tests/unit/unit.h"

#define RANK_MOST   4
#define VALUES_MOST 512

struct world {
    struct stored_tensor t;
    struct grid grid;
    struct stored_file files[2];
    struct grid_run runs[VALUES_MOST];
    struct grid_value values[VALUES_MOST];
    uint64_t shape[RANK_MOST], box[GRID_LEVELS_MAX][RANK_MOST];
    uint8_t order[GRID_LEVELS_MAX][RANK_MOST];
    uint8_t fill[16];
    char codec[128];
    size_t unit;            /* bytes per element in a chunk */
    unsigned bits;          /* of an element that is packed later; 0: none is */
    unsigned swap;          /* bytes reversed in chunks; 1: none */
    bool gzip, summed;      /* how the codec describes chunks */
    uint8_t *expected;      /* elements, C order, `unit` bytes each */
    const char *strings;    /* the encoding of fixed-width strings; NULL: none */
    bool mixed;             /* chunks have codecs of their own */
    char *own[VALUES_MOST]; /* of the values */
    uint64_t holes;         /* of 10 chunks, about this many are absent */
    char directory[FOLDER_BYTES], metadata[80], data[80];
    FILE *list; /* of the listed */
};

/* --- chunks ----------------------------------------------------------------------------- */

static inline void gzip_text(struct text *out, const void *bytes, size_t len)
{
    z_stream z = {0};
    size_t room = len + len / 100 + 100;
    uint8_t *packed = malloc(room);
    if (!packed || deflateInit2(&z, 1, Z_DEFLATED, 15 + 16, 8, 0) != Z_OK)
        abort();
    z.next_in = (void *)(uintptr_t)bytes;
    z.avail_in = (uInt)len;
    z.next_out = packed;
    z.avail_out = (uInt)room;
    if (deflate(&z, Z_FINISH) != Z_STREAM_END)
        abort();
    text_add(out, packed, z.total_out);
    deflateEnd(&z);
    free(packed);
}

static inline void put_number(struct text *out, uint64_t v, bool big)
{
    uint8_t bytes[8];
    store_u64le(bytes, big ? __builtin_bswap64(v) : v);
    text_add(out, bytes, 8);
}

static inline void put_sum(struct text *out, const char *bytes, size_t len)
{
    uint8_t sum[4];
    store_u32le(sum, crc32c_extend(0, bytes, len));
    text_add(out, sum, 4);
}

/* Local index of place `k` in a box of n[], in `order`. */
static inline void unravel(const struct world *w, const uint8_t *order, const uint64_t *n,
                           uint64_t k, uint64_t *at)
{
    for (unsigned i = w->t.rank; i-- > 0;) {
        unsigned axis = order ? order[i] : i;
        at[axis] = k % n[axis];
        k /= n[axis];
    }
}

/* Position in the tensor in C order; UINT64_MAX: outside. */
static inline uint64_t position_of(const struct world *w, const uint64_t *at)
{
    uint64_t position = 0;
    for (unsigned d = 0; d < w->t.rank; d++) {
        if (at[d] >= w->shape[d])
            return UINT64_MAX;
        position = position * w->shape[d] + at[d];
    }
    return position;
}

static inline void put_element(const struct world *w, const uint8_t *element, uint8_t *stored)
{
    for (size_t b = 0; b < w->unit; b++)
        stored[b / w->swap * w->swap + (w->swap - 1 - b % w->swap)] = element[b];
}

/* Steps of a chunk's codec, in the order in which they are undone; each after a '|'. */
static inline void chunk_codec(const struct world *w, struct text *codec)
{
    uint64_t bytes = w->unit;
    for (unsigned d = 0; d < w->t.rank; d++)
        bytes *= w->box[w->grid.levels - 1][d];
    if (w->summed)
        text_adds(codec, "|crc32c:end");
    if (w->gzip)
        text_addf(codec, "|gzip:%llu", (unsigned long long)bytes);
    if (w->swap > 1)
        text_addf(codec, "|swap:%u", w->swap);
}

static inline void make_chunk(struct world *w, const uint64_t *origin, struct text *out)
{
    const struct grid_level *l = &w->grid.level[w->grid.levels - 1];
    uint64_t count = 1, local[RANK_MOST], at[RANK_MOST];
    struct text plain = {0}, *to = w->gzip || w->summed ? &plain : out;
    for (unsigned d = 0; d < w->t.rank; d++)
        count *= l->shape[d];
    for (uint64_t k = 0; k < count; k++) {
        uint8_t element[16] = {0}, stored[16];
        unravel(w, l->order, l->shape, k, local);
        for (unsigned d = 0; d < w->t.rank; d++)
            at[d] = origin[d] + local[d];
        uint64_t position = position_of(w, at);
        for (size_t b = 0; b < w->unit; b++)
            element[b] = (uint8_t)(random_below(4) ? random_below(4) : random_below(256));
        if (w->bits)
            element[0] &= (uint8_t)((1u << w->bits) - 1);
        if (position != UINT64_MAX)
            memcpy(w->expected + position * w->unit, element, w->unit);
        put_element(w, element, stored);
        text_add(to, stored, w->unit);
    }
    if (to == out)
        return;
    size_t begin = out->len;
    if (w->gzip)
        gzip_text(out, plain.at, plain.len);
    else
        text_add(out, plain.at, plain.len);
    if (w->summed)
        put_sum(out, out->at + begin, out->len - begin);
    text_release(&plain);
}

static inline bool make_value(struct world *w, unsigned level, const uint64_t *origin,
                              struct text *out);

/* The boxes inside a shard, and its index. */
static inline void make_inside(struct world *w, unsigned level, const uint64_t *origin,
                               struct text *index, struct text *body)
{
    const struct grid_level *l = &w->grid.level[level], *inner = l + 1;
    uint64_t n[RANK_MOST], local[RANK_MOST], at[RANK_MOST], count = 1;
    for (unsigned d = 0; d < w->t.rank; d++)
        count *= n[d] = l->shape[d] / inner->shape[d];
    size_t head = l->index_first ? count * 16 + (l->index_summed ? 4 : 0) : 0;
    for (uint64_t k = 0; k < count; k++) {
        struct text value = {0};
        unravel(w, l->order, n, k, local);
        for (unsigned d = 0; d < w->t.rank; d++)
            at[d] = origin[d] + local[d] * inner->shape[d];
        if (random_below(4) == 0)
            text_add(body, "gap", random_below(4));
        bool there = make_value(w, level + 1, at, &value);
        put_number(index, there ? head + body->len : UINT64_MAX, l->index_big);
        put_number(index, there ? value.len : UINT64_MAX, l->index_big);
        if (there)
            text_add(body, value.at, value.len);
        text_release(&value);
    }
    if (l->index_summed)
        put_sum(index, index->at, index->len);
}

static inline void make_shard(struct world *w, unsigned level, const uint64_t *origin,
                              struct text *out)
{
    const struct grid_level *l = &w->grid.level[level];
    struct text index = {0}, body = {0}, plain = {0}, *to = l->codec ? &plain : out;
    make_inside(w, level, origin, &index, &body);
    if (l->index_first)
        text_add(to, index.at, index.len);
    if (body.len)
        text_add(to, body.at, body.len);
    if (!l->index_first)
        text_add(to, index.at, index.len);
    if (l->codec)
        gzip_text(out, plain.at, plain.len);
    text_release(&plain);
    text_release(&index);
    text_release(&body);
}

/* A box of a level, as a value; false: it is absent. */
static inline bool make_value(struct world *w, unsigned level, const uint64_t *origin,
                              struct text *out)
{
    bool outside = false;
    for (unsigned d = 0; d < w->t.rank; d++)
        outside = outside || origin[d] >= w->shape[d];
    if (random_below(10) < w->holes || (outside && random_below(2)))
        return false;
    if (level + 1 == w->grid.levels)
        make_chunk(w, origin, out);
    else
        make_shard(w, level, origin, out);
    return true;
}

/* --- values ----------------------------------------------------------------------------- */

static inline void put_in_file(struct world *w, uint64_t index, const struct text *value)
{
    struct text path = {0};
    struct grid *g = &w->grid;
    text_addf(&path, "%s/", w->directory);
    grid_key(g, w->shape, w->t.rank, index, &path);
    for (char *slash = path.at + strlen(w->directory) + 1; (slash = strchr(slash, '/'));
         *slash++ = '/') {
        *slash = '\0';
        mkdir(path.at, 0700);
    }
    write_file(path.at, value->at, value->len);
    text_release(&path);
    struct grid_run *last = g->run_count ? &w->runs[g->run_count - 1] : NULL;
    if (last && last->first + last->count == index)
        last->count++;
    else
        w->runs[g->run_count++] = (struct grid_run){index, 1};
}

/* Keeps `own`. */
static inline void put_in_list(struct world *w, uint64_t index, const struct text *value, char *own)
{
    w->own[w->grid.value_count] = own;
    struct grid_value *v = &w->values[w->grid.value_count++];
    *v = (struct grid_value){.index = index, .stored = value->len, .codec = own};
    if (random_below(4) == 0) {
        void *copy = malloc(value->len + 1);
        if (!copy)
            abort();
        if (value->len)
            memcpy(copy, value->at, value->len);
        v->bytes = copy;
        v->file = GRID_NO_FILE;
        return;
    }
    fwrite("gaps", random_below(5), 1, w->list);
    v->file = 0;
    v->offset = (uint64_t)ftell(w->list);
    fwrite(value->len ? value->at : "", value->len, 1, w->list);
}

/* A chunk with steps of its own, and their text; NULL: the tensor's. */
static inline bool make_own(struct world *w, const uint64_t *origin, struct text *value, char **own)
{
    bool gzip = w->gzip, summed = w->summed, there;
    unsigned swap = w->swap;
    struct text codec = {0};
    *own = NULL;
    if (!w->mixed || random_below(2))
        return make_value(w, 0, origin, value);
    w->gzip = random_below(2);
    w->summed = random_below(2);
    w->swap = random_below(2) ? swap : 1;
    chunk_codec(w, &codec);
    there = make_value(w, 0, origin, value);
    *own = strdup(codec.len ? codec.at + 1 : "");
    w->gzip = gzip;
    w->summed = summed;
    w->swap = swap;
    text_release(&codec);
    return there;
}

/* Make the values and the expected elements of a world that says everything else. */
static inline void world_write(struct world *w)
{
    uint64_t counts[RANK_MOST], all, origin[RANK_MOST], inside[RANK_MOST];
    struct text value = {0};
    folder_make(w->directory);
    assert_true(grid_counts(w->shape, w->t.rank, w->box[0], counts, &all));
    snprintf(w->data, sizeof(w->data), "%s/data", w->directory);
    snprintf(w->metadata, sizeof(w->metadata), "%s/.zarray", w->directory);
    write_file(w->metadata, "{}", 2);
    w->list = w->grid.in_files ? NULL : fopen(w->data, "wb");
    w->expected = malloc(w->t.elements * w->unit + 1);
    if (!w->expected)
        abort();
    for (uint64_t i = 0; i < w->t.elements; i++)
        memcpy(w->expected + i * w->unit, w->fill, w->unit);
    for (uint64_t i = 0; i < all; i++) {
        grid_box(&w->grid, w->shape, w->t.rank, i, origin, inside);
        text_reset(&value);
        char *own;
        bool there = make_own(w, origin, &value, &own);
        if (there && !w->grid.in_files) {
            put_in_list(w, i, &value, own);
            continue;
        }
        if (there)
            put_in_file(w, i, &value);
        free(own);
    }
    text_release(&value);
    if (w->list)
        fclose(w->list);
    w->files[0] = file_now(w->grid.in_files ? w->directory : w->data);
    w->files[1] = file_now(w->metadata);
    w->t.files = w->files;
    w->t.file_count = w->grid.in_files ? 2 : 1;
}

static inline void world_remove(struct world *w)
{
    folder_remove(w->directory);
    for (uint64_t i = 0; i < w->grid.value_count; i++) {
        free((void *)(uintptr_t)w->values[i].bytes);
        free(w->own[i]);
    }
    free(w->expected);
}

/* --- at random -------------------------------------------------------------------------- */

static inline void random_order(struct world *w, unsigned level)
{
    struct grid_level *l = &w->grid.level[level];
    if (random_below(2))
        return;
    for (unsigned i = 0; i < w->t.rank; i++) {
        unsigned other = (unsigned)random_below(i + 1);
        w->order[level][i] = w->order[level][other];
        w->order[level][other] = (uint8_t)i;
    }
    l->order = w->order[level];
}

static inline void random_levels(struct world *w)
{
    struct grid *g = &w->grid;
    g->levels = random_below(2) ? 1 : 1 + (unsigned)random_below(3);
    for (unsigned d = 0; d < w->t.rank; d++) {
        uint64_t size = 1 + random_below(random_below(3) ? 4 : 1);
        for (unsigned l = g->levels; l-- > 0;) {
            w->box[l][d] = size;
            size *= 1 + random_below(3);
        }
    }
    for (unsigned l = 0; l < g->levels; l++) {
        struct grid_level *level = &g->level[l];
        level->shape = w->box[l];
        random_order(w, l);
        if (l + 1 < g->levels) {
            level->index_first = random_below(2);
            level->index_summed = random_below(2);
            level->index_big = random_below(4) == 0;
            level->codec = random_below(4) == 0 ? "gzip:<100000000" : NULL;
        }
    }
}

static inline void random_type(struct world *w)
{
    static const struct {
        const char *dtype;
        unsigned unit, swap, bits;
        const char *strings;
    } types[] = {{"uint8", 1, 1, 0, NULL},       {"bfloat16", 2, 2, 0, NULL},
                 {"float32", 4, 4, 0, NULL},     {"int64", 8, 8, 0, NULL},
                 {"complex128", 16, 8, 0, NULL}, {"void24", 3, 1, 0, NULL},
                 {"int4", 1, 1, 4, NULL},        {"uint2", 1, 1, 2, NULL},
                 {"string", 5, 1, 0, "S5"},      {"string", 8, 4, 0, "U2"}};
    size_t k = random_below(sizeof(types) / sizeof(types[0]));
    dtype_find(types[k].dtype, &w->t.dtype);
    w->strings = types[k].strings;
    w->unit = types[k].unit;
    w->bits = types[k].bits;
    w->swap = random_below(3) ? 1 : types[k].swap;
    for (size_t b = 0; b < w->unit; b++)
        w->fill[b] = (uint8_t)random_below(w->bits ? 1u << w->bits : 256);
    if (random_below(3) == 0 || w->strings)
        memset(w->fill, 0, sizeof(w->fill));
    else
        w->grid.fill = (struct bytes){w->fill, w->unit};
}

static inline void random_codec(struct world *w)
{
    struct text codec = {0};
    w->gzip = random_below(2);
    w->summed = random_below(4) == 0;
    chunk_codec(w, &codec);
    if (w->bits)
        text_addf(&codec, "|unpack:%u", w->bits);
    if (w->strings)
        text_addf(&codec, "|strings:%s", w->strings);
    snprintf(w->codec, sizeof(w->codec), "%s", codec.len ? codec.at + 1 : "");
    w->t.codec = codec.len ? w->codec : NULL;
    text_release(&codec);
    w->mixed = !w->grid.in_files && w->grid.levels == 1 && random_below(2);
}

static inline void world_random(struct world *w)
{
    *w = (struct world){.holes = random_below(2) ? 0 : random_below(11)};
    w->t = (struct stored_tensor){.id = 1,
                                  .checkpoint = "world",
                                  .name = "t",
                                  .rank = (unsigned)random_below(RANK_MOST + 1),
                                  .shape = w->shape,
                                  .storage = STORAGE_CHUNKS,
                                  .grid = &w->grid};
    w->grid.in_files = random_below(2);
    w->grid.separator = random_below(2) ? '.' : '/';
    w->grid.prefixed = random_below(2);
    w->grid.metadata = w->grid.in_files ? 1 : GRID_NO_FILE;
    w->grid.runs = w->runs;
    w->grid.values = w->values;
    do {
        uint64_t counts[RANK_MOST], all;
        for (unsigned d = 0; d < w->t.rank; d++)
            w->shape[d] = random_below(16) ? 1 + random_below(9) : 0;
        random_levels(w);
        if (grid_counts(w->shape, w->t.rank, w->box[0], counts, &all) && all <= VALUES_MOST)
            break;
    } while (true);
    shape_elements(w->shape, w->t.rank, &w->t.elements);
    random_type(w);
    random_codec(w);
    dtype_nbytes(&w->t.dtype, w->t.elements, &w->t.nbytes);
    world_write(w);
}

/*
 * zarr_shard.c - the lists of codecs in metadata. Version 2 has filters and then the compressor;
 * version 3 has any number from array to array, one from array to bytes, and any number from bytes
 * to bytes, including transpose and sharding_indexed.
 *
 * A shard is a codec, too: {"chunk_shape", "codecs" (of its inner chunks), "index_codecs",
 * "index_location"} turns an array into bytes, and codecs after it apply to the whole shard.
 * Transpose has "order": stored axis i is axis order[i] of its input.
 */
#include <string.h>

#include "importer/array/zarr_chain.h"

/* --- version 2 -------------------------------------------------------------------------- */

/* One filter or compressor: {"id": …} and its settings. */
static bool add_v2(struct zarr_chain *c, const struct zarr_value *v)
{
    char id[NUMPY_TYPE_BYTES];
    struct zarr_value m;
    if (v->type != JSON_OBJECT)
        return zarr_bad(c->z, v, "a codec that is not an object");
    if (!zarr_members(c->z, v, "id", &m, NULL))
        return false;
    if (!zarr_word(c->z, &m, id, sizeof(id)))
        return zarr_bad(c->z, v, "a codec without a short id");
    return zarr_add_codec(c, id, v, true);
}

bool zarr_chain_v2(struct zarr_parsing *z, const struct zarr_value *filters,
                   const struct zarr_value *compressor_value)
{
    struct zarr_array *a = z->array;
    struct zarr_chain c;
    struct zarr_value v;
    struct json j;
    if (!zarr_chain_begin(&c, z, a->grid.level[0].shape, ZARR_STAGE_BYTES))
        return false;
    if (filters->type == JSON_ARRAY) {
        zarr_enter(z, filters, &j);
        while (!a->unreadable && zarr_next(&j, &v))
            if (!add_v2(&c, &v))
                return false;
    } else if (filters->type != JSON_FAIL && filters->type != JSON_NULL) {
        return zarr_bad(z, filters, "filters is not a list");
    }
    if (z->err->status != OK)
        return false;
    if (z->type.dtype.kind == DTYPE_STRING && !c.item) {
        error_set(z->err, ERR_UNSUPPORTED, z->source, filters->at,
                  "object dtype: its elements are Python objects, which are not read");
        error_code(z->err, "object-dtype");
        return false;
    }
    bool none = compressor_value->type == JSON_FAIL || compressor_value->type == JSON_NULL;
    if (!a->unreadable && !none && !add_v2(&c, compressor_value))
        return false;
    return a->unreadable || zarr_chain_finish(&c, &a->codec);
}

/* --- version 3 -------------------------------------------------------------------------- */

/* State shared by all levels of shards. */
struct levels {
    struct zarr_parsing *z;
    uint8_t *axes;   /* for each stored axis, the axis of the array that it is */
    bool transposed; /* `axes` is not the identity */
};

static bool transpose(struct levels *l, struct zarr_chain *c, const struct zarr_value *settings)
{
    struct zarr_parsing *z = l->z;
    unsigned rank = z->array->rank, count;
    struct zarr_value m;
    char word[4];
    uint64_t *order, reversed[UINT8_MAX];
    bool seen[UINT8_MAX] = {false};
    c->word = "transpose";
    if (settings->type != JSON_OBJECT || !zarr_members(z, settings, "order", &m, NULL))
        return z->err->status == OK && zarr_bad_setting(c);
    if (zarr_word(z, &m, word, sizeof(word))) { /* as in drafts of version 3: "C" or "F" */
        if (strcmp(word, "C") == 0)
            return true;
        for (unsigned d = 0; d < rank; d++)
            reversed[d] = rank - 1 - d;
        order = reversed;
        count = strcmp(word, "F") == 0 ? rank : UINT8_MAX;
    } else if (!zarr_numbers(z, &m, "the order of a transpose codec", &order, &count)) {
        return false;
    }
    uint8_t *axes = arena_array(z->arena, rank ? rank : 1, sizeof(*axes));
    if (!axes)
        return false;
    for (unsigned d = 0; d < rank; d++) {
        if (count != rank || order[d] >= rank || seen[order[d]])
            return zarr_bad(z, settings, "the order of a transpose codec is none of %u axes", rank);
        seen[order[d]] = true;
        axes[d] = l->axes[order[d]];
    }
    for (unsigned d = 0; d < rank; d++)
        c->shuffled |= c->ordered && axes[d] != l->axes[d];
    l->axes = axes;
    l->transposed = false;
    for (unsigned d = 0; d < rank; d++)
        l->transposed |= axes[d] != d;
    return true;
}

/* The codecs of a shard's index: its byte order, and whether a checksum follows it. */
static bool read_index_codecs(struct levels *l, const struct zarr_value *list,
                              struct grid_level *level)
{
    struct zarr_parsing *z = l->z;
    char name[NUMPY_TYPE_BYTES];
    struct zarr_value v, settings;
    struct json j;
    unsigned count = 0;
    if (list->type != JSON_ARRAY)
        return zarr_bad(z, list, "a shard without index_codecs");
    zarr_enter(z, list, &j);
    for (; zarr_next(&j, &v); count++) {
        struct zarr_value m;
        char word[8] = "";
        if (!zarr_extension(z, &v, name, &settings) ||
            !zarr_members(z, &settings, "endian", &m, NULL))
            return false;
        bool bytes = !count && (strcmp(name, "bytes") == 0 || strcmp(name, "endian") == 0);
        zarr_word(z, &m, word, sizeof(word));
        level->index_big |= bytes && strcmp(word, "big") == 0;
        level->index_summed |= count == 1 && strcmp(name, "crc32c") == 0;
        if (!(bytes && (level->index_big || strcmp(word, "little") == 0)) &&
            !(count == 1 && level->index_summed))
            return zarr_unreadable(z, "its shards' indexes have the codec \"%s\"", name);
    }
    return z->err->status == OK && (count || zarr_bad(z, list, "a shard without index_codecs"));
}

/* The shape of the chunks inside the boxes of `outer`. The metadata has it by stored axes. */
static bool read_inner_shape(struct levels *l, const struct zarr_value *v,
                             const struct grid_level *outer, struct grid_level *inner)
{
    struct zarr_parsing *z = l->z;
    uint64_t *stored;
    unsigned count;
    if (!zarr_numbers(z, v, "chunk_shape of a shard", &stored, &count))
        return false;
    if (count != z->array->rank)
        return zarr_bad(z, v, "chunks of rank %u in shards of rank %u", count, z->array->rank);
    inner->shape = arena_array(z->arena, count ? count : 1, sizeof(*inner->shape));
    if (!inner->shape)
        return false;
    for (unsigned d = 0; d < count; d++) {
        unsigned axis = l->axes[d];
        if (!stored[d] || outer->shape[axis] % stored[d])
            return zarr_bad(z, v, "a shard that is not cut into whole chunks");
        inner->shape[axis] = stored[d];
    }
    return true;
}

static uint8_t *order_now(const struct levels *l)
{
    return l->transposed ? l->axes : NULL;
}

/* The most bytes that a shard can have. */
static uint64_t shard_bound(uint64_t size, const struct grid_level *outer,
                            const struct grid_level *inner, unsigned rank)
{
    uint64_t chunks = 1, more, bound;
    for (unsigned d = 0; d < rank; d++)
        chunks *= outer->shape[d] / inner->shape[d]; /* at most the number of elements */
    return mul_u64(chunks, 4096 + 16, &more) && add_u64(more, 4, &more) &&
                   add_u64(zarr_compressed_bound(size), more, &bound) && bound <= INT64_MAX
               ? bound
               : INT64_MAX;
}

/* Open a new level for the shard with these settings. *within: the codecs of the chunks inside. */
static bool open_shard(struct levels *l, struct zarr_chain *c, const struct zarr_value *settings,
                       struct zarr_value *within)
{
    struct zarr_parsing *z = l->z;
    struct grid *g = &z->array->grid;
    struct zarr_value m[4];
    char word[8];
    if (c->stage != ZARR_STAGE_ARRAY || c->count != c->first)
        return zarr_unreadable(z, "its shards are filtered as a whole");
    if (g->levels == GRID_LEVELS_MAX)
        return zarr_unreadable(z, "its shards are nested more than %d deep", GRID_LEVELS_MAX - 1);
    if (settings->type != JSON_OBJECT)
        return zarr_bad(z, settings, "a shard without settings");
    if (!zarr_members(z, settings, "chunk_shape codecs index_codecs index_location", m, NULL))
        return false;
    struct grid_level *outer = &g->level[g->levels - 1], *inner = &g->level[g->levels];
    if (m[3].type != JSON_FAIL) {
        bool stated = zarr_word(z, &m[3], word, sizeof(word));
        outer->index_first = stated && strcmp(word, "start") == 0;
        if (!outer->index_first && (!stated || strcmp(word, "end") != 0))
            return zarr_bad(z, &m[3], "index_location is neither start nor end");
    }
    if (m[1].type != JSON_ARRAY)
        return zarr_bad(z, settings, "a shard without codecs");
    *within = m[1];
    outer->order = order_now(l);
    if (!read_inner_shape(l, &m[0], outer, inner) || !read_index_codecs(l, &m[2], outer))
        return false;
    g->levels++;
    c->count = 0;
    c->size = shard_bound(c->size, outer, inner, z->array->rank);
    c->exact = false;
    c->stage = ZARR_STAGE_BYTES;
    return true;
}

/* Add a codec that is neither shard nor transpose. The prefix makes a difference only to packbits:
 * without it packbits is a codec from array to bytes (zarr-extensions), with other bytes. */
static bool add_named(struct zarr_chain *c, const char *name, const struct zarr_value *settings)
{
    static const char prefix[] = "numcodecs.";
    const size_t len = sizeof(prefix) - 1;
    bool prefixed = strncmp(name, prefix, len) == 0;
    if (!prefixed && strcmp(name, "packbits") == 0)
        return zarr_unreadable(c->z, "its codec \"%s\" is not known here", name);
    return zarr_add_codec(c, prefixed ? name + len : name, settings, false);
}

/* Read one list of codecs. If it has a shard, *inner is the list of the shard's chunks. */
static bool read_codecs(struct levels *l, const struct zarr_value *list, struct zarr_value *inner)
{
    struct zarr_parsing *z = l->z;
    struct zarr_array *a = z->array;
    unsigned level = a->grid.levels - 1;
    char name[NUMPY_TYPE_BYTES];
    struct zarr_value v, settings;
    struct zarr_chain c;
    struct json j;
    *inner = (struct zarr_value){0};
    if (!zarr_chain_begin(&c, z, a->grid.level[level].shape, ZARR_STAGE_ARRAY))
        return false;
    zarr_enter(z, list, &j);
    while (!a->unreadable && zarr_next(&j, &v)) {
        if (!zarr_extension(z, &v, name, &settings))
            return false;
        bool ok = strcmp(name, "transpose") == 0 && c.stage == ZARR_STAGE_ARRAY
                      ? transpose(l, &c, &settings)
                  : strcmp(name, "sharding_indexed") == 0 ? open_shard(l, &c, &settings, inner)
                                                          : add_named(&c, name, &settings);
        if (!ok)
            return false;
    }
    if (z->err->status != OK)
        return false;
    if (a->unreadable)
        return true;
    if (c.stage == ZARR_STAGE_ARRAY)
        return zarr_bad(z, list, "no codec makes bytes of the elements");
    if (c.shuffled)
        return zarr_unreadable(z, "its filters depend on an order that is transposed");
    if (inner->type == JSON_ARRAY)
        return zarr_chain_finish(&c, &a->grid.level[level].codec);
    a->grid.level[level].order = order_now(l);
    return zarr_chain_finish(&c, &a->codec);
}

bool zarr_chain_v3(struct zarr_parsing *z, const struct zarr_value *outermost)
{
    struct levels l = {.z = z};
    struct zarr_value list = *outermost, inner;
    unsigned rank = z->array->rank;
    l.axes = arena_array(z->arena, rank ? rank : 1, sizeof(*l.axes));
    if (!l.axes)
        return false;
    for (unsigned d = 0; d < rank; d++)
        l.axes[d] = (uint8_t)d;
    for (; list.type != JSON_FAIL; list = inner) {
        if (list.type != JSON_ARRAY)
            return zarr_bad(z, &list, "codecs is not a list");
        if (!read_codecs(&l, &list, &inner))
            return false;
        if (z->array->unreadable)
            break;
    }
    return true;
}

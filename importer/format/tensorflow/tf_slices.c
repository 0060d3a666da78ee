/*
 * tf_slices.c - keys of slices, a sequence of values in OrderedCode:
 *
 *   number  0 (the zero byte that the key begins with)
 *   string  name of the variable
 *   number  rank
 *   each dimension:
 *     signed  start
 *     signed  length, -1 for the whole dimension
 *
 * Source: tensorflow/core/util/saved_tensor_slice_util.cc, EncodeTensorNameSlice.
 */
#include "importer/format/tensorflow/tf_slices.h"

#include <string.h>

#include "catalog/base/search.h"
#include "catalog/data/model/tensor.h"
#include "importer/format/tensorflow/orderedcode.h"

bool tf_slice_key(struct bytes key, struct text *name, struct arena *arena,
                  struct tf_extent **extents, unsigned *rank)
{
    struct cursor c = cursor_over(key, 0);
    text_reset(name);
    if (orderedcode_number(&c) != 0 || !orderedcode_string(&c, name) || !cursor_ok(&c)) {
        if (name->failed)
            arena_fail(arena);
        return false;
    }
    uint64_t dimensions = orderedcode_number(&c);
    bool good = cursor_ok(&c) && dimensions <= TENSOR_RANK_MAX;
    struct tf_extent *list = good ? arena_array(arena, (size_t)dimensions, sizeof(*list)) : NULL;
    if (!list)
        return false;
    for (uint64_t d = 0; d < dimensions; d++) {
        list[d].start = orderedcode_signed(&c);
        list[d].length = orderedcode_signed(&c);
    }
    *extents = list;
    *rank = (unsigned)dimensions;
    return cursor_ok(&c) && !cursor_left(&c);
}

bool tf_slices_add(struct tf_slices *s, struct bytes key, const struct tf_run *run,
                   struct arena *arena)
{
    struct tf_slice slice = {.run = *run};
    unsigned rank;
    if (!tf_slice_key(key, &s->name, arena, &slice.extents, &rank) || rank != run->rank)
        return false;
    /* Slices of one variable follow each other, and share its name. */
    const struct tf_slice *last = s->count ? &s->list[s->count - 1] : NULL;
    const char *name = s->name.len ? text_str(&s->name) : "";
    const bool same =
        last && last->name_len == s->name.len && memcmp(last->name, name, s->name.len) == 0;
    slice.name = same ? last->name : arena_copy(arena, name, s->name.len);
    slice.name_len = s->name.len;
    *PUSH(arena, s->list, s->count, s->space) = slice;
    return true;
}

static int order(const struct tf_slice *slice, struct bytes name, const struct tf_extent *extents,
                 unsigned rank)
{
    size_t common = slice->name_len < name.len ? slice->name_len : name.len;
    int by_name = common ? memcmp(slice->name, name.at, common) : 0;
    if (by_name)
        return by_name;
    if (slice->name_len != name.len)
        return slice->name_len < name.len ? -1 : 1;
    if (slice->run.rank != rank)
        return slice->run.rank < rank ? -1 : 1;
    for (unsigned d = 0; d < rank; d++) {
        const struct tf_extent *a = &slice->extents[d], *b = &extents[d];
        if (a->start != b->start)
            return a->start < b->start ? -1 : 1;
        if (a->length != b->length)
            return a->length < b->length ? -1 : 1;
    }
    return 0;
}

struct tf_slice *tf_slices_find(struct tf_slices *s, struct bytes name,
                                const struct tf_extent *extents, unsigned rank)
{
    uint64_t at;
    PARTITION_POINT(at, s->count, order(&s->list[at], name, extents, rank) < 0);
    bool found = at < s->count && order(&s->list[at], name, extents, rank) == 0;
    return found ? &s->list[at] : NULL;
}

/*
 * places.c - the locations of a tensor's bytes, as JSON.
 */
#include <string.h>

#include "catalog/base/text.h"
#include "catalog/library/api_tensor.h"

static void add_numbers(struct text *json, const char *key, const uint64_t *numbers, unsigned rank)
{
    text_addf(json, ",\"%s\":", key);
    if (numbers)
        shape_print(json, numbers, rank);
    else
        text_adds(json, "null");
}

static void add_strides(struct text *json, const int64_t *strides, unsigned rank)
{
    text_adds(json, ",\"strides\":");
    for (unsigned i = 0; strides && i < rank; i++)
        text_addf(json, "%c%lld", i ? ',' : '[', (long long)strides[i]);
    text_adds(json, !strides ? "null" : rank ? "]" : "[]");
}

static void add_extent(struct text *json, const struct stored_tensor *t, uint64_t i)
{
    const struct extent *e = &t->extents[i];
    bool has_file = e->file < t->file_count && !e->bytes;
    text_adds(json, i ? ",{\"file\":" : "{\"file\":");
    if (has_file)
        text_json(json, t->files[e->file].path, strlen(t->files[e->file].path));
    else
        text_adds(json, "null");
    text_adds(json, ",\"offset\":");
    if (has_file)
        text_addf(json, "%llu", (unsigned long long)e->offset + t->files[e->file].base);
    else
        text_adds(json, "null");
    text_addf(json, ",\"stored\":%llu", (unsigned long long)e->stored);
    add_numbers(json, "origin", e->origin, t->rank);
    add_numbers(json, "shape", e->shape, t->rank);
    if (e->codec) {
        text_adds(json, ",\"codec\":");
        text_json(json, e->codec, strlen(e->codec));
    }
    if (e->strides)
        add_strides(json, e->strides, t->rank);
    if (t->sums && t->sums[i])
        text_addf(json, ",\"checksum\":\"%s:%08x\"", t->sum_kind, t->sums[i]);
    text_addc(json, '}');
}

static void library_places_describe(struct text *json, const struct stored_tensor *t,
                                    uint64_t extents)
{
    const bool plain = t->storage == STORAGE_RANGE && !t->sums;
    text_addf(json, "{\"plain\":%s,\"count\":%llu,\"codec\":", plain ? "true" : "false",
              (unsigned long long)t->extent_count);
    if (t->codec)
        text_json(json, t->codec, strlen(t->codec));
    else
        text_adds(json, "null");
    add_strides(json, t->strides, t->rank);
    text_adds(json, ",\"extents\":[");
    for (uint64_t i = 0; i < extents; i++)
        add_extent(json, t, i);
    text_adds(json, "],\"files\":[");
    for (uint64_t i = 0; i < t->extent_count; i++) {
        uint32_t file = t->extents[i].file;
        if (file >= t->file_count || (i > 0 && t->extents[i - 1].file == file))
            continue;
        text_adds(json, json->at[json->len - 1] == '[' ? "" : ",");
        text_json(json, t->files[file].path, strlen(t->files[file].path));
    }
    text_adds(json, "]}");
}

enum ckptdb_status ckptdb_tensor_places(const ckptdb_tensor *t, uint64_t most, char **json,
                                        struct ckptdb_error *error)
{
    struct error err = {.offset = NO_OFFSET};
    struct text out = {0};
    const uint64_t count = t->stored.extent_count;
    library_places_describe(&out, &t->stored, count < most ? count : most);
    *json = text_steal(&out);
    if (!*json)
        error_memory(&err);
    text_release(&out);
    return tensor_end(t, &err, error);
}

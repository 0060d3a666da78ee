/*
 * fuzz_zarr.c - metadata of zarr nodes: accepted metadata must make sense to the decoder.
 * The first byte gives the version of the rest.
 */
#include <stdlib.h>
#include <string.h>

#include "catalog/base/json.h"
#include "catalog/base/strmap.h"
#include "catalog/base/text.h"
#include "catalog/data/codec/codec.h"
#include "catalog/data/model/tensor.h"
#include "importer/array/zarr_metadata.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Every step exists and has an argument that it accepts. */
static void check_chain(const char *chain)
{
    char name[CODEC_STEP_BYTES];
    const char *argument;
    while (chain && codec_chain_next(&chain, name, &argument)) {
        const struct codec *codec = codec_find(name);
        struct codec_args args;
        struct codec_size made;
        if (strcmp(name, "strings") == 0)
            continue;
        if (!codec || (codec->decode && (!codec_args_parse(codec, argument, &args) ||
                                         (!codec_step_size(codec, &args, 4096, &made) &&
                                          !codec_step_size(codec, &args, 4097, &made)))))
            abort();
    }
}

/* A chunk's key leads back to the chunk. */
static void check_keys(const struct zarr_array *a, uint64_t seed)
{
    uint64_t counts[UINT8_MAX], all, index;
    struct text key = {0};
    if (!a->grid.levels || !grid_counts(a->shape, a->rank, a->grid.level[0].shape, counts, &all))
        return;
    if (!grid_valid(&a->grid, a->shape, a->rank))
        abort();
    if (all && (!grid_key(&a->grid, a->shape, a->rank, seed % all, &key) ||
                !zarr_key_index(a, key.at, key.len, &index) || index != seed % all))
        abort();
    text_release(&key);
}

static void check_array(const struct zarr_array *a, uint64_t seed)
{
    if (a->rank > TENSOR_RANK_MAX || !a->dtype || (!a->grid.levels && !a->unreadable))
        abort();
    if (a->unreadable)
        return;
    check_chain(a->codec);
    for (unsigned l = 0; l < a->grid.levels; l++)
        check_chain(a->grid.level[l].codec);
    check_keys(a, seed);
}

static void walk_parts(struct bytes text, unsigned version, struct arena *arena)
{
    struct error err = {.offset = NO_OFFSET};
    struct zarr_parts parts;
    struct bytes path, metadata;
    struct json j;
    if (zarr_parts(text, "fuzzed", arena, &parts, &err) != OK || !parts.consolidated.at)
        return;
    json_init(&j, cursor_over(parts.consolidated, 0), arena, "fuzzed", &err);
    json_next(&j);
    while (zarr_next_node(&j, version, &path, &metadata))
        if (!path.at || !metadata.at)
            abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct error err = {.offset = NO_OFFSET};
    struct arena arena = {.ceiling = (size_t)1 << 28, .err = &err};
    struct zarr_array array;
    if (!size)
        return 0;
    unsigned version = data[0] & 1 ? 3 : 2;
    struct bytes text = {data + 1, size - 1};
    if (zarr_parse(text, version, "fuzzed", &arena, &array, &err) == OK) {
        if (array.kind == ZARR_ARRAY)
            check_array(&array, hash_bytes(data, size, 1));
        walk_parts(text, version, &arena);
    } else if (err.status == OK || !err.message[0]) {
        abort();
    }
    arena_release(&arena);
    return 0;
}

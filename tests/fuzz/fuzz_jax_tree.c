/*
 * fuzz_jax_tree.c - the tree of a JAX pytree: the bytes as the whole file, and as the
 * FlatBuffer in one.
 */
#include <stdlib.h>

#include "catalog/base/text.h"
#include "importer/format/orbax/jax_tree.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void parse(struct bytes json)
{
    struct error err = {.offset = NO_OFFSET};
    struct arena arena = {.ceiling = (size_t)1 << 30, .err = &err};
    struct jax_tree tree = {0};
    jax_tree_parse(json, "fuzzed", &arena, &tree, &err);
    for (uint64_t i = 0; i < tree.count; i++)
        if (!tree.leaves[i].name || (!tree.leaves[i].empty && !tree.leaves[i].key))
            abort();
    arena_release(&arena);
}

/* Base64 of the bytes, in a file with a list of 3 leaves. */
static void parse_flat(const uint8_t *data, size_t size)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    struct text file = {0};
    text_adds(&file, "{\"" JAX_TREE_KEY "\": \"");
    for (size_t i = 0; i + 3 <= size; i += 3) {
        uint32_t word = (uint32_t)data[i] << 16 | (uint32_t)data[i + 1] << 8 | data[i + 2];
        for (int shift = 18; shift >= 0; shift -= 6)
            text_addc(&file, digits[word >> shift & 63]);
    }
    text_adds(&file, "\", \"__jax_leaf_ids\": [\"Array(int8[2])\", \"int -> 1\", 2]}");
    if (text_str(&file))
        parse((struct bytes){(const uint8_t *)file.at, file.len});
    text_release(&file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    parse((struct bytes){data, size});
    parse_flat(data, size);
    return 0;
}

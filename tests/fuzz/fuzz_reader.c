/*
 * fuzz_reader.c - a row of a catalog from a stranger: dtype, shape, strides, codec, and a
 * packed list of extents, or a grid of chunks, which hold their bytes themselves. Whatever it
 * says, reading it ends well or in an error.
 *
 *   u8 dtype | u8 flags: 1 strides, 2 codec | u8 rank | rank x u8 dimension
 *   | rank x i8 stride, if any | u8 length, codec, if any | packed extents
 */
#include <stdlib.h>

#include "catalog/base/cursor.h"
#include "catalog/read/read.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define RANK_MOST     6
#define READ_MOST     ((uint64_t)1 << 16)
#define EXTENTS_MOST  64
#define ELEMENTS_MOST ((uint64_t)1 << 20)
#define CELLS_MOST    ((uint64_t)1 << 14)

static bool describe(struct cursor *c, struct arena *arena, struct stored_tensor *t)
{
    const struct dtype *dtype = dtype_at(cursor_u8(c));
    unsigned flags = cursor_u8(c);
    struct extent_list list;
    struct error err = {.offset = NO_OFFSET};
    t->rank = cursor_u8(c) % (RANK_MOST + 1);
    t->shape = arena_array(arena, RANK_MOST, sizeof(*t->shape));
    t->strides = flags & 1 ? arena_array(arena, RANK_MOST, sizeof(*t->strides)) : NULL;
    for (unsigned d = 0; d < t->rank; d++)
        t->shape[d] = cursor_u8(c);
    for (unsigned d = 0; t->strides && d < t->rank; d++)
        t->strides[d] = (int8_t)cursor_u8(c);
    if (flags & 2) {
        struct bytes codec = cursor_take(c, cursor_u8(c));
        t->codec = arena_copy(arena, codec.at, codec.len);
    }
    if (!cursor_ok(c) || !dtype || !shape_elements(t->shape, t->rank, &t->elements) ||
        t->elements > ELEMENTS_MOST)
        return false;
    t->dtype = *dtype;
    struct bytes packed = cursor_take(c, cursor_left(c));
    if (extents_unpack(packed, t->shape, t->rank, arena, &list, &err) != OK)
        return false;
    t->grid = list.grid;
    if (t->grid) {
        t->storage = STORAGE_CHUNKS;
        return t->elements <= CELLS_MOST;
    }
    t->extents = list.at;
    t->extent_count = list.count;
    return list.count <= EXTENTS_MOST;
}

static void read_numbers(const struct stored_tensor *t, struct reader *r)
{
    struct error err = {.offset = NO_OFFSET};
    struct slice slices[RANK_MOST];
    uint64_t nbytes = 0;
    uint8_t *got = malloc(READ_MOST);
    if (!got)
        abort();
    for (unsigned d = 0; d < t->rank; d++) /* backward, every second */
        slices[d] =
            (struct slice){t->shape[d] ? t->shape[d] - 1 : 0, (t->shape[d] + 1) / 2, -2};
    dtype_nbytes(&t->dtype, t->elements, &nbytes);
    size_t len = nbytes < READ_MOST ? (size_t)nbytes : READ_MOST;
    if (reader_read(r, 0, got, len, &err) == OK && len > 2)
        reader_read(r, 1, got, len - 2, &err);
    if (err.status == OK &&
        dtype_nbytes(&t->dtype, slice_elements(slices, t->rank), &nbytes))
        reader_read_slice(r, slices, 0, got, nbytes < READ_MOST ? nbytes : READ_MOST,
                          &err);
    free(got);
}

static void read_strings(struct reader *r)
{
    struct error err = {.offset = NO_OFFSET};
    struct string_table *table = NULL;
    struct bytes s;
    if (reader_strings(r, &table, &err) == OK)
        for (uint64_t i = 0; i < string_count(table) && i < 1000; i++)
            if (string_at(table, i, &s, &err) != OK)
                break;
    string_table_close(table);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena = {.ceiling = (size_t)1 << 26};
    struct cursor c = cursor_over((struct bytes){data, size}, 0);
    struct stored_tensor t = {
        .checkpoint = "fuzzed", .name = "t", .storage = STORAGE_INLINE};
    struct error err = {.offset = NO_OFFSET};
    struct reader *r = NULL;
    if (describe(&c, &arena, &t) && reader_open(&t, &r, &err) == OK) {
        if (t.dtype.kind == DTYPE_STRING)
            read_strings(r);
        else
            read_numbers(&t, r);
        reader_verify(r, &err);
    }
    reader_close(r);
    arena_release(&arena);
    return 0;
}

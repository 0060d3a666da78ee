/*
 * fuzz_reader.c - a row of a catalog from a stranger: dtype, shape, strides, codec, and a
 * packed list of extents, or a grid of chunks, which hold their bytes themselves. Whatever it
 * says, reading it ends well or in an error; what is read is what a naive reader finds.
 *
 *   u8 dtype | u8 flags: 1 strides, 2 codec | u8 rank | rank x u8 dimension
 *   | rank x i8 stride, if any | u8 length, codec, if any | packed extents
 */
#include <stdlib.h>

#include "catalog/base/cursor.h"
#include "catalog/data/read/read.h"
#include "tests/fuzz/naive_reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define RANK_MOST     6
#define READ_MOST     ((uint64_t)1 << 22)
#define EXTENTS_MOST  64
#define ELEMENTS_MOST ((uint64_t)1 << 18) /* 16 bytes each: READ_MOST */
#define CELLS_MOST    ((uint64_t)1 << 14)

static bool few_chunks(const struct stored_tensor *t)
{
    uint64_t counts[RANK_MOST], all;
    const struct grid *g = t->grid;
    return grid_counts(t->shape, t->rank, g->level[g->levels - 1].shape, counts, &all) &&
           all <= CELLS_MOST;
}

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
    dtype_nbytes(dtype, t->elements, &t->nbytes);
    struct bytes packed = cursor_take(c, cursor_left(c));
    if (extents_unpack(packed, t->shape, t->rank, arena, &list, &err) != OK)
        return false;
    t->grid = list.grid;
    if (t->grid) {
        t->storage = STORAGE_CHUNKS;
        return few_chunks(t);
    }
    t->extents = list.at;
    t->extent_count = list.count;
    return list.count <= EXTENTS_MOST;
}

/* Every element of a slice that was read. */
static void compare(struct naive *n, const struct ckptdb_slice *slices, const uint8_t *got)
{
    const struct stored_tensor *t = n->t;
    uint64_t index[RANK_MOST] = {0}, at[RANK_MOST];
    uint64_t count = slice_elements(slices, t->rank);
    unsigned bits = t->dtype.block_elems > 1 ? t->dtype.bits : t->dtype.block_bytes * 8u;
    for (uint64_t k = 0; k < count; k++) {
        uint8_t want[256] = {0};
        for (unsigned d = 0; d < t->rank; d++)
            at[d] = slices[d].start + index[d] * (uint64_t)slices[d].step;
        if (!naive_element(n, at, want))
            abort();
        for (unsigned b = 0; b < bits; b++) {
            uint64_t bit = k * bits + b;
            if ((got[bit / 8] >> bit % 8 & 1) != (want[b / 8] >> b % 8 & 1))
                abort();
        }
        for (unsigned d = t->rank; d-- > 0 && ++index[d] == slices[d].count;)
            index[d] = 0;
    }
}

static void read_slice(struct reader *r, struct naive *n, const struct ckptdb_slice *slices,
                       uint8_t *got)
{
    struct error err = {.offset = NO_OFFSET};
    uint64_t nbytes;
    if (dtype_nbytes(&n->t->dtype, slice_elements(slices, n->t->rank), &nbytes) &&
        nbytes <= READ_MOST && reader_read_slice(r, slices, 0, got, nbytes, &err) == OK)
        compare(n, slices, got);
}

static void read_numbers(const struct stored_tensor *t, struct reader *r)
{
    struct error err = {.offset = NO_OFFSET};
    struct ckptdb_slice all[RANK_MOST], slices[RANK_MOST];
    struct naive n;
    uint8_t *got = malloc(READ_MOST);
    if (!got || !naive_open(&n, t))
        abort();
    for (unsigned d = 0; d < t->rank; d++) { /* backward, every second */
        all[d] = (struct ckptdb_slice){.count = t->shape[d], .step = 1};
        slices[d] =
            (struct ckptdb_slice){t->shape[d] ? t->shape[d] - 1 : 0, (t->shape[d] + 1) / 2, -2};
    }
    size_t len = t->nbytes < READ_MOST ? (size_t)t->nbytes : READ_MOST;
    if (len == t->nbytes && reader_read(r, 0, got, len, &err) == OK) {
        compare(&n, all, got);
        if (len > 2)
            reader_read(r, 1, got, len - 2, &err);
        read_slice(r, &n, slices, got);
    }
    naive_close(&n);
    free(got);
}

/* Blocks have no elements that could be compared one by one. */
static void read_blocks(const struct stored_tensor *t, struct reader *r)
{
    struct error err = {.offset = NO_OFFSET};
    uint8_t *got = malloc(READ_MOST);
    if (!got)
        abort();
    if (t->nbytes <= READ_MOST)
        reader_read(r, 0, got, (size_t)t->nbytes, &err);
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
    struct stored_tensor t = {.checkpoint = "fuzzed", .name = "t", .storage = STORAGE_INLINE};
    struct error err = {.offset = NO_OFFSET};
    struct reader *r = NULL;
    if (describe(&c, &arena, &t) && reader_open(&t, NULL, &r, &err) == OK) {
        if (t.dtype.kind == DTYPE_STRING)
            read_strings(r);
        else if (t.dtype.kind == DTYPE_BLOCK)
            read_blocks(&t, r);
        else
            read_numbers(&t, r);
        reader_verify(r, &err);
    }
    reader_close(r);
    arena_release(&arena);
    return 0;
}

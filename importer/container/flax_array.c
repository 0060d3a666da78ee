/*
 * flax_array.c - arrays as Flax serialises them.
 *
 *   extension 1  an array: the payload is itself msgpack, [shape, dtype, buffer]: a list of
 *                integers, NumPy's name of the dtype, and the elements, row-major in the byte
 *                order of the machine (little-endian)
 *   extension 3  a NumPy scalar, encoded the same way
 *
 * msgpack has no buffers over 2^32 bytes, so Flax splits arrays of more than 2^30. They are a map
 *
 *   {"__msgpack_chunked_array__": true, "shape": {"0": n, ...}, "chunks": {"0": array, ...}}
 *
 * whose chunks are flat runs of the elements, in numeric order of their keys ("10" is after "9").
 * Whether the writer sorts keys or keeps their order, the marker comes first.
 *
 * Files of 2020 and before store buffers and names in msgpack's old `raw` type, which is now `str`.
 *
 * Source: flax/serialization.py (_ndarray_to_bytes, _chunk).
 */
#include "importer/container/flax_array.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "catalog/data/model/tensor.h"

static bool flax_array_read_shape(struct msgpack *m, struct flax_array *a)
{
    struct msgpack_item shape, item;
    if (!msgpack_want(m, &shape, MSGPACK_ARRAY, "the shape of an array"))
        return false;
    if (shape.count > FLAX_RANK_MAX)
        return msgpack_fail(m, shape.offset, ERR_UNSUPPORTED, "bad-shape",
                            "%llu dimensions, the most is %d", (unsigned long long)shape.count,
                            FLAX_RANK_MAX);
    for (a->rank = 0; a->rank < shape.count; a->rank++) {
        if (!msgpack_next(m, &item))
            return false;
        if (item.type != MSGPACK_UNSIGNED)
            return msgpack_fail(m, item.offset, ERR_CORRUPT, "bad-shape",
                                "a dimension that is negative or not a number");
        a->shape[a->rank] = item.number;
    }
    return true;
}

static bool flax_array_read_dtype(struct msgpack *m, struct flax_array *a)
{
    struct msgpack_item item;
    if (!msgpack_next(m, &item))
        return false;
    if (!msgpack_is_text(&item) || item.len == 0 || item.len > FLAX_DTYPE_MAX)
        return msgpack_fail(m, item.offset, ERR_CORRUPT, NULL, "the name of a dtype expected");
    memset(a->dtype, 0, sizeof(a->dtype));
    if (!msgpack_read(m, &item, a->dtype))
        return false;
    return strlen(a->dtype) == item.len ||
           msgpack_fail(m, item.offset, ERR_CORRUPT, NULL, "a NUL byte in the name of a dtype");
}

/* Read [shape, dtype, buffer], which must be all of the payload. */
static bool read_parts(struct msgpack *m, struct flax_array *a)
{
    struct msgpack_item item;
    if (!msgpack_want(m, &item, MSGPACK_ARRAY, "an array's shape, dtype and buffer"))
        return false;
    if (item.count != 3)
        return msgpack_fail(m, item.offset, ERR_CORRUPT, NULL,
                            "an array has a shape, a dtype and a buffer, not %llu parts",
                            (unsigned long long)item.count);
    if (!flax_array_read_shape(m, a) || !flax_array_read_dtype(m, a) || !msgpack_next(m, &item))
        return false;
    if (!msgpack_is_text(&item))
        return msgpack_fail(m, item.offset, ERR_CORRUPT, NULL, "the bytes of an array expected");
    a->run = (struct flax_run){.offset = item.data, .len = item.len};
    a->runs = &a->run;
    a->run_count = 1;
    if (!shape_elements(a->shape, a->rank, &a->run.elements))
        a->run.elements = UINT64_MAX; /* job_tensor() refuses such a shape */
    return m->at == m->end ||
           msgpack_fail(m, m->at, ERR_CORRUPT, NULL, "%llu bytes after the buffer of an array",
                        (unsigned long long)(m->end - m->at));
}

bool flax_array_read(struct msgpack *m, const struct msgpack_item *item, struct flax_array *a)
{
    uint64_t end = m->end;
    m->at = item->data;
    m->end = item->data + item->len;
    bool ok = read_parts(m, a);
    m->at = m->end;
    m->end = end;
    return ok;
}

/* --- chunked arrays --------------------------------------------------------------------- */

/* Read the key of an entry in a map that was a tuple: its position, "0" to "count - 1". */
static bool read_position(struct msgpack *m, uint64_t count, uint64_t *position)
{
    char digits[24] = "", again[24];
    struct msgpack_item item;
    if (!msgpack_next(m, &item))
        return false;
    if (msgpack_is_text(&item) && item.len < sizeof(digits) && !msgpack_read(m, &item, digits))
        return false;
    *position = 0;
    for (const char *c = digits; *c >= '0' && *c <= '9' && *position < count; c++)
        *position = *position * 10 + (uint64_t)(*c - '0');
    snprintf(again, sizeof(again), "%llu", (unsigned long long)*position);
    return (strcmp(digits, again) == 0 && *position < count) ||
           msgpack_fail(m, item.offset, ERR_CORRUPT, NULL,
                        "a number below %llu expected as the key of a chunk or dimension",
                        (unsigned long long)count);
}

static bool twice(struct msgpack *m, uint64_t position)
{
    return msgpack_fail(m, m->at, ERR_CORRUPT, NULL, "number %llu occurs twice",
                        (unsigned long long)position);
}

static bool read_chunked_shape(struct msgpack *m, struct flax_array *a)
{
    struct msgpack_item shape, item;
    uint64_t seen = 0, d;
    if (!msgpack_want(m, &shape, MSGPACK_MAP, "the shape of a chunked array"))
        return false;
    if (shape.count > FLAX_RANK_MAX)
        return msgpack_fail(m, shape.offset, ERR_UNSUPPORTED, "bad-shape",
                            "%llu dimensions, the most is %d", (unsigned long long)shape.count,
                            FLAX_RANK_MAX);
    a->rank = (unsigned)shape.count;
    for (unsigned i = 0; i < a->rank; i++) {
        if (!read_position(m, a->rank, &d))
            return false;
        if (seen >> d & 1)
            return twice(m, d);
        seen |= UINT64_C(1) << d;
        if (!msgpack_want(m, &item, MSGPACK_UNSIGNED, "a dimension"))
            return false;
        a->shape[d] = item.number;
    }
    return true;
}

/* Read the chunk at `position` into `run`. */
static bool flax_array_read_chunk(struct msgpack *m, struct flax_array *a, uint64_t position,
                                  struct flax_run *run)
{
    struct msgpack_item item;
    struct flax_array chunk = {.rank = 0};
    if (!msgpack_next(m, &item))
        return false;
    if (!flax_is_array(&item))
        return msgpack_fail(m, item.offset, ERR_CORRUPT, NULL, "a chunk expected");
    if (!flax_array_read(m, &item, &chunk))
        return false;
    if (chunk.rank != 1 || (a->dtype[0] && strcmp(a->dtype, chunk.dtype) != 0))
        return msgpack_fail(m, item.offset, ERR_CORRUPT, NULL,
                            "a chunk that is not flat, or of another dtype");
    memcpy(a->dtype, chunk.dtype, sizeof(a->dtype));
    *run = chunk.run;
    run->position = position;
    return true;
}

static int flax_array_by_position(const void *a, const void *b)
{
    uint64_t x = ((const struct flax_run *)a)->position;
    uint64_t y = ((const struct flax_run *)b)->position;
    return (x > y) - (x < y);
}

static bool flax_array_read_chunks(struct msgpack *m, struct arena *arena, struct flax_array *a)
{
    struct msgpack_item chunks;
    uint64_t position;
    size_t space = 0;
    if (!msgpack_want(m, &chunks, MSGPACK_MAP, "the chunks of an array"))
        return false;
    if (chunks.count == 0)
        return msgpack_fail(m, chunks.offset, ERR_CORRUPT, NULL, "a chunked array without chunks");
    a->dtype[0] = '\0';
    a->runs = NULL;
    for (a->run_count = 0; a->run_count < chunks.count; a->run_count++) {
        if (!read_position(m, chunks.count, &position))
            return false;
        void *list = arena_grow(arena, a->runs, a->run_count, &space, sizeof(*a->runs));
        if (!list)
            return msgpack_fail(m, NO_OFFSET, ERR_MEMORY, NULL,
                                "no memory for the chunks of an array");
        a->runs = list;
        if (!flax_array_read_chunk(m, a, position, &a->runs[a->run_count]))
            return false;
    }
    /* Each position is below their number, so all are present if no position repeats. */
    qsort(a->runs, (size_t)a->run_count, sizeof(*a->runs), flax_array_by_position);
    for (uint64_t i = 1; i < a->run_count; i++)
        if (a->runs[i].position == a->runs[i - 1].position)
            return twice(m, a->runs[i].position);
    return true;
}

bool flax_chunks_read(struct msgpack *m, struct arena *arena, struct flax_array *a)
{
    bool has_shape = false, has_chunks = false;
    struct msgpack_item item;
    if (!msgpack_next(m, &item) || !msgpack_skip(m, &item))
        return false;
    for (int i = 0; i < 2; i++) {
        if (!msgpack_next(m, &item))
            return false;
        if (!has_shape && msgpack_is(m, &item, "shape"))
            has_shape = read_chunked_shape(m, a);
        else if (!has_chunks && msgpack_is(m, &item, "chunks"))
            has_chunks = flax_array_read_chunks(m, arena, a);
        else
            return msgpack_fail(m, item.offset, ERR_CORRUPT, NULL,
                                "a chunked array has a shape and chunks, each once");
        if (m->err->status != OK)
            return false;
    }
    return true;
}

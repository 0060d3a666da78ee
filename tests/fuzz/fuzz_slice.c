/*
 * fuzz_slice.c - slices as they are typed. An input is a rank, its dimensions, and the text.
 * An accepted slice must lie inside the shape.
 */
#include <stdlib.h>

#include "catalog/data/read/read.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define RANK_MOST 8

static void check(const struct ckptdb_slice *s, uint64_t size)
{
    uint64_t step = s->step < 0 ? -(uint64_t)s->step : (uint64_t)s->step, far;
    if (!s->count)
        return;
    if (s->start >= size || !s->step || !mul_u64(s->count - 1, step, &far) ||
        far > (s->step < 0 ? s->start : size - 1 - s->start))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint64_t shape[RANK_MOST];
    struct ckptdb_slice slices[RANK_MOST];
    bool drop[RANK_MOST];
    unsigned rank = size ? data[0] % (RANK_MOST + 1) : 0;
    if (size < 1 + rank)
        return 0;
    for (unsigned d = 0; d < rank; d++)
        shape[d] = data[1 + d] < 255 ? data[1 + d] : UINT64_MAX;
    size_t len = size - 1 - rank;
    char *text = malloc(len + 1);
    if (!text)
        abort();
    memcpy(text, data + 1 + rank, len);
    text[len] = '\0';
    struct error err = {.offset = NO_OFFSET};
    if (slice_parse(text, shape, rank, slices, drop, &err) == OK)
        for (unsigned d = 0; d < rank; d++)
            check(&slices[d], shape[d]);
    else if (err.status != ERR_ARGUMENT || !err.message[0])
        abort();
    free(text);
    return 0;
}

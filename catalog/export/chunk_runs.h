/*
 * chunk_runs.h - tensors that are cut into chunks of one shape: the chunks in C order, and the runs of a chunk's elements
 * that follow each other in the tensor.
 *
 *   struct chunk_runs runs;
 *   chunk_runs_begin(t, number, &runs);
 *   do
 *       ... runs.count elements: from runs.first of the tensor, to runs.at of the chunk
 *   while (chunk_runs_next(&runs));
 */
#pragma once

#include "catalog/export/export.h"

#define CHUNK_RANK 32 /* at most */

struct chunk_runs {
    const struct export_tensor *t;
    unsigned outer; /* leading dimensions, in which a run has one index */
    uint64_t begin[CHUNK_RANK], size[CHUNK_RANK],
        index[CHUNK_RANK]; /* of the chunk, clipped; and within it */
    uint64_t first, at, count;
    bool clipped; /* the runs do not fill the chunk */
};

uint64_t chunk_count(const struct export_tensor *);
/* Where a chunk begins, as an index in each dimension; chunk_count() as `number`: where the next would. */
void chunk_begin(const struct export_tensor *, uint64_t number, uint64_t *begin);

void chunk_runs_begin(const struct export_tensor *, uint64_t number, struct chunk_runs *);
bool chunk_runs_next(struct chunk_runs *);

/*
 * dcp_box.h - a tensor in pieces: checks that their boxes fill it, and emits its row.
 */
#pragma once

#include "importer/job/job.h"

struct dcp_box {
    uint64_t *origin, *shape; /* `rank` numbers each */
    unsigned rank;
};

struct dcp_pieces {
    const char *dtype; /* NULL: unknown, then no row is emitted */
    uint64_t *shape;
    unsigned rank;
    struct dcp_box *boxes; /* none empty */
    struct extent *extents;
    uint32_t *sums; /* CRC-32 of each; 0: none */
    uint64_t count;
    uint32_t file; /* the file that states the tensor, for one without pieces */
};

/* Copy origin and shape; false without memory. */
bool dcp_box_set(struct arena *, const uint64_t *origin, const uint64_t *shape, unsigned rank,
                 struct dcp_box *out);
bool dcp_box_empty(const struct dcp_box *);

/* Copy the tensor's shape (out->rank numbers) and make room for `room` pieces; false without
 * memory. */
bool dcp_pieces_set(struct arena *, const uint64_t *shape, uint64_t room, struct dcp_pieces *out);

/* Emit the row. If *err is already set, or the boxes reach past the tensor, overlap or leave a
 * part out, the row has no data, and there is an issue. */
void dcp_pieces_emit(struct job *, const char *name, size_t len, struct dcp_pieces *,
                     struct error *err);

/*
 * dcp_box.h - a tensor in pieces: do its boxes fill it, and the row of it.
 */
#ifndef CKPTDB_IMPORTER_FORMAT_DCP_BOX_H
#define CKPTDB_IMPORTER_FORMAT_DCP_BOX_H

#include "importer/job/job.h"

struct dcp_box {
    uint64_t *origin, *shape; /* rank numbers each */
    unsigned rank;
};

struct dcp_pieces {
    const char *dtype; /* NULL: not even that is known */
    uint64_t *shape;
    unsigned rank;
    struct dcp_box *boxes; /* none empty */
    struct extent *extents;
    uint32_t *sums; /* CRC-32 of each; 0: none */
    uint64_t count;
    uint32_t file; /* that says so, where there are none: an empty tensor's */
};

bool dcp_box_set(struct arena *, const uint64_t *origin, const uint64_t *shape,
                 unsigned rank, struct dcp_box *out);
bool dcp_box_empty(const struct dcp_box *);

/* The whole's shape (out->rank numbers) and room for the pieces. */
bool dcp_pieces_set(struct arena *, const uint64_t *shape, uint64_t room,
                    struct dcp_pieces *out);

/* Emit the row. Where *err says that something is wrong with it, or where the boxes reach past
 * it, lie over each other or leave a part out, the row has no data and an issue. */
enum status dcp_pieces_emit(struct job *, const char *name, size_t len,
                            struct dcp_pieces *, struct error *err);

#endif

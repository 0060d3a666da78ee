/*
 * transfer.h - copies tensors from their sources to the places in the layout.
 *
 * Threads take blocks of 256 KiB, small enough to stay in a core's cache between reading,
 * converting and writing, or whole pieces, in the order in which the sources lie on the disk.
 */
#pragma once

#include "catalog/data/store/staging.h"
#include "catalog/export/export_layout.h"

struct stream {
    struct export_plan *plan;
    const struct exporter *exporter;
    const struct export_options *options;
    struct output *output;    /* the single file; or, if NULL: */
    struct staging *staging;  /* of all; if both are NULL, only what is lost is counted */
    const char *const *names; /* by export_tensor.file, unless in pieces */
    uint64_t nbytes;          /* of all tensors, for progress */
    uint64_t piece_bytes;     /* of the largest piece, not encoded; 0: no pieces */
    enum data_sum sums;       /* of the tensors */
    uint64_t *end;            /* of the single file: chunks go there, and move it */
};

void stream_run(const struct stream *, struct error *err);

/*
 * get_print.h - elements as text: NumPy's brackets, JSON, CSV.
 */
#pragma once

#include "shell/session/sink.h"

struct printing {
    ckptdb_cells *cells;
    struct sink *sink;
    const uint64_t *shape; /* of what is printed */
    unsigned rank;
    bool summary; /* text: only the edges of long dimensions */
    void (*progress)(void *context, uint64_t done);
    void *context;
};

/* Failures are the sink's. */
void print_text(const struct printing *);
void print_json(const struct printing *);
/* One line for each row of the last dimension; a vector is a column. */
void print_csv(const struct printing *);

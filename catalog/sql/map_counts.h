/*
 * map_counts.h - how many rows a map makes, without making them: SQLite takes longer to step over a row
 * than it takes to settle one for all checkpoints of its layout.
 */
#ifndef CKPTDB_SQL_MAP_COUNTS_H
#define CKPTDB_SQL_MAP_COUNTS_H

#include "catalog/map/dialect.h"

#define MAP_STATUSES 16 /* more than there are in dialect.h */

/* A row for each status: its `nth` is how many there are. */
struct map_counts {
    struct map_row row[MAP_STATUSES];
    size_t rows;
};

/* Add the rows of a task. */
void map_counts_add(struct map_counts *, const struct map_task *);

#endif

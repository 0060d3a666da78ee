/*
 * map_counts.h - counts the rows of a map by status, instead of returning them: for SQLite,
 * stepping over a row takes longer than settling it for all checkpoints of its layout takes here.
 */
#pragma once

#include "catalog/maps/map/dialect.h"

#define MAP_STATUSES 16 /* more than there are distinct statuses */

/* One row per status; its `nth` is the count. */
struct map_counts {
    struct map_row row[MAP_STATUSES];
    size_t rows;
};

/* Add rows of a status, a constant. */
void map_counts_add_rows(struct map_counts *, const char *status, size_t rows);
/* Add the rows of a task. */
void map_counts_add(struct map_counts *, const struct map_task *);

#include "catalog/sql/map_counts.h"

#include <assert.h>
#include <string.h>

static struct map_row *count_of(struct map_counts *c, const char *status)
{
    size_t i = 0;
    while (i < c->rows && strcmp(c->row[i].status, status) != 0)
        i++;
    assert(i < MAP_STATUSES);
    if (i == c->rows)
        c->row[c->rows++] = (struct map_row){.status = status, .rule = NO_RULE};
    return &c->row[i];
}

void map_counts_add_rows(struct map_counts *c, const char *status, size_t rows)
{
    if (rows)
        count_of(c, status)->nth += rows;
}

void map_counts_add(struct map_counts *c, const struct map_task *t)
{
    struct map_row *count = NULL;
    for (size_t i = 0; i < t->rows; i++) {
        const char *status = t->row[i].status;
        if (!count || count->status != status)
            count = count_of(c, status);
        count->nth++;
    }
}

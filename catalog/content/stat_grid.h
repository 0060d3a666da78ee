/*
 * stat_grid.h - counts numbers in the cells of a grid, which widens with the numbers that it
 * counts.
 *
 * The width of a cell is a power of 2: the least for which all numbers fit into STAT_CELLS cells.
 * A cell of a wider grid is two cells of the next finer one, so counts are exact, and depend only
 * on the numbers, not on their order.
 *
 *   cell     -2        -1         0         1
 *        (-2w, -w]   (-w, 0)   [0, w)   [w, 2w)       0 and -0 are both in cell 0
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "catalog/base/text.h"

#define STAT_CELLS 32U

struct stat_grid {
    bool narrow;                 /* of floats: cells are no finer than floats are */
    int exponent;                /* w is 2 to the power of this */
    double least, most;          /* of all numbers counted; if none: infinity, minus infinity */
    uint64_t counts[STAT_CELLS]; /* cell k is counted in element k mod STAT_CELLS */
};

void stat_grid_clear(struct stat_grid *, bool narrow);

/* Widen the grid so that it covers numbers from `least` to `most`, which are finite. */
void stat_grid_cover(struct stat_grid *, double least, double most);

/* The cell of a finite number that the grid covers, or nearly does. */
int64_t stat_grid_cell(const struct stat_grid *, double);

/* Count a number that the grid covers. */
void stat_grid_add(struct stat_grid *, double, uint64_t times);

/* Add the second grid, of numbers of the same kind, to the first. */
void stat_grid_join(struct stat_grid *, const struct stat_grid *);

/* Append {"edges":[...],"counts":[...]} for a grid that is not empty, with at most `numbers`
 * bins. */
void stat_grid_print(struct text *out, const struct stat_grid *, uint64_t numbers);

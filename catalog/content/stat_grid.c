#include "catalog/content/stat_grid.h"

#include <float.h>
#include <math.h>

#include "catalog/data/convert/convert.h"

/* Numbers are fewer than 2^23 cells away from 0, so a float times a power of 2 is exact enough to
 * give the cell. */
#define CELL_BITS 23

static const struct stat_grid nothing = {.least = INFINITY, .most = -INFINITY};

void stat_grid_clear(struct stat_grid *g, bool narrow)
{
    *g = nothing;
    g->narrow = narrow;
}

static int64_t cell_of(double x, int exponent)
{
    const int64_t cell = (int64_t)ldexp(x, -exponent);
    return x < 0 ? cell - 1 : cell;
}

int64_t stat_grid_cell(const struct stat_grid *g, double x)
{
    return cell_of(x, g->exponent);
}

static uint64_t *count_of(struct stat_grid *g, int64_t cell)
{
    return &g->counts[(uint64_t)cell % STAT_CELLS];
}

/* The least exponent at which the range covers at most `cells` cells. */
static int exponent_for(const struct stat_grid *g, double least, double most, uint64_t cells)
{
    int exponent;
    frexp(fmax(fabs(least), fabs(most)), &exponent);
    exponent -= CELL_BITS;
    if (exponent < (g->narrow ? FLT_MIN_EXP : DBL_MIN_EXP))
        exponent = g->narrow ? FLT_MIN_EXP : DBL_MIN_EXP;
    while ((uint64_t)(cell_of(most, exponent) - cell_of(least, exponent)) >= cells)
        exponent++;
    return exponent;
}

static void widen(struct stat_grid *g, int exponent)
{
    const struct stat_grid old = *g;
    const int by = exponent - old.exponent;
    const int64_t last = cell_of(old.most, old.exponent);
    int64_t cell = cell_of(old.least, old.exponent);
    stat_grid_clear(g, old.narrow);
    g->exponent = exponent;
    g->least = old.least;
    g->most = old.most;
    for (; cell <= last; cell++) /* rounds down, also for negative cells */
        *count_of(g, by < 63 ? cell >> by : -(cell < 0)) += old.counts[(uint64_t)cell % STAT_CELLS];
}

void stat_grid_cover(struct stat_grid *g, double least, double most)
{
    const bool empty = g->least > g->most;
    if (least >= g->least && most <= g->most)
        return;
    least = fmin(least, g->least);
    most = fmax(most, g->most);
    const int exponent = exponent_for(g, least, most, STAT_CELLS);
    if (empty)
        g->exponent = exponent;
    else if (exponent > g->exponent)
        widen(g, exponent);
    g->least = least;
    g->most = most;
}

void stat_grid_add(struct stat_grid *g, double x, uint64_t times)
{
    *count_of(g, cell_of(x, g->exponent)) += times;
}

void stat_grid_join(struct stat_grid *a, const struct stat_grid *b)
{
    struct stat_grid other = *b;
    if (b->least > b->most)
        return;
    if (a->least > a->most) {
        *a = *b;
        return;
    }
    stat_grid_cover(a, b->least, b->most);
    if (other.exponent < a->exponent)
        widen(&other, a->exponent);
    for (unsigned i = 0; i < STAT_CELLS; i++)
        a->counts[i] += other.counts[i];
}

/* --- as bins -------------------------------------------------------------------------------- */

static void stat_grid_add_number(struct text *out, const struct dtype *d, double value)
{
    char digits[40];
    const size_t len = element_print(d, &value, 0, digits, sizeof(digits));
    if (out->len)
        text_addc(out, ',');
    text_add(out, digits, len);
}

/* text_addf() is slower, and a checkpoint of many tensors has many counts. */
static void add_count(struct text *out, uint64_t count)
{
    char digits[20];
    size_t at = sizeof(digits);
    do {
        digits[--at] = (char)('0' + count % 10);
    } while (count /= 10);
    if (out->len)
        text_addc(out, ',');
    text_add(out, digits + at, sizeof(digits) - at);
}

void stat_grid_print(struct text *out, const struct stat_grid *grid, uint64_t numbers)
{
    struct text edges = {0}, counts = {0};
    struct stat_grid g = *grid;
    struct dtype d;
    dtype_find("float64", &d);
    const int exponent =
        exponent_for(&g, g.least, g.most, numbers < STAT_CELLS ? numbers : STAT_CELLS);
    if (exponent > g.exponent)
        widen(&g, exponent);
    const int64_t last = cell_of(g.most, g.exponent);
    double edge = g.least;
    uint64_t count = 0;
    for (int64_t cell = cell_of(g.least, g.exponent); cell <= last; cell++) {
        const double end = ldexp((double)(cell + 1), g.exponent);
        count += *count_of(&g, cell);
        /* A cell that can hold only the number on its edge is joined with its neighbour. */
        if (cell < last && end > g.least && !(cell + 1 == last && end == g.most)) {
            stat_grid_add_number(&edges, &d, edge + 0.0);
            add_count(&counts, count);
            edge = end;
            count = 0;
        }
    }
    stat_grid_add_number(&edges, &d, edge + 0.0);
    stat_grid_add_number(&edges, &d, g.most + 0.0);
    add_count(&counts, count);
    if (text_str(&edges) && text_str(&counts))
        text_addf(out, "{\"edges\":[%s],\"counts\":[%s]}", edges.at, counts.at);
    else
        out->failed = true;
    text_release(&edges);
    text_release(&counts);
}

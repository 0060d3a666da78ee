#include "catalog/base/nearest.h"

#include <stdlib.h>
#include <string.h>

#define COMPARED 128 /* bytes of a name that are compared; the rest is ignored */
#define LIMIT    32

static unsigned least(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

/* Row i of the optimal string alignment table from the two rows above it; returns the row's
 * least value. Only cells within `limit` of the diagonal are computed: a cell further away has a
 * distance above `limit`. */
static unsigned distance_row(unsigned *const rows[3], const char *a, const char *b, unsigned i,
                             unsigned limit)
{
    unsigned len = (unsigned)strnlen(b, COMPARED);
    unsigned from = i > limit ? i - limit : 1, to = least(len, i + limit);
    unsigned *now = rows[0];
    const unsigned *above = rows[1], *higher = rows[2];
    unsigned row_least = now[from - 1] = from == 1 ? i : limit + 1;
    for (unsigned j = from; j <= to; j++) {
        unsigned best = above[j - 1] + (a[i - 1] != b[j - 1]);
        best = least(best, now[j - 1] + 1);
        if (j < i + limit)
            best = least(best, above[j] + 1);
        if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
            best = least(best, higher[j - 2] + 1);
        now[j] = best;
        row_least = least(row_least, best);
    }
    return row_least;
}

unsigned edit_distance(const char *a, const char *b, unsigned limit)
{
    unsigned table[3][COMPARED + 1];
    unsigned a_len = (unsigned)strnlen(a, COMPARED), b_len = (unsigned)strnlen(b, COMPARED);
    limit = least(limit, LIMIT);
    if (a_len > b_len + limit || b_len > a_len + limit)
        return limit + 1;
    for (unsigned j = 0; j <= COMPARED; j++) {
        table[0][j] = j;
        table[1][j] = table[2][j] = limit + 1;
    }
    for (unsigned i = 1; i <= a_len; i++) {
        unsigned *const rows[3] = {table[i % 3], table[(i + 2) % 3], table[(i + 1) % 3]};
        if (distance_row(rows, a, b, i, limit) > limit)
            return limit + 1;
    }
    return least(table[a_len % 3][b_len], limit + 1);
}

void nearest_offer(struct nearest *n, const char *name, const char *shown)
{
    unsigned limit = (unsigned)strnlen(n->wanted, COMPARED) / 4 + 1;
    /* A name that contains the wanted text beats any misspelling. */
    const bool within = *n->wanted && strstr(name, n->wanted);
    unsigned score = within ? 0 : edit_distance(n->wanted, name, least(limit, LIMIT));
    int at = n->count;
    while (at > 0 && score < n->score[at - 1])
        at--;
    if (score > least(limit, LIMIT) || at == NEAREST_MAX)
        return;
    for (int i = 0; i < n->count; i++)
        if (strcmp(n->name[i], shown) == 0)
            return;
    char *copy = strdup(shown);
    if (!copy)
        return;
    if (n->count == NEAREST_MAX)
        free(n->name[--n->count]);
    for (int i = n->count; i > at; i--) {
        n->name[i] = n->name[i - 1];
        n->score[i] = n->score[i - 1];
    }
    n->name[at] = copy;
    n->score[at] = score;
    n->count++;
}

void nearest_release(struct nearest *n)
{
    for (int i = 0; i < n->count; i++)
        free(n->name[i]);
    n->count = 0;
}

#include "shell/render/get_print.h"

#include <stdlib.h>

#include "shell/session/human.h"

#define EDGE           UINT64_C(3) /* elements shown at each end of a dimension */
#define ALIGNED_MOST   10000       /* above this many elements, columns are not aligned */
#define LINE_COLUMNS   75          /* as in NumPy */
#define PROGRESS_EVERY 4096

static bool add_cell(const struct printing *p, uint64_t position, enum ckptdb_spelling how,
                     struct text *out)
{
    const char *text;
    size_t len;
    return ckptdb_cell(p->cells, position, how, &text, &len, &p->sink->err) == CKPTDB_OK &&
           text_add(out, text, len);
}

/* --- JSON and CSV ----------------------------------------------------------------------- */

/* How many dimensions end just before the element at `position`; 0 inside a row. For shape
 * 2 x 3: 1 at position 3, 2 at positions 0 and 6. */
static unsigned ends_at(const struct printing *p, uint64_t position)
{
    unsigned ends = 0;
    for (unsigned d = p->rank; d-- > 0 && position % p->shape[d] == 0; ends++)
        position /= p->shape[d];
    return ends;
}

/* Whether nothing failed so far. */
static bool go_on(const struct printing *p, uint64_t done)
{
    if (p->progress && done % PROGRESS_EVERY == 0)
        p->progress(p->context, done);
    return sink_flush(p->sink);
}

static void repeat(struct text *out, char c, unsigned count)
{
    while (count--)
        text_addc(out, c);
}

void print_json(const struct printing *p)
{
    struct text *out = &p->sink->pending;
    uint64_t count = ckptdb_cells_count(p->cells);
    if (!count)
        text_adds(out, "[]");
    for (uint64_t i = 0; i < count; i++) {
        unsigned ends = ends_at(p, i);
        repeat(out, ']', i ? ends : 0);
        text_adds(out, i ? (ends ? ",\n" : ",") : "");
        repeat(out, '[', ends);
        if (!add_cell(p, i, CKPTDB_AS_JSON, out) || !go_on(p, i))
            return;
    }
    repeat(out, ']', count ? p->rank : 0);
    text_addc(out, '\n');
}

void print_csv(const struct printing *p)
{
    struct text *out = &p->sink->pending;
    uint64_t count = ckptdb_cells_count(p->cells);
    uint64_t columns = p->rank > 1 ? p->shape[p->rank - 1] : 1;
    for (uint64_t i = 0; i < count && add_cell(p, i, CKPTDB_AS_CSV, out); i++) {
        text_addc(out, (i + 1) % columns ? ',' : '\n');
        if (!go_on(p, i))
            return;
    }
}

/* --- text ------------------------------------------------------------------------------- */

/* A walk over the elements shown: an odometer in which a dimension can
 * have a gap ("...") in the middle. */
struct walk {
    const struct printing *p;
    uint64_t *index; /* position among those shown; EDGE is a gap */
    unsigned depth;  /* rank at an element, less in a gap */
    size_t width;    /* elements are padded to this */
    size_t column;   /* on the current line */
    uint64_t printed;
};

static bool has_gap(const struct printing *p, unsigned d)
{
    return p->summary && p->shape[d] > 2 * EDGE;
}

static uint64_t shown_of(const struct printing *p, unsigned d)
{
    return has_gap(p, d) ? 2 * EDGE + 1 : p->shape[d];
}

/* Set `depth`: the outermost dimension that is in a gap, or the rank if none is. */
static void settle_depth(struct walk *w)
{
    for (w->depth = 0;
         w->depth < w->p->rank && !(has_gap(w->p, w->depth) && w->index[w->depth] == EDGE);
         w->depth++)
        continue;
}

/* Position in C order of the current element. */
static uint64_t position(const struct walk *w)
{
    uint64_t at = 0;
    for (unsigned d = 0; d < w->p->rank; d++) {
        uint64_t i = w->index[d];
        if (has_gap(w->p, d) && i > EDGE)
            i += w->p->shape[d] - shown_of(w->p, d);
        at = at * w->p->shape[d] + i;
    }
    return at;
}

/* Move to the next element or gap. Returns the dimension that moved, or -1 at the end. */
static int walk_on(struct walk *w)
{
    unsigned d = w->depth < w->p->rank ? w->depth + 1 : w->p->rank;
    while (d-- > 0) {
        if (++w->index[d] < shown_of(w->p, d)) {
            settle_depth(w);
            return (int)d;
        }
        w->index[d] = 0;
    }
    return -1;
}

static bool spell(struct walk *w, struct text *token)
{
    text_reset(token);
    if (w->depth < w->p->rank)
        text_adds(token, "...");
    else
        add_cell(w->p, position(w), CKPTDB_AS_TEXT, token);
    return token->failed ? sink_fail(w->p->sink, CKPTDB_MEMORY, "no memory")
                         : w->p->sink->err.status == CKPTDB_OK;
}

/* Print what separates two elements; `moved` is the dimension that walk_on() moved. */
static void put_gap(struct walk *w, unsigned moved, size_t next)
{
    struct text *out = &w->p->sink->pending;
    unsigned rank = w->p->rank, lines = rank - 1 - moved;
    if (lines == 0 && w->column + 1 + next <= LINE_COLUMNS) {
        text_addc(out, ' ');
        w->column++;
        return;
    }
    repeat(out, '\n', lines ? lines : 1);
    repeat(out, ' ', moved + 1);
    w->column = moved + 1;
}

static void print_walk(struct walk *w, struct text *token)
{
    struct text *out = &w->p->sink->pending;
    unsigned rank = w->p->rank, open = rank;
    int moved;
    settle_depth(w);
    for (;;) {
        repeat(out, '[', open);
        w->column += open;
        if (!spell(w, token))
            return;
        const size_t columns = text_width(token->at, token->len);
        const unsigned depth = w->depth;
        if (depth == rank && columns < w->width)
            repeat(out, ' ', (unsigned)(w->width - columns));
        text_add(out, token->at, token->len);
        w->column += columns < w->width ? w->width : columns;
        if (!go_on(w->p, w->printed++) || (moved = walk_on(w)) < 0)
            break;
        unsigned closed = (depth < rank ? depth + 1 : rank) - (unsigned)moved - 1;
        repeat(out, ']', closed);
        put_gap(w, (unsigned)moved, w->width);
        open = (w->depth < rank ? w->depth + 1 : rank) - (unsigned)moved - 1;
    }
    repeat(out, ']', rank);
    text_addc(out, '\n');
}

/* Find the width of the widest element that will be shown. */
static bool measure_widest(struct walk *w, struct text *token)
{
    settle_depth(w);
    do {
        if (!spell(w, token))
            return false;
        size_t columns = text_width(token->at, token->len);
        if (w->depth == w->p->rank && columns > w->width)
            w->width = columns;
    } while (walk_on(w) >= 0);
    return true;
}

void print_text(const struct printing *p)
{
    struct text token = {0};
    struct walk w = {.p = p, .index = calloc(p->rank + 1, sizeof(uint64_t))};
    uint64_t count = 1;
    for (unsigned d = 0; d < p->rank; d++)
        count = shown_of(p, d) && count > UINT64_MAX / shown_of(p, d) ? UINT64_MAX
                                                                      : count * shown_of(p, d);
    if (!w.index)
        sink_fail(p->sink, CKPTDB_MEMORY, "no memory");
    else if (!ckptdb_cells_count(p->cells))
        text_adds(&p->sink->pending, "[]\n");
    else if (count > ALIGNED_MOST || measure_widest(&w, &token))
        print_walk(&w, &token);
    text_release(&token);
    free(w.index);
}

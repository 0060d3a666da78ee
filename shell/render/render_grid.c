/*
 * render_grid.c - the modes with aligned columns: box, table and markdown.
 *
 * Rows come in windows. A later window keeps the previous widths if its cells fit;
 * otherwise the grid is closed and another begins, with its own header.
 */
#include <stdlib.h>
#include <string.h>

#include "shell/render/render.h"
#include "shell/session/human.h"

#define WIDTH_MAX 4096 /* wider cells stick out instead of widening the column */
#define PATH_MIN  24   /* paths are not shortened below this */
#define TEXT_MIN  24   /* nor texts below this while columns can be left out */
#define LINE_MIN  9    /* nor pictures of one line */
#define NAME_MOST 256  /* longer names count as this long */
#define NAME_MIN  12   /* nor names below this */
#define NAME_FAIR 20   /* nor below this while columns can be left out */
#define SHOWN_MIN 2    /* at least this many columns stay */
#define NARROWEST 4    /* texts of the remaining columns are not shortened below this */

/* The characters of a horizontal line: left end, crossing, right end, filling. */
struct line_style {
    const char *left, *cross, *right, *fill;
};

static const struct grid_style {
    struct line_style top, middle, bottom; /* left NULL: no such line */
    const char *side;
} styles[] = {
    [MODE_BOX] = {{"┌", "┬", "┐", "─"}, {"├", "┼", "┤", "─"}, {"└", "┴", "┘", "─"}, "│"},
    [MODE_TABLE] = {{"+", "+", "+", "-"}, {"+", "+", "+", "-"}, {"+", "+", "+", "-"}, "|"},
    [MODE_MARKDOWN] = {{0}, {"|", "|", "|", "-"}, {0}, "|"},
};

static void put_line(struct render *r, const struct line_style *style)
{
    const char *corner = style->left;
    if (!corner)
        return;
    for (int i = 0; i < r->columns; i++) {
        if (r->widths[i] >= BELOW)
            continue;
        fputs(corner, r->out);
        corner = style->cross;
        for (size_t k = 0; k < r->widths[i] + 2; k++)
            fputs(style->fill, r->out);
    }
    fprintf(r->out, "%s\n", style->right);
}

static void put_spaces(FILE *out, size_t count)
{
    fprintf(out, "%*s", (int)count, "");
}

/* Print a cell and its padding. If it is too wide, names and paths are cut on the left,
 * because their ends say most, and at an end that all names have; text with blanks is cut on the right. */
static void put_cell(struct render *r, int column, const char *at, size_t len, size_t width,
                     bool right)
{
    size_t room = r->widths[column], begin = 0, end = len;
    bool given = column < WIDTHS_MAX && r->width_given[column] > 0;
    bool cuts = width > room && (r->screen || given), prose = memchr(at, ' ', len);
    const size_t ending = column == r->ending_of && len > r->ending ? r->ending : 0;
    if (cuts && prose) {
        end = text_head(at, len, room - 1);
    } else if (cuts) {
        end = len - ending;
        const size_t left = room - (ending ? 1 : 0);
        if (text_width(at, end) > left)
            begin = text_tail(at, end, left - 1);
    }
    if (cuts)
        width = text_width(at + begin, end - begin) + (begin > 0) + (end < len);
    size_t pad = room > width ? room - width : 0;
    fputc(' ', r->out);
    put_spaces(r->out, right ? pad : 0);
    fputs(begin > 0 ? "…" : "", r->out);
    fwrite(at + begin, 1, end - begin, r->out);
    fputs(end < len ? "…" : "", r->out);
    put_spaces(r->out, right ? 0 : pad);
    fputc(' ', r->out);
}

static void put_header(struct render *r, const struct grid_style *style)
{
    put_line(r, &style->top);
    if (!r->headers && style->top.left)
        return;
    for (int i = 0; i < r->columns; i++) {
        if (r->widths[i] >= BELOW)
            continue;
        const char *name = r->headers ? r->names[i] : "";
        size_t len = strlen(name);
        fprintf(r->out, "%s%s", style->side, r->color ? "\033[1m" : "");
        put_cell(r, i, name, len, text_width(name, len), false);
        fputs(r->color ? "\033[0m" : "", r->out);
    }
    fprintf(r->out, "%s\n", style->side);
    put_line(r, &style->middle);
}

/* Print a text on as many lines as it takes, broken at blanks. A
 * list of names gets only one line. */
static void put_wrapped(struct render *r, const char *name, const char *at, size_t len)
{
    bool list = *at == '[';
    size_t indent = strlen(name) + 4, room = r->screen > indent + 8 ? r->screen - indent : 8;
    fprintf(r->out, "  %s: ", name);
    while (len > 0) {
        size_t take = text_head(at, len, room - (list ? 1 : 0)), end = take;
        while (take < len && end > 0 && at[end] != ' ')
            end--;
        take = end > 0 && !list ? end : take > 0 ? take : len;
        fwrite(at, 1, take, r->out);
        bool more = take < len;
        take += more && at[take] == ' ';
        at += take;
        len = list ? 0 : len - take;
        fputs(list && more ? "…" : "", r->out);
        if (len > 0) {
            fputc('\n', r->out);
            put_spaces(r->out, indent);
        }
    }
    fputc('\n', r->out);
}

/* Whether a listing's column has pictures of one line, whose characters rise with their values. */
static bool is_picture(const struct render *r, int column)
{
    return r->listing &&
           (strcmp(r->names[column], "histogram") == 0 || strcmp(r->names[column], "trend") == 0);
}

/* Print a picture in fewer columns: the highest of neighbours stays. */
static void put_squeezed(struct render *r, int column, const struct cell *c)
{
    struct text line = {0};
    const size_t room = r->widths[column];
    const char *at = cell_at(r, c), *end = at + c->len, *high = NULL;
    size_t step = 0, place = 0;
    for (size_t i = 0, n; at < end; at += n, i++) {
        const size_t here = i * room / c->width, k = (size_t)(end - at);
        n = (size_t)utf8_length((const unsigned char *)at, k);
        n = n ? n : 1;
        if (high && here == place && strncmp(at, high, n < step ? n : step) <= 0)
            continue;
        if (high && here != place)
            text_add(&line, high, step);
        high = at;
        step = n;
        place = here;
    }
    text_add(&line, high, step);
    put_cell(r, column, text_str(&line) ? line.at : "", line.len, text_width(line.at, line.len),
             false);
    text_release(&line);
}

static void put_rows(struct render *r, const struct grid_style *style)
{
    const struct cell *cell = r->cells;
    for (size_t row = 0; row < r->rows; row++) {
        for (int i = 0; i < r->columns; i++, cell++) {
            if (r->widths[i] >= BELOW)
                continue;
            bool dim = cell->null && r->color;
            fprintf(r->out, "%s%s", style->side, dim ? "\033[2m" : "");
            if (cell->width > r->widths[i] && is_picture(r, i))
                put_squeezed(r, i, cell);
            else
                put_cell(r, i, cell_at(r, cell), cell->len, cell->width, cell->right);
            fputs(dim ? "\033[0m" : "", r->out);
        }
        fprintf(r->out, "%s\n", style->side);
        const struct cell *below = cell - r->columns;
        for (int i = 0; i < r->columns; i++) /* those without room in the grid */
            if (r->widths[i] == BELOW && below[i].len > 0)
                put_wrapped(r, r->names[i], cell_at(r, &below[i]), below[i].len);
    }
}

/* Width of the widest cell of a column in this window, including its name;
 * or the width that .width sets. */
static size_t column_width(const struct render *r, int column)
{
    if (column < WIDTHS_MAX && r->width_given[column] > 0)
        return (size_t)r->width_given[column];
    size_t widest = r->headers ? text_width(r->names[column], strlen(r->names[column])) : 0;
    for (size_t row = 0; row < r->rows; row++) {
        size_t width = r->cells[row * (size_t)r->columns + (size_t)column].width;
        widest = width > widest ? width : widest;
    }
    return widest < WIDTH_MAX ? widest : WIDTH_MAX;
}

/* Width of the whole grid. */
static size_t total_width(const struct render *r)
{
    size_t total = 1;
    for (int i = 0; i < r->columns; i++)
        total += r->widths[i] >= BELOW ? 0 : r->widths[i] + 3;
    return total;
}

/* Shorten the path in a listing to the room that the other columns leave. */
static bool shorten_path(struct render *r)
{
    size_t excess = total_width(r) - r->screen;
    for (int i = 0; i < r->columns; i++) {
        bool path = strcmp(r->names[i], "path") == 0 || strcmp(r->names[i], "file") == 0;
        if (path && r->widths[i] < BELOW && r->widths[i] >= excess + PATH_MIN) {
            r->widths[i] -= excess;
            return true;
        }
    }
    return false;
}

/* The width that suffices for nine in ten cells of a column. */
static size_t usual_width(const struct render *r, int column)
{
    size_t count[NAME_MOST + 1] = {0}, wider = r->rows / 10, width = NAME_MOST;
    for (size_t row = 0; row < r->rows; row++) {
        const size_t is = r->cells[row * (size_t)r->columns + (size_t)column].width;
        count[is < NAME_MOST ? is : NAME_MOST]++;
    }
    while (width > TEXT_MIN && count[width] <= wider)
        wider -= count[width--];
    return width;
}

/* Shorten the column of names if only a few names are much longer than the others: they
 * should not cost whole columns. */
static bool shorten_odd_names(struct render *r)
{
    for (int i = 0; i < r->columns; i++) {
        const char *name = r->names[i];
        const bool names = strcmp(name, "name") == 0 || strcmp(name, "old_name") == 0 ||
                           strcmp(name, "new_name") == 0;
        if (!names || r->widths[i] >= BELOW)
            continue;
        const size_t usual = usual_width(r, i), excess = total_width(r) - r->screen;
        if (r->widths[i] <= usual)
            continue;
        r->widths[i] -= excess < r->widths[i] - usual ? excess : r->widths[i] - usual;
        return true;
    }
    return false;
}

/* A text, by its end. */
struct ending {
    const char *at;
    size_t len;
};

static int compare_ends(const void *a, const void *b)
{
    const struct ending *x = a, *y = b;
    for (size_t i = 1; i <= x->len && i <= y->len; i++)
        if (x->at[x->len - i] != y->at[y->len - i])
            return (unsigned char)x->at[x->len - i] < (unsigned char)y->at[y->len - i] ? -1 : 1;
    return (x->len > y->len) - (x->len < y->len);
}

/* The width at which the ends of a column's texts, after a mark, still tell them apart. */
static size_t telling_width(const struct render *r, int column)
{
    struct ending *ends = calloc(r->rows + 1, sizeof(*ends));
    size_t most = 0;
    for (size_t i = 0; ends && i < r->rows; i++) {
        const struct cell *c = &r->cells[i * (size_t)r->columns + (size_t)column];
        ends[i] = (struct ending){cell_at(r, c), c->len};
    }
    if (ends)
        qsort(ends, r->rows, sizeof(*ends), compare_ends);
    for (size_t i = 1; ends && i < r->rows; i++) {
        const struct ending *a = &ends[i - 1], *b = &ends[i];
        size_t same = 0;
        while (same < a->len && same < b->len &&
               a->at[a->len - 1 - same] == b->at[b->len - 1 - same])
            same++;
        if (same == a->len && same == b->len)
            continue;
        const size_t width = text_width(b->at + b->len - same, same) + 2;
        most = width > most ? width : most;
    }
    free(ends);
    return ends ? most : NAME_MOST;
}

/* Where names are cut so far that their ends do not tell them apart, find the end that all have: it goes first. */
static void find_ending(struct render *r)
{
    const char *end = NULL;
    r->ending = 0;
    if (!r->cut)
        return;
    for (r->ending_of = 0; r->ending_of < r->columns; r->ending_of++)
        if (strcmp(r->names[r->ending_of], "name") == 0)
            break;
    if (r->ending_of == r->columns || r->widths[r->ending_of] >= telling_width(r, r->ending_of))
        return;
    for (size_t i = 0; i < r->rows; i++) {
        const struct cell *c = &r->cells[i * (size_t)r->columns + (size_t)r->ending_of];
        const char *at = cell_at(r, c) + c->len;
        size_t same = 0;
        while (end && same < c->len && same < r->ending &&
               at[-1 - (ptrdiff_t)same] == end[-1 - (ptrdiff_t)same])
            same++;
        r->ending = end ? same : c->len;
        end = at;
    }
    while (r->ending && (*(end - r->ending) & 0xc0) == 0x80)
        r->ending--;
}

/* Shorten names as far as they stay different, and not below `fair`. */
static bool shorten_names(struct render *r, size_t fair)
{
    for (int i = 0; i < r->columns; i++) {
        const bool name = strcmp(r->names[i], "name") == 0;
        const size_t least = name && r->widths[i] < BELOW ? telling_width(r, i) : SIZE_MAX;
        const size_t keep = least < fair ? fair : least;
        if (r->widths[i] >= BELOW || r->widths[i] <= keep)
            continue;
        const size_t excess = total_width(r) - r->screen;
        r->widths[i] -= excess < r->widths[i] - keep ? excess : r->widths[i] - keep;
        return true;
    }
    return false;
}

static bool is_column_empty(const struct render *r, int column)
{
    for (size_t row = 0; row < r->rows; row++)
        if (!r->cells[row * (size_t)r->columns + (size_t)column].null)
            return false;
    return r->rows > 0;
}

/* How important a column is: whether it may be left out, goes below its row (texts, then
 * names and numbers that are the answer), or must stay. */
enum keep {
    KEEP_NOT,
    KEEP_TEXT,
    KEEP_NAME,
    KEEP_SUBJECT /* what the row is about */
};

static enum keep keep_of(const struct render *r, int column)
{
    static const char *const texts[] = {"message", "error",   "note",       "meaning",
                                        "advice",  "hint",    "names",      "first",
                                        "place",   "tensors", "checkpoints"};
    static const char *const answers[] = {
        "new_name", "status", "max_abs", "rel_l2", "cosine", "nans",   "infs",      "mean", "std",
        "min",      "max",    "l2",      "trend",  "last",   "change", "first_bad", "step", "stat"};
    if (r->listing && strcmp(r->names[column], "name_a") == 0)
        return KEEP_SUBJECT;
    for (size_t i = 0; i < sizeof(answers) / sizeof(*answers); i++)
        if (strcmp(r->names[column], answers[i]) == 0)
            return KEEP_NAME;
    bool text = false;
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
        text = text || strcmp(r->names[column], texts[i]) == 0;
    for (size_t row = 0; row < r->rows && text; row++)
        text = !r->cells[row * (size_t)r->columns + (size_t)column].right; /* no count */
    return text ? KEEP_TEXT : KEEP_NOT;
}

/* Shorten pictures of this kind. */
static bool shorten_pictures(struct render *r, enum keep keep)
{
    const size_t excess = total_width(r) - r->screen;
    for (int i = 0; i < r->columns; i++) {
        const size_t width = r->widths[i];
        if (width >= BELOW || width <= LINE_MIN || !is_picture(r, i) || keep_of(r, i) != keep)
            continue;
        r->widths[i] -= excess < width - LINE_MIN ? excess : width - LINE_MIN;
        return true;
    }
    return false;
}

/* Move one column of this kind below its row; false if none is left in the grid. */
static bool put_one_below(struct render *r, enum keep keep)
{
    for (int i = r->columns - 1; i > 0; i--)
        if (r->widths[i] < BELOW && keep_of(r, i) == keep && !r->numeric[i]) {
            r->widths[i] = BELOW;
            return true;
        }
    return false;
}

/* Whether a column is among what a listing is asked for first: names are shortened before it is left out. That
 * is all up to the sizes, without a state that all rows have. */
static bool is_wanted(const struct render *r, int column)
{
    int sizes = r->columns;
    while (--sizes >= 0 && strcmp(r->names[sizes], "nbytes") != 0)
        ;
    bool same = strcmp(r->names[column], "state") == 0;
    for (size_t row = 1; row < r->rows && same; row++) {
        const struct cell *c = &r->cells[row * (size_t)r->columns + (size_t)column];
        const struct cell *before = c - r->columns;
        same = c->len == before->len && memcmp(cell_at(r, c), cell_at(r, before), c->len) == 0;
    }
    return column <= sizes && !same;
}

/* Leave out a column without values, or else the last that may be, of those that are not wanted where
 * `wanted` is false; false if too few would remain. */
static bool leave_one_out(struct render *r, bool wanted)
{
    int shown = 0, victim = -1;
    bool empty = false;
    for (int i = 0; i < r->columns; i++) {
        if (r->widths[i] >= BELOW)
            continue;
        shown++;
        const bool none = is_column_empty(r, i);
        if (i > 0 && !empty &&
            (none || (keep_of(r, i) == KEEP_NOT && (wanted || !is_wanted(r, i)))))
            victim = i;
        empty = empty || (victim == i && none);
    }
    if (shown <= SHOWN_MIN || victim <= 0)
        return false;
    r->widths[victim] = LEFT_OUT;
    return true;
}

/* The column with the widest text wider than `least`; -1: none. */
static int widest_text(const struct render *r, size_t least)
{
    int widest = -1;
    for (int i = 0; i < r->columns; i++)
        if (r->widths[i] < BELOW && r->widths[i] > least && !r->numeric[i] &&
            (widest < 0 || r->widths[i] > r->widths[widest]))
            widest = i;
    return widest;
}

/* Shorten texts, the widest first, until the grid fits. If it cannot fit, undo that. */
static bool cut_texts(struct render *r, size_t least)
{
    int widest;
    while (total_width(r) > r->screen && (widest = widest_text(r, least)) >= 0)
        r->widths[widest]--;
    if (total_width(r) <= r->screen || least == NARROWEST) {
        r->cut = true;
        return true;
    }
    for (int i = 0; i < r->columns; i++)
        if (r->widths[i] < BELOW)
            r->widths[i] = column_width(r, i);
    return false;
}

/* Make the grid narrower by one step: first steps that lose nothing, then leave out
 * columns, at last cut texts. For example, with a screen of 80, the listing path 60, format
 * 12, tensors 9, nbytes 8 is 102 wide (each column adds 3, the left edge 1): shorten_path()
 * takes 22 from the path, which then has 38. */
static void narrow_once(struct render *r)
{
    if (r->listing ? shorten_path(r) : cut_texts(r, TEXT_MIN))
        return;
    if (r->listing && shorten_odd_names(r))
        return;
    if (r->listing && shorten_pictures(r, KEEP_NOT))
        return;
    if (put_one_below(r, KEEP_TEXT) || leave_one_out(r, !r->listing))
        return;
    if (r->listing && shorten_names(r, NAME_FAIR))
        return;
    if (leave_one_out(r, true))
        return;
    if (r->listing && (shorten_pictures(r, KEEP_NAME) || shorten_names(r, NAME_MIN)))
        return;
    if (!put_one_below(r, KEEP_NAME))
        cut_texts(r, NARROWEST);
}

/* Set the widths for this window; true if they changed. */
static bool measure_columns(struct render *r)
{
    bool wider = r->done == 0;
    for (int i = 0; i < r->columns; i++)
        wider |= column_width(r, i) > r->widths[i];
    for (int i = 0; wider && i < r->columns; i++) {
        r->widths[i] = column_width(r, i);
        r->numeric[i] = false;
        for (size_t row = 0; row < r->rows && !r->numeric[i]; row++)
            r->numeric[i] = r->cells[row * (size_t)r->columns + (size_t)i].right;
    }
    return wider;
}

void grid_window(struct render *r, bool last)
{
    const struct grid_style *style = &styles[r->mode];
    if (r->rows > 0 || r->done == 0) {
        if (measure_columns(r)) {
            if (r->done > 0)
                put_line(r, &style->bottom);
            const bool wide = r->screen && total_width(r) > r->screen && !r->cut;
            if (wide && r->whole && r->may_switch && r->done == 0) { /* facts must not be cut */
                r->mode = MODE_LINE;
                line_window(r);
                return;
            }
            while (!r->whole && r->screen && total_width(r) > r->screen && !r->cut)
                narrow_once(r);
            put_header(r, style);
        }
        find_ending(r);
        put_rows(r, style);
    }
    if (last)
        put_line(r, &style->bottom);
}

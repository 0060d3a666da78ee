/*
 * render_grid.c - the modes with aligned columns: box, table and markdown.
 *
 * Rows come in windows. A later window keeps the widths of the one before if its cells fit;
 * if not, the grid is closed and another begins, with its own header.
 */
#include <stdint.h>
#include <string.h>

#include "shell/render/human.h"
#include "shell/render/render.h"

#define WIDTH_MAX 4096     /* a cell wider than this is not padded for */
#define PATH_MIN  24       /* a path is not shortened to less */
#define SHOWN_MIN 2        /* a listing does not lose more columns */
#define LEFT_OUT  SIZE_MAX /* width of a column that the screen has no room for */

/* What the lines of a grid are drawn with: left, crossing, right, filling. */
struct line_style {
    const char *left, *cross, *right, *fill;
};

static const struct grid_style {
    struct line_style top, middle, bottom; /* left NULL: no such line */
    const char *side;
} styles[] = {
    [MODE_BOX] = {{"┌", "┬", "┐", "─"}, {"├", "┼", "┤", "─"}, {"└", "┴", "┘", "─"}, "│"},
    [MODE_TABLE] = {{"+", "+", "+", "-"},
                    {"+", "+", "+", "-"},
                    {"+", "+", "+", "-"},
                    "|"},
    [MODE_MARKDOWN] = {{0}, {"|", "|", "|", "-"}, {0}, "|"},
};

static void put_line(struct render *r, const struct line_style *style)
{
    const char *corner = style->left;
    if (!corner)
        return;
    for (int i = 0; i < r->columns; i++) {
        if (r->widths[i] == LEFT_OUT)
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

/* One cell between its sides; too wide a text is cut on the left. */
static void put_cell(struct render *r, int column, const char *at, size_t len,
                     size_t width, bool right)
{
    size_t room = r->widths[column], cut = 0;
    bool cuts = width > room && r->screen;
    if (cuts) {
        cut = text_tail(at, len, room - 1);
        width = text_width(at + cut, len - cut) + 1;
    }
    size_t pad = room > width ? room - width : 0;
    fputc(' ', r->out);
    put_spaces(r->out, right ? pad : 0);
    fputs(cuts ? "…" : "", r->out);
    fwrite(at + cut, 1, len - cut, r->out);
    put_spaces(r->out, right ? 0 : pad);
    fputc(' ', r->out);
}

static void put_header(struct render *r, const struct grid_style *style)
{
    put_line(r, &style->top);
    if (!r->headers && style->top.left)
        return;
    for (int i = 0; i < r->columns; i++) {
        if (r->widths[i] == LEFT_OUT)
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

static void put_rows(struct render *r, const struct grid_style *style)
{
    const struct cell *cell = r->cells;
    for (size_t row = 0; row < r->rows; row++) {
        for (int i = 0; i < r->columns; i++, cell++) {
            if (r->widths[i] == LEFT_OUT)
                continue;
            bool dim = cell->null && r->color;
            fprintf(r->out, "%s%s", style->side, dim ? "\033[2m" : "");
            put_cell(r, i, cell_at(r, cell), cell->len, cell->width, cell->right);
            fputs(dim ? "\033[0m" : "", r->out);
        }
        fprintf(r->out, "%s\n", style->side);
    }
}

/* Widest cell of a column of the window, its name included. */
static size_t column_width(const struct render *r, int column)
{
    size_t widest =
        r->headers ? text_width(r->names[column], strlen(r->names[column])) : 0;
    for (size_t row = 0; row < r->rows; row++) {
        size_t width = r->cells[row * (size_t)r->columns + (size_t)column].width;
        widest = width > widest ? width : widest;
    }
    return widest < WIDTH_MAX ? widest : WIDTH_MAX;
}

/* Columns that the grid takes. */
static size_t total_width(const struct render *r)
{
    size_t total = 1;
    for (int i = 0; i < r->columns; i++)
        total += r->widths[i] == LEFT_OUT ? 0 : r->widths[i] + 3;
    return total;
}

/* Give the path of a listing what the other columns leave. */
static bool shorten_path(struct render *r)
{
    size_t excess = total_width(r) - r->screen;
    for (int i = 0; i < r->columns; i++) {
        bool path = strcmp(r->names[i], "path") == 0 || strcmp(r->names[i], "file") == 0;
        if (path && r->widths[i] != LEFT_OUT && r->widths[i] >= excess + PATH_MIN) {
            r->widths[i] -= excess;
            return true;
        }
    }
    return false;
}

static bool is_empty(const struct render *r, int column)
{
    for (size_t row = 0; row < r->rows; row++)
        if (!r->cells[row * (size_t)r->columns + (size_t)column].null)
            return false;
    return true;
}

/* Leave out a column without values, else the last one; false when too few would stay. */
static bool leave_one_out(struct render *r)
{
    int shown = 0, victim = -1;
    bool empty = false;
    for (int i = 0; i < r->columns; i++) {
        if (r->widths[i] == LEFT_OUT)
            continue;
        shown++;
        if (!empty)
            victim = i;
        empty = empty || is_empty(r, i);
    }
    if (shown <= SHOWN_MIN)
        return false;
    r->widths[victim] = LEFT_OUT;
    return true;
}

static bool fits_screen(struct render *r)
{
    while (r->screen && total_width(r) > r->screen)
        if (!r->listing || (!shorten_path(r) && !leave_one_out(r)))
            return false;
    return true;
}

/* True where the widths had to change. */
static bool measure(struct render *r)
{
    bool wider = r->done == 0;
    for (int i = 0; i < r->columns; i++)
        wider |= column_width(r, i) > r->widths[i];
    for (int i = 0; wider && i < r->columns; i++)
        r->widths[i] = column_width(r, i);
    return wider;
}

void grid_window(struct render *r, bool last)
{
    const struct grid_style *style = &styles[r->mode];
    if (r->rows > 0 || r->done == 0) {
        if (measure(r)) {
            if (r->done > 0)
                put_line(r, &style->bottom);
            if (!fits_screen(r) && r->may_switch && r->done == 0) {
                r->mode = MODE_LINE;
                line_window(r);
                return;
            }
            put_header(r, style);
        }
        put_rows(r, style);
    }
    if (last)
        put_line(r, &style->bottom);
}

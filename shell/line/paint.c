#include "shell/line/paint.h"

#include "shell/line/highlight.h"
#include "shell/session/human.h"

static const char *const colors[] = {
    [HIGHLIGHT_NONE] = "\033[0m",      [HIGHLIGHT_KEYWORD] = "\033[0;1;34m",
    [HIGHLIGHT_STRING] = "\033[0;32m", [HIGHLIGHT_NUMBER] = "\033[0;35m",
    [HIGHLIGHT_COMMENT] = "\033[0;2m", [HIGHLIGHT_COMMAND] = "\033[0;1;36m",
};

/* The position of a character on the screen. */
struct place {
    size_t row, column;
};

/* Length in bytes of the character at `at`; 0: it does not take exactly one column. */
static size_t plain_character(const char *at, size_t left)
{
    size_t step =
        (unsigned char)*at < 0x80 ? 1 : (size_t)utf8_length((const unsigned char *)at, left);
    if (step == 0 || (unsigned char)*at < 0x20 || *at == 0x7F || text_width(at, step) != 1)
        return 0;
    return step;
}

/* Move past a character, or to the next row if it is a newline. */
static void move_past(const struct painting *p, struct place *at, bool newline)
{
    if (newline || ++at->column == p->columns) {
        at->row++;
        at->column = 0;
    }
}

/* Compute where the cursor is and where the line ends. False if that is not certain. */
static bool find_places(const struct painting *p, struct place *cursor, struct place *end)
{
    struct place at = {.column = p->prompt};
    for (size_t i = 0, step; i < p->len; i += step) {
        bool newline = p->line[i] == '\n';
        if (i == p->cursor)
            *cursor = at;
        step = newline ? 1 : plain_character(p->line + i, p->len - i);
        if (step == 0)
            return false;
        move_past(p, &at, newline);
    }
    if (p->cursor >= p->len)
        *cursor = at;
    *end = at;
    return at.row < p->rows && p->prompt < p->columns;
}

static void move(struct text *out, size_t count, char direction)
{
    if (count > 0)
        text_addf(out, "\033[%zu%c", count, direction);
}

void paint(const struct painting *p, struct text *out)
{
    struct place cursor = {0}, end = {0}, at = {.column = p->prompt};
    int color = -1;
    if (p->len == 0 || !find_places(p, &cursor, &end))
        return;
    text_adds(out, "\033[?25l\r"); /* hide the cursor while it moves */
    move(out, cursor.row, 'A');
    move(out, p->prompt, 'C');
    for (size_t i = 0, step; i < p->len; i += step) {
        bool newline = p->line[i] == '\n';
        size_t row = at.row;
        step = newline ? 1 : plain_character(p->line + i, p->len - i);
        if (!newline && color != p->what[i])
            text_adds(out, colors[color = p->what[i]]);
        if (!newline)
            text_add(out, p->line + i, step);
        move_past(p, &at, newline);
        if (at.row != row)
            text_adds(out, "\r\033[B");
    }
    text_adds(out, "\033[0m\r");
    move(out, end.row - cursor.row, 'A');
    move(out, cursor.column, 'C');
    text_adds(out, "\033[?25h");
}

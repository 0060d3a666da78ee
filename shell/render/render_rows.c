/*
 * render_rows.c - the modes without column widths: list, csv and tsv; and line.
 */
#include <string.h>

#include "shell/render/render.h"
#include "shell/session/human.h"

/* RFC 4180, with LF; an empty string is "" so that it differs from NULL. */
static void put_csv(FILE *out, const char *at, size_t len, bool null)
{
    bool quote = len == 0 ? !null : at[0] == ' ' || at[len - 1] == ' ';
    for (size_t i = 0; i < len && !quote; i++)
        quote = at[i] == '"' || at[i] == ',' || at[i] == '\n' || at[i] == '\r';
    if (!quote) {
        fwrite(at, 1, len, out);
        return;
    }
    fputc('"', out);
    for (const char *end = at + len, *next; at < end; at = next) {
        const char *mark = memchr(at, '"', (size_t)(end - at));
        next = mark ? mark + 1 : end;
        fwrite(at, 1, (size_t)(next - at), out);
        if (mark)
            fputc('"', out); /* doubled */
    }
    fputc('"', out);
}

static void put_tsv(FILE *out, const char *at, size_t len)
{
    static const char special[] = "\t\n\r\\", letter[] = "tnr\\";
    size_t plain = 0; /* start of what is not written yet */
    for (size_t i = 0; i < len; i++) {
        const char *found = at[i] ? strchr(special, at[i]) : NULL;
        if (!found)
            continue;
        fwrite(at + plain, 1, i - plain, out);
        fputc('\\', out);
        fputc(letter[found - special], out);
        plain = i + 1;
    }
    fwrite(at + plain, 1, len - plain, out);
}

static void put_field(struct render *r, int column, const char *at, size_t len, bool null)
{
    if (column > 0)
        fputc(r->mode == MODE_CSV ? ',' : r->mode == MODE_TSV || r->plain ? '\t' : '|', r->out);
    if (r->mode == MODE_CSV)
        put_csv(r->out, at, len, null);
    else if (r->mode == MODE_TSV)
        put_tsv(r->out, at, len);
    else
        fwrite(at, 1, len, r->out);
}

void row_header(struct render *r)
{
    for (int i = 0; i < r->columns; i++)
        put_field(r, i, r->names[i], strlen(r->names[i]), false);
    fputc('\n', r->out);
}

void row_window(struct render *r)
{
    const struct cell *cell = r->cells;
    for (size_t row = 0; row < r->rows; row++) {
        for (int i = 0; i < r->columns; i++, cell++)
            put_field(r, i, cell_at(r, cell), cell->len, cell->null);
        fputc('\n', r->out);
    }
}

void line_window(struct render *r)
{
    const struct cell *cell = r->cells;
    size_t widest = 0;
    for (int i = 0; i < r->columns; i++) {
        size_t width = text_width(r->names[i], strlen(r->names[i]));
        widest = width > widest ? width : widest;
    }
    for (size_t row = 0; row < r->rows; row++) {
        if (r->done + row > 0)
            fputc('\n', r->out);
        for (int i = 0; i < r->columns; i++, cell++) {
            if (r->whole && cell->null)
                continue;
            size_t width = text_width(r->names[i], strlen(r->names[i]));
            fprintf(r->out, "%*s%s = ", (int)(widest - width), "", r->names[i]);
            fwrite(cell_at(r, cell), 1, cell->len, r->out);
            fputc('\n', r->out);
        }
    }
}

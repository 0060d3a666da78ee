/*
 * render.h - rows on their way to the output: what render.c and the modes share.
 *
 * A row becomes cells, text that is fit for its mode; a window of cells is printed at a
 * time. Modes that align columns see some thousand rows in a window, the others one.
 * JSON is written from the row itself.
 */
#pragma once

#include <stdint.h>

#include "catalog/base/text.h"
#include "shell/session/session.h"

struct cell {
    size_t at, len; /* in render.text */
    size_t width;   /* columns on a terminal; only where columns are aligned */
    bool right;     /* a number */
    bool null;
};

struct render {
    FILE *out;
    sqlite3_stmt *stmt;
    enum output_mode mode; /* never MODE_AUTO */
    bool plain;            /* MODE_LIST as rows for machines: tabs */
    bool terminal, color, headers;
    bool listing;           /* a command's own rows: human numbers, shortened paths */
    bool whole;             /* a listing that loses no columns */
    bool may_switch;        /* the mode was not asked for: facts become MODE_LINE, if too wide */
    bool cut;               /* texts are shorter than they are, as the screen is narrow */
    const int *width_given; /* .width, one a column; 0: what fits */
    const char *null_text;  /* .nullvalue; NULL: as the mode has it */
    unsigned screen;        /* columns of the terminal; 0: does not matter */
    int columns;
    char **names;   /* as printed */
    size_t *widths; /* of columns, in the window before; 0 at first */
    int ending_of; /* the column of names, if `ending` bytes at their ends are the same and are cut first */
    size_t ending;
    bool *numeric;    /* columns with a number in the window: these are whole or left out */
    struct text text; /* bytes of the cells */
    struct cell *cells;
    size_t rows, space;      /* in the window; cells has room for space * columns */
    unsigned long long done; /* rows of earlier windows */
};

/* Widths of columns that the screen has no room for: one is not shown, one is below its row. */
#define LEFT_OUT SIZE_MAX
#define BELOW    (SIZE_MAX - 1)

/* Append the value of a column as its mode shows it. */
void cell_text(struct render *, int column, struct text *out, struct cell *cell);

/* Print the window's rows; `last`: nothing follows. */
void grid_window(struct render *, bool last); /* box, table, markdown */
void line_window(struct render *);
void row_window(struct render *); /* list, csv, tsv: one row or more */
void row_header(struct render *);

/* The row that the statement is on, as a JSON object. */
void json_row(struct render *, struct text *out);

/* A real with as few digits as give it back; "null" or "Inf" for infinities. */
void text_add_real(struct text *out, double value, bool json);

/* A cell's text. */
static inline const char *cell_at(const struct render *r, const struct cell *c)
{
    return r->text.at ? r->text.at + c->at : "";
}

/* The columns of the screen. */
unsigned render_columns(void);

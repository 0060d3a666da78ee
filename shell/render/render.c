#include "shell/render/render.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "catalog/base/json.h"
#include "shell/render/query.h"
#include "shell/session/fold.h"
#include "shell/session/human.h"
#include "shell/session/pager.h"

#define WINDOW_ROWS  4000
#define WINDOW_BYTES (1 << 20)

/* --- values ------------------------------------------------------------------------------- */

static void add_number(struct text *out, sqlite3_int64 value)
{
    char digits[24], *at = digits + sizeof(digits);
    uint64_t rest = value < 0 ? -(uint64_t)value : (uint64_t)value;
    do {
        *--at = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest);
    if (value < 0)
        *--at = '-';
    text_add(out, at, (size_t)(digits + sizeof(digits) - at));
}

void text_add_real(struct text *out, double value, bool json)
{
    if (fabs(value) < 1e15 && value == floor(value) && !signbit(value)) {
        add_number(out, (sqlite3_int64)value);
        text_add(out, ".0", 2);
        return;
    }
    if (!isfinite(value)) {
        text_adds(out, json ? "null" : value < 0 ? "-Inf" : "Inf");
        return;
    }
    char digits[32];
    for (int precision = 15; precision <= 17; precision++) {
        snprintf(digits, sizeof(digits), "%.*g", precision, value);
        if (strtod(digits, NULL) == value)
            break;
    }
    text_adds(out, digits);
    if (!strpbrk(digits, ".e"))
        text_adds(out, ".0");
}

static void add_hex(struct text *out, const unsigned char *at, int len)
{
    static const char digits[] = "0123456789abcdef";
    for (int i = 0; i < len; i++) {
        const char two[] = {digits[at[i] >> 4], digits[at[i] & 15]};
        text_add(out, two, 2);
    }
}

/* Add text with control characters made visible. If `lines`, newlines and tabs are kept. */
static void add_visible(struct text *out, const char *at, size_t len, bool lines)
{
    for (size_t i = 0; i < len;) {
        size_t run = i;
        while (run < len && ((unsigned char)at[run] >= 0x20 && (unsigned char)at[run] < 0x7F))
            run++;
        text_add(out, at + i, run - i);
        if (run == len)
            return;
        int step = utf8_length((const unsigned char *)at + run, len - run);
        if (at[run] == '\n' || at[run] == '\t')
            text_adds(out, lines ? (char[]){at[run], 0} : at[run] == '\n' ? "\\n" : "\\t");
        else
            text_escape(out, at + run, step ? (size_t)step : 1);
        i = run + (step ? (size_t)step : 1);
    }
}

static bool aligned(enum output_mode mode)
{
    return mode == MODE_BOX || mode == MODE_TABLE || mode == MODE_MARKDOWN;
}

static void add_markdown(struct text *out, const char *at, size_t len)
{
    for (size_t i = 0; i < len;) {
        size_t run = i;
        while (run < len && at[run] != '|')
            run++;
        add_visible(out, at + i, run - i, false);
        if (run < len)
            text_adds(out, "\\|");
        i = run + 1;
    }
}

static void add_string(struct render *r, struct text *out, const char *at, size_t len)
{
    if (r->mode == MODE_MARKDOWN)
        add_markdown(out, at, len);
    else if (aligned(r->mode) || (r->terminal && r->mode == MODE_LINE))
        add_visible(out, at, len, false);
    else if (r->terminal)
        add_visible(out, at, len, true);
    else
        text_add(out, at, len);
}

enum meaning { MEANS_NUMBER, MEANS_BYTES, MEANS_COUNT };

static enum meaning meaning_of(const char *column)
{
    static const struct {
        const char *column;
        enum meaning meaning;
    } known[] = {
        {"nbytes", MEANS_BYTES}, {"stored", MEANS_BYTES},     {"size", MEANS_BYTES},
        {"wasted", MEANS_BYTES}, {"parameters", MEANS_COUNT}, {"elements", MEANS_COUNT},
    };
    for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
        if (strcmp(known[i].column, column) == 0)
            return known[i].meaning;
    return MEANS_NUMBER;
}

static void add_integer(struct render *r, struct text *out, int column, sqlite3_int64 value)
{
    char human[HUMAN_MAX];
    enum meaning meaning = MEANS_NUMBER;
    if (r->listing && r->terminal && value >= 0 && (r->mode == MODE_BOX || r->mode == MODE_TABLE))
        meaning = meaning_of(r->names[column]);
    if (meaning == MEANS_BYTES)
        text_adds(out, human_bytes((uint64_t)value, human));
    else if (meaning == MEANS_COUNT)
        text_adds(out, human_count((uint64_t)value, human));
    else
        add_number(out, value);
}

void cell_text(struct render *r, int column, struct text *out, struct cell *cell)
{
    sqlite3_stmt *stmt = r->stmt;
    int type = sqlite3_column_type(stmt, column);
    bool people = aligned(r->mode) || r->mode == MODE_LINE;
    size_t at = out->len;
    if (type == SQLITE_NULL && r->null_text) {
        text_adds(out, r->null_text);
    } else if (type == SQLITE_NULL) {
        text_adds(out, people && !(r->listing && r->terminal) ? "NULL" : "");
    } else if (type == SQLITE_INTEGER) {
        add_integer(r, out, column, sqlite3_column_int64(stmt, column));
    } else if (type == SQLITE_FLOAT && r->listing && r->terminal && aligned(r->mode)) {
        text_addf(out, "%.4g", sqlite3_column_double(stmt, column));
    } else if (type == SQLITE_FLOAT) {
        text_add_real(out, sqlite3_column_double(stmt, column), false);
    } else if (type == SQLITE_BLOB) {
        const void *blob = sqlite3_column_blob(stmt, column);
        text_adds(out, people ? "x'" : "");
        add_hex(out, blob, sqlite3_column_bytes(stmt, column));
        text_adds(out, people ? "'" : "");
    } else {
        const char *text = (const char *)sqlite3_column_text(stmt, column);
        add_string(r, out, text ? text : "", (size_t)sqlite3_column_bytes(stmt, column));
    }
    *cell = (struct cell){.at = at, .len = out->len - at, .null = type == SQLITE_NULL};
    cell->right = type == SQLITE_INTEGER || type == SQLITE_FLOAT;
}

static void json_value(sqlite3_stmt *stmt, int column, struct text *out)
{
    int type = sqlite3_column_type(stmt, column);
    if (type == SQLITE_NULL) {
        text_adds(out, "null");
    } else if (type == SQLITE_INTEGER) {
        add_number(out, sqlite3_column_int64(stmt, column));
    } else if (type == SQLITE_FLOAT) {
        text_add_real(out, sqlite3_column_double(stmt, column), true);
    } else if (type == SQLITE_BLOB) {
        const void *blob = sqlite3_column_blob(stmt, column);
        text_addc(out, '"');
        add_hex(out, blob, sqlite3_column_bytes(stmt, column));
        text_addc(out, '"');
    } else {
        const char *text = (const char *)sqlite3_column_text(stmt, column);
        text_json(out, text ? text : "", (size_t)sqlite3_column_bytes(stmt, column));
    }
}

/* Columns in which commands list JSON texts, because SQL has no lists: shapes, operations,
 * names. Commands print them as JSON; SQL statements of the user print them as text. */
static bool is_json_column(const char *name)
{
    static const char *const names[] = {"shape",   "shape_a", "shape_b", "ops",
                                        "compute", "names",   "tensors", "tensor_ids",
                                        "extents", "strides", "issues",  "histogram"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

static bool is_json_list(const char *text, size_t len)
{
    struct error err = {.offset = NO_OFFSET};
    struct arena arena = {0};
    struct json j;
    if (!text || !len || (*text != '[' && *text != '{'))
        return false;
    json_init(&j, cursor_over((struct bytes){(const uint8_t *)text, len}, 0), &arena, NULL, &err);
    while (json_next(&j) != JSON_END && j.type != JSON_FAIL)
        continue;
    arena_release(&arena);
    return j.type == JSON_END;
}

static void json_column(struct render *r, int column, struct text *out)
{
    const bool text = sqlite3_column_type(r->stmt, column) == SQLITE_TEXT;
    const char *value = text ? (const char *)sqlite3_column_text(r->stmt, column) : NULL;
    const size_t len = text ? (size_t)sqlite3_column_bytes(r->stmt, column) : 0;
    if (r->listing && is_json_column(r->names[column]) && is_json_list(value, len))
        for (size_t i = 0; i < len; i++) /* its line breaks would break the row */
            text_add(out, value[i] == '\r' || value[i] == '\n' ? " " : &value[i], 1);
    else
        json_value(r->stmt, column, out);
}

void json_row(struct render *r, struct text *out)
{
    text_addc(out, '{');
    for (int i = 0; i < r->columns; i++) {
        if (i > 0)
            text_addc(out, ',');
        text_json(out, r->names[i], strlen(r->names[i]));
        text_addc(out, ':');
        json_column(r, i, out);
    }
    text_addc(out, '}');
}

/* --- one statement ------------------------------------------------------------------------ */

unsigned render_columns(void)
{
    const size_t screen = fold_columns(stdout);
    if (screen)
        return (unsigned)screen;
    const char *columns = environment("COLUMNS");
    unsigned long n = columns ? strtoul(columns, NULL, 10) : 0;
    return n > 0 && n < 10000 ? (unsigned)n : 80;
}

static void choose_mode(struct session *s, struct render *r)
{
    r->mode = s->mode;
    r->plain = s->mode == MODE_AUTO && !s->out_is_terminal;
    r->may_switch = s->mode == MODE_AUTO && s->out_is_terminal;
    if (s->mode == MODE_AUTO)
        r->mode = s->out_is_terminal ? MODE_BOX : MODE_LIST;
    r->headers = s->headers == HEADERS_ON || (s->headers == HEADERS_AUTO && r->mode != MODE_LIST);
    r->terminal = s->out_is_terminal;
    r->color = s->color && s->out_is_terminal;
    r->width_given = s->width;
    r->null_text = s->null_text;
    if (r->may_switch)
        r->screen = render_columns();
}

static bool render_init(struct render *r, struct session *s, sqlite3_stmt *stmt)
{
    *r = (struct render){.out = s->out, .stmt = stmt};
    choose_mode(s, r);
    r->columns = sqlite3_column_count(stmt);
    size_t n = (size_t)r->columns + 1;
    r->names = calloc(n, sizeof(*r->names));
    r->widths = calloc(n, sizeof(*r->widths));
    r->numeric = calloc(n, sizeof(*r->numeric));
    if (!r->names || !r->widths || !r->numeric)
        return false;
    for (int i = 0; i < r->columns; i++) {
        const char *name = sqlite3_column_name(stmt, i);
        struct text shown = {0};
        if (!name)
            return false;
        if (r->mode == MODE_JSON || r->mode == MODE_JSONL)
            text_adds(&shown, name);
        else
            add_string(r, &shown, name, strlen(name));
        if (!(r->names[i] = text_steal(&shown)))
            return false;
    }
    return true;
}

static void print_window(struct render *r, bool last)
{
    if (aligned(r->mode))
        grid_window(r, last);
    else if (r->mode == MODE_LINE)
        line_window(r);
    else
        row_window(r);
    r->done += r->rows;
    r->rows = 0;
    text_reset(&r->text);
}

/* Turn the statement's current row into cells. False without memory. */
static bool render_take_row(struct render *r)
{
    size_t columns = (size_t)r->columns;
    if (r->rows == r->space) {
        size_t space = r->space ? r->space * 2 : aligned(r->mode) ? 64 : 1;
        struct cell *cells = realloc(r->cells, space * columns * sizeof(*cells));
        if (!cells)
            return false;
        r->cells = cells;
        r->space = space;
    }
    struct cell *row = r->cells + r->rows * columns;
    for (int i = 0; i < r->columns; i++) {
        cell_text(r, i, &r->text, &row[i]);
        if (aligned(r->mode) && !r->text.failed)
            row[i].width = text_width(cell_at(r, &row[i]), row[i].len);
    }
    r->rows++;
    return !r->text.failed;
}

/* JSON escapes only ASCII's control characters. On a terminal the others (U+0080 to U+009F
 * and the like) are written as \uXXXX, too, because terminals obey them. */
static void put_json(struct render *r, const char *json, size_t len)
{
    struct text visible = {0};
    for (size_t i = 0, step; i < len && r->terminal; i += step) {
        const unsigned char *at = (const unsigned char *)json + i;
        size_t before = visible.len;
        step = (size_t)utf8_length(at, len - i);
        if (step < 2) {
            text_addc(&visible, json[i]);
            step = 1;
            continue;
        }
        text_escape(&visible, json + i, step);
        if (visible.len == before + step)
            continue;
        visible.len = before;
        if (step == 2)
            text_addf(&visible, "\\u%04x", (at[0] & 0x1Fu) << 6 | (at[1] & 0x3Fu));
        else
            text_addf(&visible, "\\u%04x",
                      (at[0] & 0x0Fu) << 12 | (at[1] & 0x3Fu) << 6 | (at[2] & 0x3Fu));
    }
    if (r->terminal && text_str(&visible))
        fwrite(text_str(&visible), 1, visible.len, r->out);
    else
        fwrite(json, 1, len, r->out);
    text_release(&visible);
}

static bool render_row(struct render *r)
{
    if (r->mode == MODE_JSON || r->mode == MODE_JSONL) {
        if (r->mode == MODE_JSON)
            text_adds(&r->text, r->done ? ",\n" : "[");
        json_row(r, &r->text);
        if (r->mode == MODE_JSONL)
            text_addc(&r->text, '\n');
        const char *json = text_str(&r->text);
        if (json)
            put_json(r, json, r->text.len);
        text_reset(&r->text);
        r->done++;
        return json != NULL;
    }
    if (!render_take_row(r))
        return false;
    if (!aligned(r->mode) || r->rows >= WINDOW_ROWS || r->text.len >= WINDOW_BYTES)
        print_window(r, false);
    return true;
}

/* Step to the end. Returns SQLITE_DONE, an error of SQLite, or SQLITE_NOMEM or
 * SQLITE_IOERR_WRITE if our own memory or output failed. */
static int render_steps(struct render *r)
{
    const bool rows = r->mode == MODE_LIST || r->mode == MODE_CSV || r->mode == MODE_TSV;
    int rc;
    if (r->columns > 0 && r->headers && rows)
        row_header(r);
    while ((rc = sqlite3_step(r->stmt)) == SQLITE_ROW) {
        if (session_interrupted)
            return SQLITE_INTERRUPT;
        if (!render_row(r))
            return SQLITE_NOMEM;
        if (ferror(r->out))
            return SQLITE_IOERR_WRITE;
    }
    if ((rc != SQLITE_DONE && r->done + r->rows == 0) || r->columns == 0)
        return rc;
    if (r->mode == MODE_JSON)
        fputs(r->done ? "]\n" : "[]\n", r->out);
    else if (aligned(r->mode))
        print_window(r, true);
    return rc;
}

/* Say that the grid does not show everything. */
static void say_left_out(const struct session *s, const struct render *r)
{
    struct text what = {0};
    int count = 0;
    for (int i = 0; aligned(r->mode) && i < r->columns; i++)
        if (r->widths[i] == LEFT_OUT)
            text_addf(&what, "%s%s", count++ ? ", " : "", r->names[i]);
    if (count > 0)
        text_addf(&what, " %s left out", count == 1 ? "is" : "are");
    if (r->cut)
        text_addf(&what, "%stexts are cut", count > 0 ? ", and " : "");
    if (what.len && text_str(&what))
        complain("%s, as the screen is narrow: %s shows all", text_str(&what),
                 s->interactive ? ".mode line" : "--line");
    text_release(&what);
}

enum kind { KIND_ANY, KIND_LISTING, KIND_FACTS };

static int render(struct session *s, sqlite3_stmt *stmt, enum kind kind)
{
    struct render r;
    int rc = SQLITE_NOMEM, status = STATUS_NO;
    pager_begin(s);
    if (render_init(&r, s, stmt)) {
        r.listing = kind != KIND_ANY;
        r.whole = kind == KIND_FACTS;
        rc = render_steps(&r);
        s->rows = r.done + r.rows;
        if (rc == SQLITE_DONE)
            say_left_out(s, &r);
    }
    if (rc == SQLITE_DONE || (rc == SQLITE_IOERR_WRITE && pager_left(s))) {
        status = STATUS_FINE;
    } else if (session_interrupted) {
        status = STATUS_INTERRUPTED;
    } else if (rc != SQLITE_IOERR_WRITE) {
        s->failed = true;
        complain("%s", rc == SQLITE_NOMEM ? "no memory for the result" : ckptdb_why(s->open));
    }
    sqlite3_finalize(stmt);
    for (int i = 0; r.names && i < r.columns; i++)
        free(r.names[i]);
    free(r.names);
    free(r.widths);
    free(r.numeric);
    free(r.cells);
    text_release(&r.text);
    status = session_flush(s) ? status : STATUS_TROUBLE;
    pager_end(s);
    return status;
}

int render_statement(struct session *s, sqlite3_stmt *stmt)
{
    return render(s, stmt, KIND_ANY);
}

int render_listing(struct session *s, sqlite3_stmt *stmt)
{
    return render(s, stmt, KIND_LISTING);
}

int render_json(struct session *s, const char *sql, const char *json)
{
    sqlite3 *memory = NULL;
    sqlite3_stmt *stmt = NULL;
    int status = STATUS_NO;
    if (json && sqlite3_open(":memory:", &memory) == SQLITE_OK &&
        sqlite3_prepare_v2(memory, sql, -1, &stmt, NULL) == SQLITE_OK &&
        sqlite3_bind_text(stmt, 1, json, -1, SQLITE_STATIC) == SQLITE_OK)
        status = render_listing(s, stmt);
    else
        complain("no memory for the result");
    sqlite3_close(memory);
    return status;
}

int render_query(struct session *s, const char *sql, const char *types, ...)
{
    va_list args;
    va_start(args, types);
    sqlite3_stmt *stmt = session_vprepare(s, sql, types, args);
    va_end(args);
    return stmt ? render_listing(s, stmt) : STATUS_NO;
}

int render_facts(struct session *s, const char *sql, const char *types, ...)
{
    va_list args;
    va_start(args, types);
    sqlite3_stmt *stmt = session_vprepare(s, sql, types, args);
    va_end(args);
    return stmt ? render(s, stmt, KIND_FACTS) : STATUS_NO;
}

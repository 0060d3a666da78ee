/*
 * test_highlight.c - which colours the shell's line gets, and that adding them changes neither
 * its characters nor the cursor's place: an emulated screen is compared with the line drawn plainly.
 */
#include "shell/line/highlight.h"
#include "shell/line/paint.h"
#include "tests/unit/unit.h"

/* --- what is what ------------------------------------------------------------------------- */

/* A letter a byte: k keyword, s string, n number, c comment, d dot-command, '.' nothing. */
static const struct {
    char inside;
    bool continued;
    const char *line, *want;
} lines[] = {
    {0, false, "select 1, 'a''b' from t", "kkkkkk.n..ssssss.kkkk.."},
    {0, false, "selected from1 t2", "................."},
    {0, false, "x>=1.5e-3+2", "...nnnnnn.n"},
    {0, false, "\"a b\"[c d]`e`", "sssssssssssss"},
    {0, false, "a--b\nc/*d*/e/*f", ".cccc.ccccc.ccc"},
    {0, false, "'never closed", "sssssssssssss"},
    {'\'', true, "b' AS x", "ss.kk.."},
    {'*', true, "b */ from", "cccc.kkkk"},
    {'-', true, "x", "c"},
    {0, false, ".map run 'a b' from 3", "dddd.....sssss......n"},
    {0, false, " .ls -- x", ".ddd....."},
    {0, false, ".nosuch", "......."},
    {0, true, ".map", "...."},
    {0, false, "\xC3\xA4 select", "...kkkkkk"},
    {0, false, "'", "s"},
    {0, false, "-", "."},
    {0, false, ".", "."},
    {0, false, "/*", "cc"},
    {0, false, "", ""},
};

TEST(test_lines)
{
    static const char letters[] = ".ksncd";
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        size_t len = strlen(lines[i].line);
        /* As long as it is and no longer: a byte too far is seen by the sanitizer. */
        char *line = malloc(len + (len == 0));
        unsigned char *what = malloc(len + (len == 0));
        char got[64] = "";
        assert_non_null(line);
        assert_non_null(what);
        memcpy(line, lines[i].line, len);
        highlight(line, len, lines[i].inside, lines[i].continued, what);
        for (size_t k = 0; k < len; k++)
            got[k] = letters[what[k]];
        assert_string_equal(got, lines[i].want);
        free(what);
        free(line);
    }
}

/* --- where it goes ------------------------------------------------------------------------ */

#define ROWS    12
#define COLUMNS 17
#define PROMPT  8

struct screen {
    char at[ROWS][COLUMNS];
    size_t row, column;
    bool full; /* the last column was written: the next character begins a row */
};

/* What libedit draws, without colours. */
static void draw(struct screen *s, const char *line, size_t cursor)
{
    memset(s, 0, sizeof(*s));
    memset(s->at, ' ', sizeof(s->at));
    size_t row = 0, column = PROMPT;
    for (size_t i = 0;; i++) {
        if (i == cursor) {
            s->row = row;
            s->column = column;
        }
        if (!line[i])
            return;
        if (line[i] != '\n')
            s->at[row][column++] = line[i];
        if (line[i] == '\n' || column == COLUMNS) {
            row++;
            column = 0;
        }
    }
}

/* Act as a terminal on the output of paint(); anything else is an error. */
static void write_to(struct screen *s, const char *at)
{
    while (*at) {
        unsigned long count = 1;
        char *end;
        if (*at == '\r') {
            s->column = 0;
            s->full = false;
            at++;
            continue;
        }
        if (*at != '\033') {
            assert_false(s->full); /* nothing is left to the terminal's own wrapping */
            assert_true(s->row < ROWS);
            s->at[s->row][s->column] = *at++;
            s->full = s->column == COLUMNS - 1;
            s->column += !s->full;
            continue;
        }
        assert_int_equal(at[1], '[');
        at += 2 + (at[2] == '?');
        if (*at >= '0' && *at <= '9') {
            count = strtoul(at, &end, 10);
            at = end;
        }
        while (*at == ';' || (*at >= '0' && *at <= '9'))
            at++;
        switch (*at++) {
        case 'A':
            assert_true(count <= s->row);
            s->row -= count;
            break;
        case 'B':
            s->row += count;
            assert_true(s->row < ROWS);
            break;
        case 'C':
            s->column += count;
            assert_true(s->column < COLUMNS);
            break;
        case 'm':
        case 'h':
        case 'l': break;
        default: fail();
        }
    }
}

static void paint_over(const char *line, size_t cursor)
{
    unsigned char what[256];
    struct screen plain, painted;
    struct text out = {0};
    size_t len = strlen(line);
    highlight(line, len, 0, false, what);
    const struct painting p = {.line = line,
                               .len = len,
                               .cursor = cursor,
                               .prompt = PROMPT,
                               .rows = ROWS,
                               .columns = COLUMNS,
                               .what = what};
    paint(&p, &out);
    draw(&plain, line, cursor);
    painted = plain;
    if (out.len)
        write_to(&painted, text_str(&out));
    painted.full = false;
    assert_memory_equal(painted.at, plain.at, sizeof(plain.at));
    assert_int_equal(painted.row, plain.row);
    assert_int_equal(painted.column, plain.column);
    assert_int_equal(out.len > 0, len > 0);
    text_release(&out);
}

/* A random number below `limit`, the same ones every time. */
static size_t below(size_t limit)
{
    static uint32_t seed = 7;
    seed = seed * 1664525 + 1013904223;
    return (seed >> 8) % limit;
}

TEST(test_places)
{
    static const char *const words[] = {"select ", "'a b'", "x", "\n", "123", "-- c", "wwwwwwwww"};
    char line[128];
    for (int round = 0; round < 20000; round++) {
        size_t len = 0;
        size_t count = below(12);
        line[0] = '\0';
        for (size_t i = 0; i < count; i++) {
            const char *word = words[below(7)];
            memcpy(line + len, word, strlen(word) + 1);
            len += strlen(word);
        }
        size_t rows = 1;
        for (size_t i = 0; i < len; i++)
            rows += line[i] == '\n';
        if (rows + (len + PROMPT) / COLUMNS < ROWS)
            paint_over(line, below(len + 1));
    }
}

/* If it is not certain what is where on the screen, nothing is painted. */
TEST(test_uncertain)
{
    static const char *const odd[] = {"select '\xE6\x97\xA5'", "a\tb", "a\x1b[31m", "e\xCC\x81",
                                      "\xff"};
    unsigned char what[64];
    for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
        struct text out = {0};
        highlight(odd[i], strlen(odd[i]), 0, false, what);
        struct painting p = {.line = odd[i],
                             .len = strlen(odd[i]),
                             .prompt = PROMPT,
                             .rows = ROWS,
                             .columns = COLUMNS,
                             .what = what};
        paint(&p, &out);
        assert_int_equal(out.len, 0);
        p = (struct painting){.line = "a\nb\nc",
                              .len = 5,
                              .prompt = PROMPT,
                              .rows = 2,
                              .columns = COLUMNS,
                              .what = what};
        paint(&p, &out);
        assert_int_equal(out.len, 0);
        text_release(&out);
    }
}

RUN_TESTS(NULL, NULL)

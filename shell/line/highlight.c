#include "shell/line/highlight.h"

#include <string.h>

#include "catalog/db/sqlite.h"
#include "shell/command/command.h"

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '_' ||
           (unsigned char)c >= 0x80;
}

/* What begins at `at`, as in splitter.inside: a quote, ']', '-' or '*'; 0: nothing of the kind. */
static char opens(const char *at, size_t left)
{
    if (*at == '\'' || *at == '"' || *at == '`')
        return *at;
    if (*at == '[')
        return ']';
    bool comment =
        left > 1 && ((at[0] == '-' && at[1] == '-') || (at[0] == '/' && at[1] == '*'));
    return (char)(comment ? at[1] : 0);
}

/* Bytes up to the end of what one is `inside` of, with its closing; *closed: it is in there. */
static size_t inside_length(const char *at, size_t len, char inside, bool *closed)
{
    const char *end = NULL;
    size_t closing = inside == '*' ? 2 : 1;
    if (inside == '*') {
        for (size_t i = 0; i + 1 < len && !end; i++)
            if (at[i] == '*' && at[i + 1] == '/')
                end = at + i;
    } else {
        end = memchr(at, inside == '-' ? '\n' : inside, len);
    }
    *closed = end != NULL;
    return end ? (size_t)(end - at) + closing : len;
}

static enum highlight of_inside(char inside)
{
    return inside == '-' || inside == '*' ? HIGHLIGHT_COMMENT : HIGHLIGHT_STRING;
}

/* A word or a number at `at`. */
static size_t word_length(const char *at, size_t len)
{
    size_t n = 1;
    bool number = is_digit(*at);
    while (n < len && (is_name(at[n]) || (number && at[n] == '.') ||
                       (number && (at[n] == '+' || at[n] == '-') &&
                        (at[n - 1] == 'e' || at[n - 1] == 'E'))))
        n++;
    return n;
}

/* The name of a dot-command; *len: its bytes, with the dot. */
static enum highlight of_command(const char *line, size_t left, size_t *len)
{
    char name[32] = "";
    *len = 1;
    while (*len < left && is_name(line[*len]))
        ++*len;
    if (*len > 1 && *len - 1 < sizeof(name))
        memcpy(name, line + 1, *len - 1);
    return command_find(name) || strcmp(name, "exit") == 0 ? HIGHLIGHT_COMMAND
                                                           : HIGHLIGHT_NONE;
}

/* What begins at `at`, a word of SQL or of a dot-command, and how long it is. */
static enum highlight of_word(const char *at, size_t left, bool sql, size_t *len)
{
    *len = is_name(*at) ? word_length(at, left) : 1;
    if (is_digit(*at))
        return HIGHLIGHT_NUMBER;
    bool keyword = sql && sqlite3_keyword_check(at, (int)*len);
    return keyword ? HIGHLIGHT_KEYWORD : HIGHLIGHT_NONE;
}

void highlight(const char *line, size_t len, char inside, bool continued,
               unsigned char *out)
{
    size_t at = 0, step;
    while (at < len && line[at] == ' ')
        out[at++] = HIGHLIGHT_NONE;
    bool sql = continued || at == len || line[at] != '.';
    if (inside || sql)
        at = 0;
    for (; at < len; at += step) {
        enum highlight what;
        bool closed = false;
        char quote = inside ? 0 : opens(line + at, len - at);
        if (!sql && (quote == '-' || quote == '*' || quote == ']'))
            quote = 0; /* a dot-command has no comments */
        if (inside || quote) {
            size_t opening = inside ? 0 : quote == '-' || quote == '*' ? 2 : 1;
            inside = inside ? inside : quote;
            what = of_inside(inside);
            step = opening + inside_length(line + at + opening, len - at - opening,
                                           inside, &closed);
            if (closed)
                inside = 0;
        } else if (!sql && line[at] == '.' && (at == 0 || line[at - 1] == ' ')) {
            what = of_command(line + at, len - at, &step);
        } else {
            what = of_word(line + at, len - at, sql, &step);
        }
        memset(out + at, what, step);
    }
}

#include "shell/line/highlight.h"

#include <string.h>

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

/* The value of splitter.inside for what opens at `at`: a quote,
 * ']', '-' or '*'; 0: nothing opens. */
static char opens(const char *at, size_t left)
{
    if (*at == '\'' || *at == '"' || *at == '`')
        return *at;
    if (*at == '[')
        return ']';
    bool comment = left > 1 && ((at[0] == '-' && at[1] == '-') || (at[0] == '/' && at[1] == '*'));
    return (char)(comment ? at[1] : 0);
}

/* Length of the rest of a quote or comment, including its end; *closed: the end is there. */
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

/* Length of the word or number at `at`. */
static size_t word_length(const char *at, size_t len)
{
    size_t n = 1;
    bool number = is_digit(*at);
    while (n < len &&
           (is_name(at[n]) || (number && at[n] == '.') ||
            (number && (at[n] == '+' || at[n] == '-') && (at[n - 1] == 'e' || at[n - 1] == 'E'))))
        n++;
    return n;
}

/* Check the name of a dot-command; *len is its length with the dot. */
static enum highlight of_command(const char *line, size_t left, size_t *len)
{
    char name[32] = "";
    *len = 1;
    while (*len < left && is_name(line[*len]))
        ++*len;
    if (*len > 1 && *len - 1 < sizeof(name))
        memcpy(name, line + 1, *len - 1);
    return command_find(name) || strcmp(name, "exit") == 0 ? HIGHLIGHT_COMMAND : HIGHLIGHT_NONE;
}

/* The line being highlighted, and the position reached. */
struct scan {
    const char *line;
    size_t len, at;
    char inside; /* as in splitter.inside */
    bool sql;    /* false: a dot-command, which has no comments and no [names] */
};

/* The kind and length of the part at s->at; updates s->inside for what follows it. */
static enum highlight next_part(struct scan *s, size_t *step)
{
    const char *at = s->line + s->at;
    size_t left = s->len - s->at, opening = 0;
    bool closed;
    if (!s->inside) {
        s->inside = opens(at, left);
        if (!s->sql && strchr("-*]", s->inside))
            s->inside = 0;
        opening = s->inside == '-' || s->inside == '*' ? 2 : 1;
    }
    if (s->inside) {
        const bool comment = s->inside == '-' || s->inside == '*';
        *step = opening + inside_length(at + opening, left - opening, s->inside, &closed);
        if (closed)
            s->inside = 0;
        return comment ? HIGHLIGHT_COMMENT : HIGHLIGHT_STRING;
    }
    if (!s->sql && *at == '.' && (s->at == 0 || at[-1] == ' '))
        return of_command(at, left, step);
    *step = is_name(*at) ? word_length(at, left) : 1;
    if (is_digit(*at))
        return HIGHLIGHT_NUMBER;
    const bool keyword = s->sql && sqlite3_keyword_check(at, (int)*step);
    return keyword ? HIGHLIGHT_KEYWORD : HIGHLIGHT_NONE;
}

void highlight(const char *line, size_t len, char inside, bool continued, unsigned char *out)
{
    struct scan s = {.line = line, .len = len, .inside = inside};
    size_t blanks = 0, step;
    while (blanks < len && line[blanks] == ' ')
        blanks++;
    s.sql = continued || inside || blanks == len ||
            (line[blanks] != '.' && !command_begins(line + blanks, len - blanks));
    for (; s.at < len; s.at += step) {
        enum highlight what = next_part(&s, &step);
        memset(out + s.at, (int)what, step);
    }
}

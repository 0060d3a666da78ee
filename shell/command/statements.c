#include "shell/command/statements.h"

#include <sqlite3.h>
#include <string.h>
#include <strings.h>

static bool is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* If a comment or quote opens at `at`: the value of `inside` for it, and the length of its
 * opening in *step. Otherwise 0. */
static char opens(const char *at, size_t left, size_t *step)
{
    *step = 1;
    if (at[0] == '\'' || at[0] == '"' || at[0] == '`')
        return at[0];
    if (at[0] == '[')
        return ']';
    if (left > 1 && ((at[0] == '-' && at[1] == '-') || (at[0] == '/' && at[1] == '*'))) {
        *step = 2;
        return at[1];
    }
    return 0;
}

/* Advance inside a quote or comment by the number of bytes returned;
 * `inside` becomes 0 at its end. */
static size_t skip_inside(struct splitter *p, const char *at, size_t left)
{
    if (p->inside == '*' && left > 1 && at[0] == '*' && at[1] == '/') {
        p->inside = 0;
        return 2;
    }
    if (p->inside == '-' ? at[0] == '\n' : p->inside != '*' && at[0] == p->inside)
        p->inside = 0;
    return 1;
}

/* Track quotes and comments, so that sqlite3_complete() is called only where it can return
 * true. Otherwise a long statement would be read again for each of its lines. */
static void scan(struct splitter *p, const char *at, size_t len)
{
    for (size_t i = 0, step; i < len; i += step) {
        if (p->inside) {
            step = skip_inside(p, at + i, len - i);
            continue;
        }
        p->inside = opens(at + i, len - i, &step);
        bool comment = p->inside == '-' || p->inside == '*';
        if (!comment && !is_blank(at[i])) {
            p->begun = true;
            p->ended = at[i] == ';';
        }
    }
}

/* Words that people type to leave or to get help, as in shells without a dot before
 * commands. No statement begins with them. */
static bool is_bare_command(const char *line, size_t len)
{
    static const char *const words[] = {"help", "quit", "exit", "\\q"};
    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
        size_t word = strlen(words[i]);
        if (len >= word && strncasecmp(line, words[i], word) == 0 &&
            (len == word || is_blank(line[word]) || line[word] == ';'))
            return true;
    }
    return false;
}

enum unit splitter_line(struct splitter *p, const char *line, size_t len)
{
    p->line++;
    if (p->line == 1 && len >= 3 && memcmp(line, "\xEF\xBB\xBF", 3) == 0) {
        line += 3; /* a byte order mark */
        len -= 3;
    }
    if (memchr(line, '\0', len))
        return UNIT_BAD;
    if (!p->begun && !p->inside) {
        text_reset(&p->pending);
        p->first = p->line;
    }
    size_t blanks = 0;
    while (blanks < len && is_blank(line[blanks]))
        blanks++;
    bool dot = !p->begun && !p->inside && blanks < len &&
               (line[blanks] == '.' || is_bare_command(line + blanks, len - blanks) ||
                (p->command && p->command(line + blanks, len - blanks)));
    while (dot && is_blank(line[len - 1]))
        len--;
    text_add(&p->pending, line, len);
    if (dot)
        return p->pending.failed ? UNIT_BAD : UNIT_DOT;
    if (len == 0 || line[len - 1] != '\n')
        text_addc(&p->pending, '\n');
    scan(p, line, len);
    if (p->inside == '-')
        p->inside = 0;
    const char *text = text_str(&p->pending);
    if (!text)
        return UNIT_BAD;
    return p->ended && !p->inside && sqlite3_complete(text) ? UNIT_SQL : UNIT_MORE;
}

enum unit splitter_end(struct splitter *p)
{
    return p->begun || p->inside ? UNIT_SQL : UNIT_MORE;
}

const char *splitter_text(struct splitter *p)
{
    return text_str(&p->pending);
}

void splitter_next(struct splitter *p)
{
    text_reset(&p->pending);
    p->inside = 0;
    p->ended = p->begun = false;
}

void splitter_release(struct splitter *p)
{
    text_release(&p->pending);
    *p = (struct splitter){0};
}

/* --- words of a dot-command --------------------------------------------------------------- */

/* Copy a word from *from to *to without its quotes; false if a quote is left open. */
static bool take_word(char **from, char **to)
{
    char quote = 0;
    for (; **from && (quote || !is_blank(**from)); ++*from) {
        char c = **from;
        if (quote ? c == quote : c == '\'' || c == '"') {
            quote = (char)(quote ? 0 : c);
        } else if (quote == '"' && c == '\\' && (*from)[1]) {
            c = *++*from;
            *(*to)++ = (char)(c == 'n' ? '\n' : c == 't' ? '\t' : c);
        } else {
            *(*to)++ = c;
        }
    }
    return quote == 0;
}

int split_words(char *line, char **words, int max)
{
    int count = 0;
    char *to = line;
    for (;;) {
        while (is_blank(*line))
            line++;
        if (!*line)
            return count;
        if (count == max)
            return -2;
        words[count++] = to;
        if (!take_word(&line, &to))
            return -1;
        bool more = *line != '\0';
        *to++ = '\0'; /* never past `line`: words end at a blank or the end */
        line += more;
    }
}

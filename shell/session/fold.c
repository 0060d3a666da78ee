#include "shell/session/fold.h"

#include <stdbool.h>
#include <string.h>
#include <sys/ioctl.h>

#include "catalog/base/text.h"
#include "shell/session/human.h"

size_t fold_columns(FILE *to)
{
    struct winsize size = {0};
    return ioctl(fileno(to), TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

/* Where the word ends that begins at `at`, with the blanks before it. */
static size_t word_end(const char *line, size_t len, size_t at)
{
    while (at < len && line[at] == ' ')
        at++;
    while (at < len && line[at] != ' ')
        at++;
    return at;
}

void fold_line(FILE *to, const char *line, size_t len, size_t columns, size_t indent)
{
    size_t column = 0, blanks = 0;
    const bool folds = columns > indent + 20 && text_width(line, len) > columns;
    for (size_t at = 0, end; at < len; at = end) {
        end = folds ? word_end(line, len, at) : len;
        size_t width = text_width(line + at, end - at);
        if (folds && at > 0 && column + width > columns) {
            blanks = strspn(line + at, " ");
            fprintf(to, "\n%*s", (int)indent, "");
            at += blanks;
            width -= blanks;
            column = indent;
        }
        fwrite(line + at, 1, end - at, to);
        column += width;
    }
    fputc('\n', to);
}

/* Where the text of an indented line begins: in the last column of a table, or behind its blanks. */
static size_t text_column(const char *line, size_t len)
{
    size_t at = strspn(line, " ");
    for (size_t i = at; i + 2 < len; i++)
        if (line[i] == ' ' && line[i + 1] == ' ' && line[i + 2] != ' ')
            return text_width(line, i + 2);
    return at;
}

void fold_print(FILE *to, const char *text, size_t columns)
{
    struct text filled = {0};
    while (*text) {
        const char *end = text;
        bool long_line = false;
        size_t len = strcspn(text, "\n");
        if (*text == ' ' || len == 0) {
            fold_line(to, text, len, columns, text_column(text, len));
            text += len + (text[len] == '\n');
            continue;
        }
        for (text_reset(&filled); *end && *end != ' ' && *end != '\n'; end += len) {
            len = strcspn(end, "\n");
            text_adds(&filled, filled.len ? " " : "");
            text_add(&filled, end, len);
            long_line |= columns && text_width(end, len) > columns;
            len += end[len] == '\n';
        }
        if (long_line && text_str(&filled))
            fold_line(to, filled.at, filled.len, columns, 0);
        else
            fwrite(text, 1, (size_t)(end - text), to);
        text = end;
    }
    text_release(&filled);
}

#include "shell/map_gin.h"

#include <string.h>

struct gin {
    const char *begin, *at;
    const char *why;
};

static bool refuse(struct gin *g, const char *why)
{
    if (!g->why)
        g->why = why;
    return false;
}

/* Space, line breaks and comments. */
static void skip(struct gin *g)
{
    for (;;) {
        g->at += strspn(g->at, " \t\r\n\\");
        if (*g->at != '#')
            return;
        g->at += strcspn(g->at, "\n");
    }
}

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           c == '_';
}

/* The value of the binding that begins at or after `from`; NULL: none. Before its name
 * stand scopes, modules and functions alone, so no comment or string is taken for one. */
static const char *next_binding(const char *begin, const char *from)
{
    static const char word[] = "assignment_map";
    for (const char *at = from; (at = strstr(at, word)); at++) {
        const char *line = at, *end = at + strlen(word);
        while (line > begin && (is_word(line[-1]) || strchr("./@ \t\r", line[-1])))
            line--;
        if ((line > begin && line[-1] != '\n') || (at > begin && is_word(at[-1])))
            continue;
        end += strspn(end, " \t");
        if (*end == '=' && end[1] != '=')
            return end + 1;
    }
    return NULL;
}

/* --- strings ---------------------------------------------------------------------------------- */

/* One escape of a plain Python string, behind its backslash. */
static bool read_escape(struct gin *g, struct text *out)
{
    static const char from[] = "abfnrtv\\'\"", to[] = "\a\b\f\n\r\t\v\\'\"";
    const char *known = *g->at ? strchr(from, *g->at) : NULL;
    if (known) {
        g->at++;
        return text_addc(out, to[known - from]);
    }
    if (*g->at == '\n') {
        g->at++;
        return true;
    }
    if (*g->at == 'x' || *g->at == 'u' || *g->at == 'U' || *g->at == 'N' ||
        (*g->at >= '0' && *g->at <= '7'))
        return refuse(g, "an escape by number: write the character itself");
    return text_addc(out, '\\'); /* unknown ones stay as they are */
}

static bool read_string(struct gin *g, struct text *out)
{
    bool raw = *g->at == 'r' || *g->at == 'R';
    g->at += raw;
    char quote = *g->at;
    size_t quotes = g->at[1] == quote && g->at[2] == quote ? 3 : 1;
    const char close[] = {quote, quote, quote};
    for (g->at += quotes; *g->at && strncmp(g->at, close, quotes) != 0;) {
        if (*g->at == '\n' && quotes == 1)
            return refuse(g, "a string that does not end on its line");
        if (*g->at != '\\') {
            text_addc(out, *g->at++);
        } else if (raw) { /* a quote behind it does not end the string */
            text_addc(out, *g->at++);
            if (*g->at)
                text_addc(out, *g->at++);
        } else {
            g->at++;
            if (!read_escape(g, out))
                return false;
        }
    }
    if (!*g->at)
        return refuse(g, "a string that does not end");
    g->at += quotes;
    return true;
}

static bool at_string(const struct gin *g)
{
    const char *at = g->at + (*g->at == 'r' || *g->at == 'R');
    return *at == '\'' || *at == '"';
}

/* Strings side by side are one. */
static bool read_strings(struct gin *g, struct text *json)
{
    struct text value = {0};
    bool good = at_string(g) || refuse(g, "no string, but a macro or an expression");
    while (good && at_string(g)) {
        good = read_string(g, &value);
        skip(g);
    }
    if (good)
        text_json(json, value.at ? value.at : "", value.len);
    text_release(&value);
    return good;
}

/* --- lists ------------------------------------------------------------------------------------ */

static bool take(struct gin *g, char c)
{
    skip(g);
    bool found = *g->at == c;
    g->at += found;
    skip(g);
    return found;
}

static bool read_pair(struct gin *g, struct text *json)
{
    char close = *g->at == '[' ? ']' : ')';
    if (!take(g, '(') && !take(g, '['))
        return refuse(g, "no pair (new name, old name)");
    text_adds(json, "[");
    if (!read_strings(g, json) || !take(g, ','))
        return refuse(g, "no pair (new name, old name)");
    text_adds(json, ", ");
    if (strncmp(g->at, "None", 4) == 0 && !is_word(g->at[4])) {
        g->at += 4;
        text_adds(json, "null");
    } else if (!read_strings(g, json)) {
        return false;
    }
    take(g, ',');
    text_adds(json, "]");
    return take(g, close) || refuse(g, "a pair that does not end");
}

static bool read_pairs(struct gin *g, struct text *json)
{
    skip(g);
    char close = *g->at == '[' ? ']' : ')';
    if (!take(g, '[') && !take(g, '('))
        return refuse(g, "no list of pairs, but a macro or an expression");
    for (bool first = true; !take(g, close); first = false) {
        text_adds(json, first ? "" : ",\n ");
        if (!read_pair(g, json))
            return false;
        if (!take(g, ',') && *g->at != close)
            return refuse(g, "a comma is missing");
    }
    return true;
}

bool map_gin_recognise(const char *text)
{
    return next_binding(text, text) != NULL;
}

bool map_gin_read(const char *text, struct text *json, const char **why,
                  unsigned long *line)
{
    struct gin g = {.begin = text};
    for (const char *at = text; (at = next_binding(text, at));)
        g.at = at;
    if (!g.at)
        return refuse(&g, "no assignment_map");
    text_adds(json, "{\"dialect\": \"t5x-assignment\", \"rules\": [");
    bool good = read_pairs(&g, json);
    text_adds(json, "]}");
    *why = g.why;
    *line = 1;
    for (const char *at = text; at < g.at; at++)
        *line += *at == '\n';
    return good;
}

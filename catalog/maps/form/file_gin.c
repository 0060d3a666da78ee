/*
 * file_gin.c - T5X's assignment_map as gin files bind it: a Python list of pairs (regex of the new
 * name, template of the old name or None). Strings may be raw, may have single, double or triple
 * quotes, and adjacent ones are joined; macros are not followed.
 */
#include <string.h>

#include "catalog/maps/form/form.h"

struct gin {
    struct ruleset *set;
    const char *at;
    const char *why;
};

static bool gin_refuse(struct gin *g, const char *why)
{
    if (!g->why)
        g->why = why;
    return false;
}

/* Skip white space, line breaks and comments. */
static void skip(struct gin *g)
{
    for (;;) {
        g->at += strspn(g->at, " \t\r\n\\");
        if (*g->at != '#')
            return;
        g->at += strcspn(g->at, "\n");
    }
}

static bool gin_is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* The value of the first binding of assignment_map at or after `from`; NULL if absent.
 * Only scopes, modules and functions may precede the name on its line
 * ("train/utils.Config.assignment_map = ..."), so a comment or a string that contains the name
 * is not taken for a binding. */
static const char *next_binding(const char *begin, const char *from)
{
    static const char word[] = "assignment_map";
    for (const char *at = from; (at = strstr(at, word)); at++) {
        const char *line = at, *end = at + strlen(word);
        while (line > begin && (gin_is_word(line[-1]) || strchr("./@ \t\r", line[-1])))
            line--;
        if ((line > begin && line[-1] != '\n') || (at > begin && gin_is_word(at[-1])))
            continue;
        end += strspn(end, " \t");
        if (*end == '=' && end[1] != '=')
            return end + 1;
    }
    return NULL;
}

/* --- strings ---------------------------------------------------------------------------------- */

/* One escape of a plain Python string, after its backslash. */
static bool gin_read_escape(struct gin *g, struct text *out)
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
        return gin_refuse(g, "an escape by number: write the character itself");
    return text_addc(out, '\\'); /* Python keeps the backslash of unknown escapes */
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
            return gin_refuse(g, "a string that does not end on its line");
        if (*g->at != '\\') {
            text_addc(out, *g->at++);
        } else if (raw) { /* in a raw string, too, an escaped quote does not end it */
            text_addc(out, *g->at++);
            if (*g->at)
                text_addc(out, *g->at++);
        } else {
            g->at++;
            if (!gin_read_escape(g, out))
                return false;
        }
    }
    if (!*g->at)
        return gin_refuse(g, "a string that does not end");
    g->at += quotes;
    return true;
}

static bool at_string(const struct gin *g)
{
    const char *at = g->at + (*g->at == 'r' || *g->at == 'R');
    return *at == '\'' || *at == '"';
}

/* Adjacent strings, joined as Python does, copied to the set's arena; NULL after an error. */
static const char *read_strings(struct gin *g, struct ruleset_rule *rule)
{
    struct text value = {0};
    const char *copy = NULL;
    bool good = at_string(g) || gin_refuse(g, "no string, but a macro or an expression");
    while (good && at_string(g)) {
        good = read_string(g, &value);
        skip(g);
    }
    if (good && text_str(&value)) {
        copy = arena_copy(g->set->arena, text_str(&value), value.len);
        rule->nul = rule->nul || strlen(text_str(&value)) != value.len;
    }
    if (good && !copy)
        gin_refuse(g, "no memory");
    text_release(&value);
    return copy;
}

/* --- lists ------------------------------------------------------------------------------------ */

static bool gin_take(struct gin *g, char c)
{
    skip(g);
    bool found = *g->at == c;
    g->at += found;
    skip(g);
    return found;
}

static bool read_pair(struct gin *g)
{
    struct ruleset_rule rule = {.ord = (int64_t)g->set->rules + 1};
    char close = *g->at == '[' ? ']' : ')';
    if (!gin_take(g, '(') && !gin_take(g, '['))
        return gin_refuse(g, "no pair (new name, old name)");
    rule.pattern = read_strings(g, &rule);
    if (!rule.pattern || !gin_take(g, ','))
        return gin_refuse(g, "no pair (new name, old name)");
    if (strncmp(g->at, "None", 4) == 0 && !gin_is_word(g->at[4]))
        g->at += 4;
    else if (!(rule.replacement = read_strings(g, &rule)))
        return false;
    gin_take(g, ',');
    if (!gin_take(g, close))
        return gin_refuse(g, "a pair that does not end");
    return ruleset_add(g->set, rule) || gin_refuse(g, "no memory");
}

static bool gin_read_pairs(struct gin *g)
{
    skip(g);
    char close = *g->at == '[' ? ']' : ')';
    if (!gin_take(g, '[') && !gin_take(g, '('))
        return gin_refuse(g, "no list of pairs, but a macro or an expression");
    while (!gin_take(g, close)) {
        if (!read_pair(g))
            return false;
        if (!gin_take(g, ',') && *g->at != close)
            return gin_refuse(g, "a comma is missing");
    }
    return true;
}

/* (In a file that file_sql.c writes, a line inside a string may look like a binding.) */
static bool gin_recognise(const char *text)
{
    static const char sql[] = "INSERT INTO ruleset";
    return *text != '{' && strncmp(text, sql, strlen(sql)) != 0 && next_binding(text, text) != NULL;
}

/* If there are several bindings, the last one counts. */
static void gin_read(struct form_text *f)
{
    struct gin g = {.set = f->set, .at = f->text};
    for (const char *at = f->text; (at = next_binding(f->text, at));)
        g.at = at;
    if (!gin_read_pairs(&g))
        form_refuse_at(f, g.at, "%s", g.why);
}

/* --- writing --------------------------------------------------------------------------------- */

/* Write a Python literal: a raw string if possible. */
static void write_string(struct text *out, const char *s)
{
    size_t len = s ? strlen(s) : 0;
    if (!s) {
        text_adds(out, "None");
        return;
    }
    bool single = strchr(s, '\'') != NULL, both = single && strchr(s, '"');
    if (!both && (!len || s[len - 1] != '\\') && !strpbrk(s, "\n\r")) {
        text_addf(out, "r%c", single ? '"' : '\'');
        text_adds(out, s);
        text_addc(out, single ? '"' : '\'');
        return;
    }
    text_addc(out, '\'');
    for (; *s; s++) {
        if (strchr("\\'\n\r", *s))
            text_addc(out, '\\');
        text_add(out, *s == '\n' ? "n" : *s == '\r' ? "r" : s, 1);
    }
    text_addc(out, '\'');
}

/* Whether the option has the value that T5X assumes without it. */
static bool is_usual(const char *key, const struct form_value *v)
{
    return (strcmp(key, "mode") == 0 && v->len == 8 && strncmp(v->at, "\"compat\"", 8) == 0) ||
           (strcmp(key, "require_all") == 0 && v->type == JSON_TRUE) ||
           (strcmp(key, "is_resuming") == 0 && v->type == JSON_FALSE);
}

static void gin_write(const struct ruleset *set, struct text *out, struct error *err)
{
    struct form_walk w = {0};
    struct text key = {0};
    struct form_value value;
    while (form_next(&w, set->options, strlen(set->options), &key, &value))
        if (!is_usual(text_str(&key), &value))
            form_cannot(err, "json", "gin has no place for the option \"%.200s\"", text_str(&key));
    form_walk_end(&w);
    text_release(&key);
    text_adds(out, "utils.RestoreCheckpointConfig.assignment_map = [\n");
    for (size_t i = 0; i < set->rules; i++) {
        text_adds(out, "    (");
        write_string(out, set->rule[i].pattern);
        text_adds(out, ", ");
        write_string(out, set->rule[i].replacement);
        text_adds(out, "),\n");
    }
    text_adds(out, "]\n");
}

const struct form form_gin = {
    .name = "gin",
    .dialect = &dialect_t5x_assignment,
    .holds = "assignment maps of T5X",
    .names_alone = true,
    .recognise = gin_recognise,
    .read = gin_read,
    .write = gin_write,
};

/*
 * fn_kontext.c - the path language of Kauldron's kontext, as names of the catalog.
 *
 *   kontext_name(path)       its components joined by '/'; NULL where it is none
 *   kontext_error(path)      what the original raises of it, "Type: text"; NULL: nothing
 *   kontext_filter(pattern)  a regular expression for keys that the pattern selects
 *
 *   path    = [first {rest}]          the empty path is the root
 *   first   = name | '[' literal ']'  rest = '.' name | '[' literal ']'
 *   name    = identifier | ['-'|'+'] digits | '*' | '**'
 *   literal = an integer, a 'string', True, False or None
 *
 * Spaces and tabs between tokens mean nothing. Other literals that kontext takes (floats,
 * slices, tuples) name nothing a checkpoint holds: they are an error here.
 */
#include <stdlib.h>
#include <string.h>

#include "catalog/base/text.h"
#include "catalog/regex/pytext.h"
#include "catalog/sql/extension.h"

struct path {
    const char *at, *end;
    struct text name;
    bool glob, bad;
};

static void skip_spaces(struct path *p)
{
    while (p->at < p->end && (*p->at == ' ' || *p->at == '\t'))
        p->at++;
}

static bool take(struct path *p, char c)
{
    skip_spaces(p);
    bool found = p->at < p->end && *p->at == c;
    p->at += found;
    return found;
}

static bool is_word(unsigned char c)
{
    return c >= 0x80 || c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
           (c >= 'A' && c <= 'Z');
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* A signed run of digits, as int() prints it. */
static bool add_integer(struct path *p, const char *from, size_t len)
{
    struct text number = {0};
    bool minus = *from == '-';
    size_t skip = minus || *from == '+';
    bool good = len > skip && pytext_int(from + skip, len - skip, &number);
    if (good && minus && strcmp(text_str(&number), "0") != 0)
        text_addc(&p->name, '-');
    if (good)
        text_add(&p->name, number.at, number.len);
    text_release(&number);
    return good;
}

static bool take_name(struct path *p)
{
    skip_spaces(p);
    const char *from = p->at;
    if (p->at < p->end && *p->at == '*') {
        while (p->at < p->end && *p->at == '*')
            p->at++;
        p->glob = true;
        return p->at - from <= 2;
    }
    if (p->at < p->end && (*p->at == '-' || *p->at == '+'))
        p->at++;
    bool number = p->at != from || (p->at < p->end && is_digit(*p->at));
    while (p->at < p->end && (number ? is_digit(*p->at) : is_word((unsigned char)*p->at)))
        p->at++;
    size_t len = (size_t)(p->at - from);
    if (number)
        return add_integer(p, from, len) &&
               !(p->at < p->end && is_word((unsigned char)*p->at));
    return len && pytext_isidentifier(from, len) && text_add(&p->name, from, len);
}

/* The escapes that names come with; others are kept as they stand, which Python does too. */
static bool take_string(struct path *p)
{
    char quote = *p->at++;
    while (p->at < p->end && *p->at != quote) {
        bool escaped = *p->at == '\\' && p->end - p->at > 1 &&
                       (p->at[1] == quote || p->at[1] == '\\');
        p->at += escaped;
        text_addc(&p->name, *p->at++);
    }
    if (p->at == p->end)
        return false;
    p->at++;
    return true;
}

/* 0x1f, 0o17, 0b11; at most 64 bits. */
static bool add_based_integer(struct path *p, const char *from, size_t len)
{
    unsigned base = len > 2 && *from == '0' ? (from[1] | 32) == 'x'   ? 16
                                              : (from[1] | 32) == 'o' ? 8
                                              : (from[1] | 32) == 'b' ? 2
                                                                      : 0
                                            : 0;
    unsigned long long value = 0;
    for (size_t i = 2; base && i < len; i++) {
        static const char digits[] = "0123456789abcdef";
        const char *digit = memchr(digits, from[i] | 32, base);
        digit = is_digit(from[i]) ? memchr(digits, from[i], base) : digit;
        if (!digit || value >> 60)
            return false;
        value = value * base + (unsigned)(digit - digits);
    }
    return base && text_addf(&p->name, "%llu", value);
}

static bool take_literal(struct path *p)
{
    static const char *const words[] = {"True", "False", "None"};
    skip_spaces(p);
    if (p->at < p->end && (*p->at == '\'' || *p->at == '"'))
        return take_string(p);
    const char *from = p->at;
    while (p->at < p->end && (is_word((unsigned char)*p->at) || *p->at == '-'))
        p->at++;
    size_t len = (size_t)(p->at - from);
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (len == strlen(words[i]) && memcmp(from, words[i], len) == 0)
            return text_add(&p->name, from, len);
    return len && (add_based_integer(p, from, len) || add_integer(p, from, len));
}

static bool take_step(struct path *p, bool first)
{
    if (!first && p->name.len < p->name.limit)
        text_addc(&p->name, '/');
    if (take(p, '['))
        return take_literal(p) && take(p, ']');
    return (first || take(p, '.')) && take_name(p);
}

static void parse(struct path *p, sqlite3_value *value)
{
    const char *text = (const char *)sqlite3_value_text(value);
    size_t len = (size_t)sqlite3_value_bytes(value);
    *p = (struct path){.at = text, .end = text + len, .name.limit = (size_t)1 << 20};
    p->bad = !utf8_valid(text, len);
    skip_spaces(p);
    for (bool first = true; !p->bad && p->at < p->end; first = false) {
        p->bad = !take_step(p, first);
        skip_spaces(p);
    }
}

static void give(sqlite3_context *context, struct text *t)
{
    if (text_str(t))
        sqlite3_result_text(context, text_str(t), (int)t->len, SQLITE_TRANSIENT);
    else
        sqlite3_result_error_nomem(context);
}

static void kontext_name(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    struct path p;
    (void)argc;
    if (sqlite3_value_type(argv[0]) == SQLITE_NULL)
        return;
    parse(&p, argv[0]);
    if (!p.bad && !p.glob)
        give(context, &p.name);
    text_release(&p.name);
}

static void kontext_error(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    struct path p;
    struct text out = {0};
    (void)argc;
    if (sqlite3_value_type(argv[0]) == SQLITE_NULL)
        return;
    parse(&p, argv[0]);
    const char *text = (const char *)sqlite3_value_text(argv[0]);
    text_adds(&out, p.bad ? "ValueError: Could not parse path: "
                          : "ValueError: Invalid part(s) in ");
    if (utf8_valid(text, (size_t)sqlite3_value_bytes(argv[0])))
        pytext_repr(&out, text, (size_t)sqlite3_value_bytes(argv[0]));
    if (p.bad)
        text_addf(&out, ": not understood from character %zu", (size_t)(p.at - text) + 1);
    else
        text_adds(&out, ": globs name no single value");
    if (p.bad || p.glob)
        give(context, &out);
    text_release(&out);
    text_release(&p.name);
}

/* One component of a filter. `**` directly before another glob never matches anything. */
static void add_filter(struct text *out, const char *part, size_t len,
                       bool after_globstar)
{
    bool star = len == 1 && *part == '*',
         globstar = len == 2 && memcmp(part, "**", 2) == 0;
    if (after_globstar && (star || globstar)) {
        text_adds(out, "(?!)");
    } else if (globstar) {
        text_adds(out, "(?:[^.]+(?:\\.|$))*");
    } else if (star) {
        text_adds(out, "[^.]+(?:\\.|$)");
    } else {
        for (size_t i = 0; i < len; i++) {
            if (strchr("\\^$.|?*+()[]{}#&~- ", part[i]))
                text_addc(out, '\\');
            text_addc(out, part[i]);
        }
        text_adds(out, "(?:\\.|$)");
    }
}

static void kontext_filter(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    const char *text = (const char *)sqlite3_value_text(argv[0]);
    struct text out = {0};
    (void)argc;
    if (!text)
        return;
    bool globstar = false;
    for (const char *at = text; *at;) {
        size_t len = strcspn(at, ".");
        add_filter(&out, at, len, globstar);
        globstar = len == 2 && memcmp(at, "**", 2) == 0;
        at += len + (at[len] == '.');
    }
    give(context, &out);
    text_release(&out);
}

int sql_register_kontext(sqlite3 *db)
{
    static const struct {
        const char *name;
        void (*run)(sqlite3_context *, int, sqlite3_value **);
    } functions[] = {
        {"kontext_name",   kontext_name  },
        {"kontext_error",  kontext_error },
        {"kontext_filter", kontext_filter},
    };
    int rc = SQLITE_OK;
    for (size_t i = 0; rc == SQLITE_OK && i < sizeof(functions) / sizeof(functions[0]);
         i++)
        rc = sqlite3_create_function_v2(db, functions[i].name, 1, SQL_FLAGS_PURE, NULL,
                                        functions[i].run, NULL, NULL, NULL);
    return rc;
}

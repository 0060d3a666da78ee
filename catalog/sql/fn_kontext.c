/*
 * fn_kontext.c - the path language of Kauldron's kontext, as names of the catalog.
 *
 *   kontext_name(path)       its components joined by '/'; NULL where it is none
 *   kontext_error(path)      what the original raises of it, "Type: text"; NULL: nothing
 *   kontext_path(name)       a name as kontext prints its path
 *   kontext_filter(pattern)  a regular expression for printed paths that the pattern selects
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
    unsigned globs; /* of the last name: how many stars it is */
    bool number;    /* the last part is one */
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
    p->number = good;
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
        p->globs = (unsigned)(p->at - from);
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

/* Up to `most` digits of an escape; false: none, or fewer than are due (`exactly`). */
static bool take_digits(struct path *p, unsigned base, unsigned most, bool exactly,
                        uint32_t *value)
{
    static const char digits[] = "0123456789abcdef";
    unsigned taken = 0;
    for (*value = 0; taken < most && p->at < p->end; taken++, p->at++) {
        int c = is_digit(*p->at) ? *p->at : *p->at | 32;
        const char *digit = memchr(digits, c, base);
        if (!digit)
            break;
        *value = *value * base + (uint32_t)(digit - digits);
    }
    return taken == most || (taken && !exactly);
}

/* What stands behind a backslash in a Python string. */
static bool take_escape(struct path *p)
{
    static const char letters[] = "abfnrtv\\'\"", meant[] = "\a\b\f\n\r\t\v\\'\"";
    const char *letter = memchr(letters, *p->at, sizeof(letters) - 1);
    uint32_t c = 0;
    if (letter) {
        p->at++;
        return text_addc(&p->name, meant[letter - letters]);
    }
    if (*p->at >= '0' && *p->at <= '7')
        return take_digits(p, 8, 3, false, &c) && c && pytext_encode(&p->name, c);
    unsigned most = *p->at == 'x' ? 2 : *p->at == 'u' ? 4 : *p->at == 'U' ? 8 : 0;
    if (!most)
        return *p->at != 'N' && text_addc(&p->name, '\\');
    p->at++;
    return take_digits(p, 16, most, true, &c) && c && c <= 0x10ffff &&
           (c < 0xd800 || c > 0xdfff) && pytext_encode(&p->name, c);
}

/* A string, behind its prefix. Characters that no name has (NUL, half a surrogate pair, and those
 * given by \N{NAME}) are an error. */
static bool take_string(struct path *p, bool raw)
{
    char quote = *p->at++;
    while (p->at < p->end && *p->at != quote && *p->at != '\n') {
        if (*p->at != '\\' || p->end - p->at < 2) {
            text_addc(&p->name, *p->at++);
        } else if (raw) {
            text_add(&p->name, p->at, 2);
            p->at += 2;
        } else {
            p->at++;
            if (!take_escape(p))
                return false;
        }
    }
    return p->at < p->end && *p->at++ == quote;
}

/* 0x1f, -0o17, 0b11; at most 64 bits. */
static bool add_based_integer(struct path *p, const char *from, size_t len)
{
    bool minus = len && *from == '-';
    from += minus, len -= minus;
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
    p->number = base != 0;
    return base && text_addf(&p->name, "%s%llu", minus && value ? "-" : "", value);
}

static bool take_literal(struct path *p)
{
    static const char *const words[] = {"True", "False", "None"};
    skip_spaces(p);
    bool prefixed = p->end - p->at > 1 && memchr("uUrR", *p->at, 4) &&
                    (p->at[1] == '\'' || p->at[1] == '"');
    bool raw = prefixed && (*p->at | 32) == 'r';
    p->at += prefixed;
    if (p->at < p->end && (*p->at == '\'' || *p->at == '"'))
        return take_string(p, raw);
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

static void parse_start(struct path *p, sqlite3_value *value)
{
    const char *text = (const char *)sqlite3_value_text(value);
    size_t len = (size_t)sqlite3_value_bytes(value);
    *p = (struct path){.at = text, .end = text + len, .name.limit = (size_t)1 << 20};
    p->bad = !utf8_valid(text, len);
    skip_spaces(p);
}

static void parse(struct path *p, sqlite3_value *value)
{
    parse_start(p, value);
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

/* A key of the catalog as kontext prints it: params.layers[0]['layer-0']. */
static void kontext_path(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    const char *text = (const char *)sqlite3_value_text(argv[0]);
    struct text out = {0};
    (void)argc;
    if (!text || !utf8_valid(text, strlen(text)))
        return;
    for (const char *at = text; *text;) {
        size_t len = strcspn(at, "/"), digits = *at == '-';
        digits += strspn(at + digits, "0123456789");
        bool number =
            len && digits == len && is_digit(at[len - 1]) && (*at != '0' || len == 1);
        if (number) {
            text_addf(&out, "[%.*s]", (int)len, at);
        } else if (pytext_isidentifier(at, len)) {
            text_adds(&out, out.len ? "." : "");
            text_add(&out, at, len);
        } else {
            text_addc(&out, '[');
            pytext_repr(&out, at, len);
            text_addc(&out, ']');
        }
        if (!at[len])
            break;
        at += len + 1;
    }
    give(context, &out);
    text_release(&out);
}

/* One part of a filter, a component of a key. `**` directly before another glob never matches
 * anything; nor does a number: keys have it in brackets, glued to the name before it. */
static void add_filter(struct text *out, const char *part, size_t len, unsigned globs,
                       bool never)
{
    if (never) {
        text_adds(out, "(?!)");
    } else if (globs) {
        text_adds(out, globs == 2 ? "(?:[^.]+(?:\\.|\\Z))*" : "[^.]+(?:\\.|\\Z)");
    } else {
        for (size_t i = 0; i < len; i++) {
            if (strchr("\\^$.|?*+()[]{}#&~- ", part[i]))
                text_addc(out, '\\');
            text_addc(out, part[i]);
        }
        text_adds(out, "(?:\\.|\\Z)");
    }
}

/* NULL of what is no path: the original raises of it, whatever the key. */
static void kontext_filter(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    struct text out = {0};
    struct path p;
    (void)argc;
    if (sqlite3_value_type(argv[0]) == SQLITE_NULL)
        return;
    parse_start(&p, argv[0]);
    unsigned globs = 0;
    for (bool first = true; !p.bad && p.at < p.end; first = false) {
        unsigned before = globs;
        size_t from = p.name.len;
        p.globs = 0;
        p.number = false;
        p.bad = !take_step(&p, first);
        from += !first && p.name.len > from;
        globs = p.globs;
        const char *part = p.name.len ? p.name.at + from : "";
        size_t len = p.name.len - from;
        bool never = p.number || (before == 2 && globs) || memchr(part, '.', len);
        add_filter(&out, part, len, globs, never);
        skip_spaces(&p);
    }
    if (!p.bad)
        give(context, &out);
    text_release(&out);
    text_release(&p.name);
}

int sql_register_kontext(sqlite3 *db)
{
    static const struct {
        const char *name;
        void (*run)(sqlite3_context *, int, sqlite3_value **);
    } functions[] = {
        {"kontext_name", kontext_name},
        {"kontext_error", kontext_error},
        {"kontext_path", kontext_path},
        {"kontext_filter", kontext_filter},
    };
    int rc = SQLITE_OK;
    for (size_t i = 0; rc == SQLITE_OK && i < sizeof(functions) / sizeof(functions[0]);
         i++)
        rc = sqlite3_create_function_v2(db, functions[i].name, 1, SQL_FLAGS_PURE, NULL,
                                        functions[i].run, NULL, NULL, NULL);
    return rc;
}

#include "catalog/maps/map/kontext.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "catalog/maps/regex/pytext.h"

struct parser {
    struct arena *arena;
    const char *at, *end;
    struct text text; /* of the part being read */
    struct kontext_part part;
    size_t space;
};

/* --- tokens ------------------------------------------------------------------------------ */

static void skip_spaces(struct parser *p)
{
    while (p->at < p->end && (*p->at == ' ' || *p->at == '\t'))
        p->at++;
}

static bool kontext_take(struct parser *p, char c)
{
    skip_spaces(p);
    bool found = p->at < p->end && *p->at == c;
    p->at += found;
    return found;
}

static bool kontext_is_word(unsigned char c)
{
    return c >= 0x80 || c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
           (c >= 'A' && c <= 'Z');
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Append a signed run of digits as int() prints it: "+07" is 7. */
static bool add_integer(struct parser *p, const char *from, size_t len)
{
    struct text number = {0};
    bool minus = *from == '-';
    size_t skip = minus || *from == '+';
    bool good = len > skip && pytext_int(from + skip, len - skip, &number);
    if (good && minus && strcmp(text_str(&number), "0") != 0)
        text_addc(&p->text, '-');
    if (good)
        text_add(&p->text, number.at, number.len);
    p->part.kind = KONTEXT_NUMBER;
    text_release(&number);
    return good;
}

static bool take_name(struct parser *p)
{
    skip_spaces(p);
    const char *from = p->at;
    if (p->at < p->end && *p->at == '*') {
        while (p->at < p->end && *p->at == '*')
            p->at++;
        p->part.kind = p->at - from == 2 ? KONTEXT_STARS : KONTEXT_STAR;
        return p->at - from <= 2;
    }
    if (p->at < p->end && (*p->at == '-' || *p->at == '+'))
        p->at++;
    bool number = p->at != from || (p->at < p->end && is_digit(*p->at));
    while (p->at < p->end && (number ? is_digit(*p->at) : kontext_is_word((unsigned char)*p->at)))
        p->at++;
    size_t len = (size_t)(p->at - from);
    if (number)
        return add_integer(p, from, len) &&
               !(p->at < p->end && kontext_is_word((unsigned char)*p->at));
    return len && pytext_isidentifier(from, len) && text_add(&p->text, from, len);
}

/* --- strings ----------------------------------------------------------------------------- */

/* Read up to `most` digits of an escape; false if there is no digit, or with `exactly` fewer than
 * `most`. */
static bool take_digits(struct parser *p, unsigned base, unsigned most, bool exactly,
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

/* What comes after a backslash in a Python string. */
static bool take_escape(struct parser *p)
{
    static const char letters[] = "abfnrtv\\'\"", meant[] = "\a\b\f\n\r\t\v\\'\"";
    const char *letter = memchr(letters, *p->at, sizeof(letters) - 1);
    uint32_t c = 0;
    if (letter) {
        p->at++;
        return text_addc(&p->text, meant[letter - letters]);
    }
    if (*p->at >= '0' && *p->at <= '7')
        return take_digits(p, 8, 3, false, &c) && c && pytext_encode(&p->text, c);
    unsigned most = *p->at == 'x' ? 2 : *p->at == 'u' ? 4 : *p->at == 'U' ? 8 : 0;
    if (!most)
        return *p->at != 'N' && text_addc(&p->text, '\\');
    p->at++;
    return take_digits(p, 16, most, true, &c) && c && c <= 0x10ffff && (c < 0xd800 || c > 0xdfff) &&
           pytext_encode(&p->text, c);
}

/* A string literal, after its prefix. NUL and half a surrogate pair, which no name contains,
 * are an error, and so is \N{NAME}. */
static bool take_string(struct parser *p, bool raw)
{
    char quote = *p->at++;
    while (p->at < p->end && *p->at != quote && *p->at != '\n') {
        if (*p->at != '\\' || p->end - p->at < 2) {
            text_addc(&p->text, *p->at++);
        } else if (raw) {
            text_add(&p->text, p->at, 2);
            p->at += 2;
        } else {
            p->at++;
            if (!take_escape(p))
                return false;
        }
    }
    return p->at < p->end && *p->at++ == quote;
}

/* --- other literals ---------------------------------------------------------------------- */

/* 0x1f, -0o17, 0b11; at most 64 bits. */
static bool add_based_integer(struct parser *p, const char *from, size_t len)
{
    bool minus = len && *from == '-', sign = minus || (len && *from == '+');
    from += sign, len -= sign;
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
    p->part.kind = KONTEXT_NUMBER;
    return base && text_addf(&p->text, "%s%llu", minus && value ? "-" : "", value);
}

/* A bound of a slice, if there is one. */
static bool take_bound(struct parser *p, unsigned which)
{
    skip_spaces(p);
    const char *from = p->at;
    char *end;
    p->at += p->at < p->end && (*p->at == '-' || *p->at == '+');
    const char *digits = p->at;
    while (p->at < p->end && is_digit(*p->at))
        p->at++;
    p->part.has[which] = p->at > digits;
    errno = 0;
    p->part.bound[which] = p->at > digits ? strtoll(from, &end, 10) : 0; /* saturates, as wanted */
    return p->at > digits || p->at == from;
}

static bool take_literal(struct parser *p)
{
    static const char *const words[] = {"True", "False", "None"};
    skip_spaces(p);
    bool prefixed =
        p->end - p->at > 1 && memchr("uUrR", *p->at, 4) && (p->at[1] == '\'' || p->at[1] == '"');
    bool raw = prefixed && (*p->at | 32) == 'r';
    p->at += prefixed;
    if (p->at < p->end && (*p->at == '\'' || *p->at == '"'))
        return take_string(p, raw);
    const char *from = p->at;
    if (take_bound(p, 0)) {
        skip_spaces(p);
        if (kontext_take(p, ':')) {
            p->part.kind = KONTEXT_SLICE;
            return take_bound(p, 1) && (!kontext_take(p, ':') || take_bound(p, 2)) &&
                   !(p->part.has[2] && p->part.bound[2] == 0);
        }
    }
    p->at = from;
    p->part.has[0] = false;
    while (p->at < p->end && (kontext_is_word((unsigned char)*p->at) || *p->at == '-' ||
                              (*p->at == '+' && p->at == from)))
        p->at++;
    size_t len = (size_t)(p->at - from);
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (len == strlen(words[i]) && memcmp(from, words[i], len) == 0)
            return text_add(&p->text, from, len);
    return len && (add_based_integer(p, from, len) || add_integer(p, from, len));
}

/* --- paths ------------------------------------------------------------------------------- */

static bool kontext_take_part(struct parser *p, bool first)
{
    p->part = (struct kontext_part){.kind = KONTEXT_KEY};
    text_reset(&p->text);
    if (kontext_take(p, '['))
        return take_literal(p) && kontext_take(p, ']');
    return (first || kontext_take(p, '.')) && take_name(p);
}

static bool kontext_add_part(struct parser *p, struct kontext *k)
{
    struct kontext_part *grown =
        arena_grow(p->arena, k->part, k->parts, &p->space, sizeof(*k->part));
    p->part.len = p->text.len;
    p->part.text = arena_copy(p->arena, p->text.at ? p->text.at : "", p->text.len);
    if (!grown || !p->part.text)
        return false;
    k->part = grown;
    k->part[k->parts++] = p->part;
    k->globs = k->globs || p->part.kind >= KONTEXT_STAR;
    return true;
}

bool kontext_parse(struct arena *arena, const char *text, size_t len, struct kontext *out)
{
    struct parser p = {
        .arena = arena, .at = text, .end = text + len, .text.limit = (size_t)1 << 20};
    bool memory = true;
    *out = (struct kontext){.source = text, .len = len, .good = utf8_valid(text, len)};
    skip_spaces(&p);
    for (bool first = true; memory && out->good && p.at < p.end; first = false) {
        out->good = kontext_take_part(&p, first);
        memory = !out->good || kontext_add_part(&p, out);
        skip_spaces(&p);
    }
    out->stopped = (size_t)(p.at - text);
    memory = memory && !p.text.failed;
    text_release(&p.text);
    return memory;
}

bool kontext_fault(const struct kontext *k, struct text *out)
{
    if (k->good && !k->globs)
        return false;
    text_adds(out,
              k->good ? "ValueError: Invalid part(s) in " : "ValueError: Could not parse path: ");
    if (utf8_valid(k->source, k->len))
        pytext_repr(out, k->source, k->len);
    if (k->good)
        text_adds(out, ": globs name no single value");
    else
        text_addf(out, ": not understood from character %zu", k->stopped + 1);
    return true;
}

/* --- printing ---------------------------------------------------------------------------- */

static void print_key(const char *at, size_t len, struct text *out)
{
    if (pytext_isidentifier(at, len)) {
        text_adds(out, out->len ? "." : "");
        text_add(out, at, len);
        return;
    }
    text_addc(out, '[');
    pytext_repr(out, at, len);
    text_addc(out, ']');
}

static void print_slice(const struct kontext_part *part, struct text *out)
{
    text_addc(out, '[');
    for (int i = 0; i < 3; i++) {
        text_adds(out, i == 1 || (i == 2 && part->has[2]) ? ":" : "");
        if (part->has[i])
            text_addf(out, "%lld", (long long)part->bound[i]);
    }
    text_addc(out, ']');
}

void kontext_print(const struct kontext *k, struct text *out)
{
    for (size_t i = 0; i < k->parts; i++) {
        const struct kontext_part *part = &k->part[i];
        if (part->kind == KONTEXT_SLICE)
            print_slice(part, out);
        else if (part->kind == KONTEXT_NUMBER)
            text_addf(out, "[%s]", part->text);
        else
            print_key(part->text, part->len, out);
    }
}

/* Whether a component of a name is a number as int() prints it. */
static bool kontext_is_number(const char *at, size_t len)
{
    size_t sign = len && *at == '-';
    for (size_t i = sign; i < len; i++)
        if (!is_digit(at[i]))
            return false;
    return len > sign && (at[sign] != '0' || len == 1);
}

void kontext_print_name(const char *name, size_t len, struct text *out)
{
    const char *end = name + len;
    while (len) {
        const char *slash = memchr(name, '/', (size_t)(end - name));
        size_t part = (size_t)((slash ? slash : end) - name);
        if (kontext_is_number(name, part))
            text_addf(out, "[%.*s]", (int)part, name);
        else
            print_key(name, part, out);
        if (!slash)
            break;
        name = slash + 1;
    }
}

/* --- filters ----------------------------------------------------------------------------- */

/* Three kinds of patterns never match in the original: a glob directly after `**`; a number,
 * because printed keys have it in brackets attached to the name before it ("layers[0]"); and a
 * component with a dot, because keys are split at dots. */
void kontext_filter(const struct kontext *k, struct text *out)
{
    for (size_t i = 0; i < k->parts; i++) {
        const struct kontext_part *part = &k->part[i];
        bool glob = part->kind >= KONTEXT_STAR;
        bool never = part->kind == KONTEXT_NUMBER || part->kind == KONTEXT_SLICE ||
                     (i && glob && part[-1].kind == KONTEXT_STARS) ||
                     memchr(part->text, '.', part->len);
        if (never) {
            text_adds(out, "(?!)");
        } else if (glob) {
            /* the key of a leaf that is itself mapped is one empty component */
            const bool whole =
                !i && (k->parts == 1 || (k->parts == 2 && part[1].kind == KONTEXT_STARS));
            text_adds(out, part->kind == KONTEXT_STARS ? "(?:[^.]+(?:\\.|\\Z))*"
                           : whole                     ? "(?:[^.]+(?:\\.|\\Z)|\\Z)"
                                                       : "[^.]+(?:\\.|\\Z)");
        } else {
            for (size_t c = 0; c < part->len; c++) {
                if (strchr("\\^$.|?*+()[]{}#&~- ", part->text[c]))
                    text_addc(out, '\\');
                text_addc(out, part->text[c]);
            }
            text_adds(out, "(?:\\.|\\Z)");
        }
    }
}

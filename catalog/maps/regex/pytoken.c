#include "catalog/maps/regex/pytoken.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "catalog/base/text.h"
#include "catalog/maps/regex/pytext.h"

static void read_next(struct tokens *s)
{
    struct token t = {.at = s->next.at + s->next.len, .pos = s->next.pos + s->next.chars};
    s->next = t;
    if (t.at == s->len)
        return;
    t.c = pytext_decode(s->source + t.at, &t.len);
    t.chars = 1;
    if (t.c == '\\') {
        if (t.at + 1 == s->len) {
            tokens_error(s, t.pos, "bad escape (end of pattern)");
            return;
        }
        t.c = pytext_decode(s->source + t.at + 1, &t.len);
        t.len++;
        t.chars = 2;
    }
    s->next = t;
}

void tokens_open(struct tokens *s, const char *source, size_t len, struct error *err)
{
    *s = (struct tokens){.source = source, .len = len, .err = err};
    read_next(s);
}

struct token tokens_take(struct tokens *s)
{
    struct token t = s->next;
    if (t.chars)
        read_next(s);
    return t;
}

bool token_in(struct token t, const char *set)
{
    return t.chars == 1 && t.c && t.c < 0x80 && strchr(set, (int)t.c);
}

bool tokens_match(struct tokens *s, char c)
{
    bool yes = token_is(s->next, c);
    if (yes)
        tokens_take(s);
    return yes;
}

unsigned tokens_number(struct tokens *s, unsigned most, const char *set, unsigned base,
                       uint32_t *value)
{
    unsigned n = 0;
    for (; n < most && token_in(s->next, set); n++) {
        uint32_t c = tokens_take(s).c;
        uint64_t wide = (uint64_t)*value * base + (c <= '9' ? c - '0' : (c & 0xF) + 9);
        *value = wide > UINT32_MAX ? UINT32_MAX : (uint32_t)wide;
    }
    return n;
}

bool tokens_until(struct tokens *s, char end, const char *what, struct name *out)
{
    struct token first = s->next, t;
    do
        t = tokens_take(s);
    while (t.chars && !token_is(t, end));
    *out = (struct name){s->source + first.at, t.at - first.at, first.pos};
    if (!out->len)
        tokens_error(s, first.pos, "missing %s", what);
    else if (!t.chars)
        tokens_error(s, first.pos, "missing %c, unterminated name", end);
    return s->err->status == OK;
}

struct name tokens_since(const struct tokens *s, struct token t)
{
    return (struct name){s->source + t.at, s->next.at - t.at, t.pos};
}

/* Append " (line L, column C)", as Python does if the source has a newline. */
static void add_line(const struct tokens *s, size_t pos, struct text *out)
{
    if (!memchr(s->source, '\n', s->len))
        return;
    size_t line = 1, column = 1, step = 0;
    for (size_t at = 0, i = 0; i < pos && at < s->len; i++, at += step) {
        bool newline = pytext_decode(s->source + at, &step) == '\n';
        line += newline;
        column = newline ? 1 : column + 1;
    }
    text_addf(out, " (line %zu, column %zu)", line, column);
}

void tokens_error(struct tokens *s, size_t pos, const char *fmt, ...)
{
    if (s->err->status != OK)
        return;
    char message[400]; /* leaves room for the position in struct error */
    va_list args;
    va_start(args, fmt);
    vsnprintf(message, sizeof(message), fmt, args);
    va_end(args);
    struct text place = {0};
    text_addf(&place, " at position %zu", pos);
    add_line(s, pos, &place);
    if (text_str(&place)) {
        error_set(s->err, ERR_ARGUMENT, NULL, NO_OFFSET, "%s%s", message, place.at);
        error_code(s->err, "error");
    } else {
        error_memory(s->err);
    }
    text_release(&place);
}

void tokens_name_error(struct tokens *s, const char *message, struct name name)
{
    struct text repr = {0};
    pytext_repr(&repr, name.at, name.len);
    if (text_str(&repr))
        tokens_error(s, name.pos, "%s %s", message, repr.at);
    else
        error_memory(s->err);
    text_release(&repr);
}

void tokens_index_error(struct tokens *s, const char *message, struct name name)
{
    struct text repr = {0};
    pytext_repr(&repr, name.at, name.len);
    if (text_str(&repr)) {
        error_set(s->err, ERR_ARGUMENT, NULL, NO_OFFSET, "%s %s", message, repr.at);
        error_code(s->err, "IndexError");
    } else {
        error_memory(s->err);
    }
    text_release(&repr);
}

uint32_t escape_control(uint32_t letter)
{
    static const char letters[] = "abfnrtv\\", controls[] = "\a\b\f\n\r\t\v\\";
    const char *at = letter && letter < 0x80 ? strchr(letters, (int)letter) : NULL;
    return at ? (unsigned char)controls[at - letters] : 0;
}

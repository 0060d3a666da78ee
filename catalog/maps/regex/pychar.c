/* pychar.c - escapes that mean one character. */
#include "catalog/maps/regex/pyreader.h"

static void bad_escape(struct pyreader *p, struct token t, const char *what)
{
    struct name escape = tokens_since(&p->in, t);
    tokens_error(&p->in, t.pos, "%s %.*s", what, (int)escape.len, escape.at);
}

static uint32_t read_hex(struct pyreader *p, struct token t, unsigned digits)
{
    uint32_t c = 0;
    if (tokens_number(&p->in, digits, HEX_DIGITS, 16, &c) != digits)
        bad_escape(p, t, "incomplete escape");
    else if (c > 0x10FFFF)
        bad_escape(p, t, "bad escape");
    return c;
}

static uint32_t read_named(struct pyreader *p)
{
    struct name name;
    if (!tokens_match(&p->in, '{'))
        tokens_error(&p->in, p->in.next.pos, "missing {");
    else if (tokens_until(&p->in, '}', "character name", &name))
        error_set(p->err, ERR_UNSUPPORTED, NULL, NO_OFFSET,
                  "\\N{%.*s} is not supported: write the character or its \\uXXXX",
                  (int)(name.len < 60 ? name.len : 60), name.at);
    return 0;
}

/* The character of an octal escape: its first digit is `t`, and up to `more` follow. */
uint32_t pyescape_octal(struct pyreader *p, struct token t, unsigned more)
{
    uint32_t c = t.c - '0';
    tokens_number(&p->in, more, OCT_DIGITS, 8, &c);
    if (c > 0377) {
        struct name escape = tokens_since(&p->in, t);
        tokens_error(&p->in, t.pos, "octal escape value %.*s outside of range 0-0o377",
                     (int)escape.len, escape.at);
    }
    return c;
}

/* Escapes that mean one character, inside and outside of sets. The caller has handled digits and
 * classes. */
uint32_t pyescape_char(struct pyreader *p, struct token t)
{
    switch (t.c) {
    case 'x': return read_hex(p, t, 2);
    case 'u': return read_hex(p, t, 4);
    case 'U': return read_hex(p, t, 8);
    case 'N': return read_named(p);
    default:
        if (escape_control(t.c))
            return escape_control(t.c);
        if (token_escapes_letter(t) || token_escapes_digit(t))
            bad_escape(p, t, "bad escape");
        return t.c;
    }
}

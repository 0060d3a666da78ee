#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "catalog/base/list.h"
#include "catalog/maps/regex/pytext.h"
#include "catalog/maps/regex/pytoken.h"
#include "catalog/maps/regex/regex.h"

#define LITERAL UINT_MAX

struct piece {
    unsigned group; /* LITERAL: `len` bytes of the template's literals */
    size_t len;
};

struct template
{
    struct text literals; /* the literal text of all pieces, concatenated */
    struct piece *pieces;
    size_t count, space;
};

struct reader {
    struct tokens in;
    struct template *to;
    const struct regex *re;
    struct error *err;
};

static void template_add_piece(struct reader *r, struct piece piece)
{
    struct template *t = r->to;
    struct piece *grown = list_grow(t->pieces, t->count, &t->space, sizeof(*grown));
    if (!grown) {
        error_memory(r->err);
        return;
    }
    t->pieces = grown;
    t->pieces[t->count++] = piece;
}

/* Make a piece of the literal text added since `literals` was `before` bytes long, or extend the
 * last piece. */
static void grow_literal(struct reader *r, size_t before)
{
    struct template *t = r->to;
    size_t len = t->literals.len - before;
    if (t->count && t->pieces[t->count - 1].group == LITERAL)
        t->pieces[t->count - 1].len += len;
    else
        template_add_piece(r, (struct piece){LITERAL, len});
}

static void add_char(struct reader *r, uint32_t c)
{
    size_t before = r->to->literals.len;
    pytext_encode(&r->to->literals, c);
    grow_literal(r, before);
}

static void add_source(struct reader *r, struct token t)
{
    size_t before = r->to->literals.len;
    text_add(&r->to->literals, r->in.source + t.at, t.len);
    grow_literal(r, before);
}

static void template_add_group(struct reader *r, uint64_t group, const char *digits, size_t pos)
{
    if (group > regex_groups(r->re))
        tokens_error(&r->in, pos, "invalid group reference %s", digits);
    else
        template_add_piece(r, (struct piece){(unsigned)group, 0});
}

static void add_numbered(struct reader *r, struct name name)
{
    struct text digits = {0};
    const bool number = pytext_int(name.at, name.len, &digits);
    if (digits.failed)
        error_memory(r->err);
    else if (!number || digits.at[0] == '-')
        tokens_name_error(&r->in, "bad character in group name", name);
    else
        template_add_group(r, digits.len > 10 ? UINT64_MAX : strtoull(digits.at, NULL, 10),
                           digits.at, name.pos);
    text_release(&digits);
}

/* \g<name> or \g<number>. */
static void read_group(struct reader *r)
{
    struct name name;
    if (!tokens_match(&r->in, '<')) {
        tokens_error(&r->in, r->in.next.pos, "missing <");
        return;
    }
    if (!tokens_until(&r->in, '>', "group name", &name))
        return;
    if (!pytext_isidentifier(name.at, name.len)) {
        add_numbered(r, name);
        return;
    }
    int group = regex_group_named(r->re, name.at, name.len);
    if (group < 0)
        tokens_index_error(&r->in, "unknown group name", name);
    else
        template_add_piece(r, (struct piece){(unsigned)group, 0});
}

/* A number after a backslash: an octal character if it starts with 0 or has three octal
 * digits, else a group of one or two digits. */
static void template_read_number(struct reader *r, struct token t)
{
    struct tokens ahead = r->in;
    uint32_t c = t.c - '0';
    bool octal = t.c == '0';
    if (octal) {
        tokens_number(&r->in, 2, OCT_DIGITS, 8, &c);
    } else if (t.c <= '7' && tokens_number(&ahead, 2, OCT_DIGITS, 8, &c) == 2) {
        octal = true;
        r->in = ahead;
    }
    if (octal && c > 0377) {
        struct name escape = tokens_since(&r->in, t);
        tokens_error(&r->in, t.pos, "octal escape value %.*s outside of range 0-0o377",
                     (int)escape.len, escape.at);
    } else if (octal) {
        add_char(r, c);
    } else {
        char digits[3] = {(char)t.c};
        if (token_in(r->in.next, DIGITS))
            digits[1] = (char)tokens_take(&r->in).c;
        template_add_group(r, strtoull(digits, NULL, 10), digits, t.pos + 1);
    }
}

static void template_read_escape(struct reader *r, struct token t)
{
    if (t.c == 'g')
        read_group(r);
    else if (token_escapes_digit(t))
        template_read_number(r, t);
    else if (escape_control(t.c))
        add_char(r, escape_control(t.c));
    else if (token_escapes_letter(t))
        tokens_error(&r->in, t.pos, "bad escape \\%c", (int)t.c);
    else
        add_source(r, t); /* keeps its backslash */
}

enum status template_compile(const char *text, size_t len, const struct regex *re,
                             struct template **out, bool *index_error, struct error *err)
{
    if (!utf8_valid(text, len))
        return error_set(err, ERR_ARGUMENT, NULL, NO_OFFSET, "the template is not UTF-8");
    struct template *to = calloc(1, sizeof(*to));
    if (!to)
        return error_memory(err);
    struct reader r = {.to = to, .re = re, .err = err};
    tokens_open(&r.in, text, len, err);
    while (r.in.next.chars && err->status == OK) {
        struct token t = tokens_take(&r.in);
        if (err->status == OK && t.chars == 2)
            template_read_escape(&r, t);
        else if (err->status == OK)
            add_source(&r, t);
    }
    if (to->literals.failed)
        error_memory(err);
    if (index_error)
        *index_error = err->code && strcmp(err->code, "IndexError") == 0;
    if (err->status == OK)
        *out = to;
    else
        template_free(to);
    return err->status;
}

void template_free(struct template *t)
{
    if (!t)
        return;
    text_release(&t->literals);
    free(t->pieces);
    free(t);
}

bool template_expand(const struct template *t, const struct regex *re, const char *text,
                     struct text *out)
{
    const char *literal = t->literals.at;
    for (size_t i = 0; i < t->count; i++) {
        size_t begin = 0, end = 0;
        if (t->pieces[i].group == LITERAL) {
            text_add(out, literal, t->pieces[i].len);
            literal += t->pieces[i].len;
        } else if (regex_span(re, t->pieces[i].group, &begin, &end)) {
            text_add(out, text + begin, end - begin);
        }
    }
    return !out->failed;
}

int regex_replace(struct regex *re, const struct template *t, const char *text, size_t len,
                  struct text *out, struct error *err)
{
    size_t done = 0, begin = 0, end = 0;
    int count = 0, found = regex_exec(re, text, len, 0, err);
    while (found == 1 && !out->failed) {
        count += count < INT_MAX;
        regex_span(re, 0, &begin, &end);
        text_add(out, text + done, begin - done);
        template_expand(t, re, text, out);
        done = end;
        found = regex_exec_next(re, text, len, err);
    }
    text_add(out, text + done, len - done);
    return found < 0 ? -1 : count;
}

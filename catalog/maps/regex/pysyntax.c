#include "catalog/maps/regex/pyreader.h"

#include <stdlib.h>
#include <string.h>

#define PATTERN_MAX ((size_t)64 << 10)
#define REPEAT_MAX  65535 /* PCRE2's limit */

/* --- quantifiers ------------------------------------------------------------------- */

/* Read {n}, {m,n}, {m,}, {,n} or {,} after its brace; false, and nothing read, if it is anything
 * else. */
static bool read_counts(struct pyreader *p, struct token open, uint32_t *low, uint32_t *high)
{
    struct tokens back = p->in;
    uint32_t min = 0, max = 0;
    if (token_is(p->in.next, '}'))
        return false;
    unsigned min_digits = tokens_number(&p->in, UINT32_MAX, DIGITS, 10, &min), max_digits;
    bool range = tokens_match(&p->in, ',');
    if (range) {
        max_digits = tokens_number(&p->in, UINT32_MAX, DIGITS, 10, &max);
    } else {
        max_digits = min_digits;
        max = min;
    }
    if (!tokens_match(&p->in, '}')) {
        p->in = back;
        return false;
    }
    *low = min;
    *high = max_digits ? max : FOREVER;
    if (min == UINT32_MAX || (max_digits && max == UINT32_MAX)) {
        error_set(p->err, ERR_ARGUMENT, NULL, NO_OFFSET, "the repetition number is too large");
        error_code(p->err, "OverflowError");
    } else if (*high < *low) {
        tokens_error(&p->in, open.pos + 1, "min repeat greater than max repeat");
    }
    return true;
}

static void put_quantifier(struct pyreader *p, struct token t, uint32_t low, uint32_t high)
{
    const struct text *before = p->out;
    bool group = before->len > 0 && before->at[before->len - 1] == ')';
    if (t.c != '{')
        text_addc(p->out, (char)t.c);
    else if (high == FOREVER)
        text_addf(p->out, "{%u,}", low);
    else
        text_addf(p->out, "{%u,%u}", low, high);
    if (tokens_match(&p->in, '?')) {
        text_addc(p->out, '?');
    } else if (tokens_match(&p->in, '+')) {
        text_addc(p->out, '+');
        p->syntax->possessive = p->syntax->possessive || group;
    }
    if (low > REPEAT_MAX || (high > REPEAT_MAX && high != FOREVER))
        reader_unsupported(p, "more than 65535 repetitions are not supported");
}

static void read_repeat(struct pyreader *p, struct token t)
{
    uint32_t low = t.c == '+', high = t.c == '?' ? 1 : FOREVER;
    if (t.c == '{' && !read_counts(p, t, &low, &high)) {
        pyset_literal(p, '{');
        return;
    }
    struct frame *f = reader_top(p);
    if (f->item == ITEM_NONE || f->item == ITEM_POSITION)
        tokens_error(&p->in, t.pos, "nothing to repeat");
    else if (f->item == ITEM_REPEAT)
        tokens_error(&p->in, t.pos, "multiple repeat");
    f->item = ITEM_REPEAT;
    f->item_width = width_capped(f->item_width.low * low, f->item_width.high * high,
                                 known_repeat(p, f->item_width.known, low, high));
    put_quantifier(p, t, low, high);
}

/* --- the whole --------------------------------------------------------------------- */

/* In verbose mode: skip white space or a comment; false if `t` is neither. */
static bool skip_verbose(struct pyreader *p, struct token t)
{
    if (token_is(t, '#'))
        do
            t = tokens_take(&p->in);
        while (t.chars && !token_is(t, '\n'));
    else if (!token_in(t, " \t\n\r\v\f"))
        return false;
    return true;
}

static void read_token(struct pyreader *p, struct token t)
{
    if (t.chars == 2) {
        pyescape_read(p, t);
        return;
    }
    switch (t.c) {
    case '[': pyset_read(p, t); break;
    case '*':
    case '+':
    case '?':
    case '{': read_repeat(p, t); break;
    case '(': pygroup_open(p, t); break;
    case '.':
        text_addc(p->out, '.');
        reader_add(p, ITEM_OTHER, WIDTH_ONE);
        break;
    case '^':
    case '$':
        text_addc(p->out, (char)t.c);
        reader_add(p, ITEM_POSITION, WIDTH_NONE);
        reader_top(p)->ends = t.c == '$' && !(reader_top(p)->flags & FLAG_M);
        break;
    default: pyset_literal(p, t.c);
    }
}

static void read_whole(struct pyreader *p)
{
    while (p->in.next.chars && !reader_failed(p)) {
        struct token t = p->in.next;
        bool taken = !token_in(t, ")|");
        if (taken)
            tokens_take(&p->in);
        /* tokens_take() reads one token ahead, so it may report an error in the next one. */
        if (reader_failed(p))
            break;
        if (token_is(t, ')'))
            pygroup_close(p, t);
        else if (token_is(t, '|'))
            pygroup_bar(p, t);
        else if (!(reader_top(p)->flags & FLAG_X) || !skip_verbose(p, t))
            read_token(p, t);
        if (!taken)
            tokens_take(&p->in);
    }
    pygroup_check(p);
    if (p->frames[0].flags & FLAG_T)
        reader_unsupported(p, "the flag t (TEMPLATE) is not supported");
    if (!reader_failed(p) && p->unsupported)
        error_set(p->err, ERR_UNSUPPORTED, NULL, NO_OFFSET, "%s", p->unsupported);
    if (!reader_failed(p) &&
        (!text_str(p->out) || (p->keys && !known_finish(p, p->frames[0].branches.known))))
        error_memory(p->err);
}

enum status pysyntax_read(const char *pattern, size_t len, const struct pysyntax_keys *keys,
                          struct pysyntax *out, struct error *err)
{
    *out = (struct pysyntax){0};
    if (len > PATTERN_MAX)
        return error_set(err, ERR_UNSUPPORTED, NULL, NO_OFFSET,
                         "a pattern of more than %zu bytes is not supported", PATTERN_MAX);
    struct pyreader *p = calloc(1, sizeof(*p));
    out->source = malloc(len + 1);
    if (!p || !out->source) {
        free(p);
        return error_memory(err);
    }
    if (len)
        memcpy(out->source, pattern, len);
    p->out = &out->pcre;
    p->syntax = out;
    p->err = err;
    p->keys = keys;
    tokens_open(&p->in, out->source, len, err);
    read_whole(p);
    arena_release(&p->memory);
    free(p);
    return err->status;
}

void pysyntax_release(struct pysyntax *s)
{
    text_release(&s->pcre);
    strmap_release(&s->names);
    free(s->source);
    s->source = NULL;
}

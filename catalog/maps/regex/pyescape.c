#include "catalog/maps/regex/pyreader.h"

/* \0, and a number of three octal digits, is a character; any other number is a group. */
static void pyescape_read_number(struct pyreader *p, struct token t)
{
    if (t.c == '0') {
        pyset_literal(p, pyescape_octal(p, t, 2));
        return;
    }
    struct tokens ahead = p->in;
    uint32_t value = 0;
    if (t.c <= '7' && tokens_number(&ahead, 2, OCT_DIGITS, 8, &value) == 2) {
        pyset_literal(p, pyescape_octal(p, t, 2));
        return;
    }
    value = t.c - '0';
    tokens_number(&p->in, 1, DIGITS, 10, &value);
    if (value > p->syntax->groups)
        tokens_error(&p->in, t.pos + 1, "invalid group reference %u", value);
    else
        pygroup_refer(p, value, t.pos);
}

void pyescape_read(struct pyreader *p, struct token t)
{
    if (pyset_class(p, t.c)) {
        bool negated = t.c < 'a';
        text_addf(p->out, "[%s%s]", negated ? "^" : "", pyset_class(p, t.c | 0x20));
        reader_add(p, ITEM_OTHER, WIDTH_ONE);
    } else if (t.c == 'A' || t.c == 'Z') {
        text_adds(p->out, t.c == 'A' ? "\\A" : "\\z");
        reader_add(p, ITEM_POSITION, WIDTH_NONE);
        reader_top(p)->ends = t.c == 'Z';
    } else if (t.c == 'b' || t.c == 'B') {
        /* As a condition: if a word character precedes, \b wants none to follow, else it wants one; \B the
         * other way round. In Python \B never matches in an empty text. */
        const char *word = pyset_class(p, 'w');
        text_addf(p->out,
                  t.c == 'b' ? "(?(?<=[%s])(?![%s])|(?=[%s]))"
                             : "(?!\\A\\z)(?(?<=[%s])(?=[%s])|(?![%s]))",
                  word, word, word);
        reader_add(p, ITEM_POSITION, WIDTH_NONE);
    } else if (token_escapes_digit(t)) {
        pyescape_read_number(p, t);
    } else {
        uint32_t c = pyescape_char(p, t);
        if (!reader_failed(p))
            pyset_literal(p, c);
    }
}

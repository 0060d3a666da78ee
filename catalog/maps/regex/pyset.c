#include "catalog/maps/regex/pyreader.h"

#include <string.h>

#include "catalog/maps/regex/pytext.h"

/* PCRE2 folds the code points of a range one by one: 0.1 s for this many. */
#define FOLDED_MAX (UINT32_C(1) << 25)

#define SURROGATE(c) ((c) >= 0xD800 && (c) <= 0xDFFF)

/*
 * Python's classes as the inside of a set, ASCII first because PCRE2 looks ASCII up in a
 * bitmap. \w is str.isalnum() and the underscore, \s is str.isspace().
 */
#define SPACE                                                                                      \
    "\\t-\\r\\x{1c}-\\ \\x{85}\\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}"               \
    "\\x{202f}\\x{205f}\\x{3000}"
#define NOT_SPACE                                                                                  \
    "!-~\\x{0}-\\x{8}\\x{e}-\\x{1b}\\x{7f}-\\x{84}\\x{86}-\\x{9f}\\p{L}\\p{M}\\p{N}"               \
    "\\p{P}\\p{S}\\p{Cf}\\p{Cn}\\p{Co}"
#define NOT_WORD                                                                                   \
    "\\x{0}-/:-@\\[-\\^`{-\\x{7f}\\p{C}\\p{M}\\p{S}\\p{Z}\\p{Pd}\\p{Pe}\\p{Pf}\\p{Pi}"             \
    "\\p{Po}\\p{Ps}\\x{203f}\\x{2040}\\x{2054}\\x{fe33}\\x{fe34}\\x{fe4d}-\\x{fe4f}"               \
    "\\x{ff3f}"

static const struct {
    char letter;
    const char *unicode, *ascii;
} classes[] = {
    {'d', "0-9\\p{Nd}", "0-9"},
    {'D', "\\P{Nd}", "\\x{0}-/:-\\x{10ffff}"},
    {'s', SPACE, "\\t-\\r\\ "},
    {'S', NOT_SPACE, "\\x{0}-\\x{8}\\x{e}-\\x{1f}!-\\x{10ffff}"},
    {'w', "0-9A-Z_a-z\\p{L}\\p{N}", "0-9A-Z_a-z"},
    {'W', NOT_WORD, "\\x{0}-/:-@\\[-\\^`{-\\x{10ffff}"},
};

const char *pyset_class(struct pyreader *p, uint32_t letter)
{
    bool ascii = reader_top(p)->flags & FLAG_A;
    for (size_t i = 0; i < sizeof(classes) / sizeof(classes[0]); i++)
        if (letter == (unsigned char)classes[i].letter)
            return ascii ? classes[i].ascii : classes[i].unicode;
    return NULL;
}

/* Write one character so that it is valid inside and outside of a set. No text contains a
 * surrogate, so a surrogate in a pattern becomes a class that matches nothing. */
static void put_char(struct text *out, uint32_t c)
{
    if (SURROGATE(c))
        text_adds(out, "\\p{Cs}");
    else if (c >= 0xA0)
        pytext_encode(out, c);
    else if (c > 0x7E || c < ' ')
        text_addf(out, "\\x{%x}", c);
    else if (strchr("\\^$.:=[]|()?*+{}-#&~ ", (int)c))
        text_addf(out, "\\%c", (int)c);
    else
        text_addc(out, (char)c);
}

bool pyset_folds_ascii(struct pyreader *p)
{
    return (reader_top(p)->flags & FLAG_I) && (reader_top(p)->flags & FLAG_A);
}

static bool folds_unicode(struct pyreader *p)
{
    return (reader_top(p)->flags & FLAG_I) && !(reader_top(p)->flags & FLAG_A);
}

static bool is_letter(uint32_t c)
{
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

/* Letters that Python treats as cases of each other, but PCRE2 10.42 does not: simple case mappings
 * in only one direction, and letters that are equal only under Unicode's full case mappings. */
static const struct {
    const char *set;
    uint32_t letters[4];
} same_letters[] = {
    {"Ii\\x{130}\\x{131}", {'I', 'i', 0x130, 0x131}},
    {"\\x{390}\\x{1fd3}", {0x390, 0x1FD3, 0x390, 0x390}},
    {"\\x{3b0}\\x{1fe3}", {0x3B0, 0x1FE3, 0x3B0, 0x3B0}},
    {"\\x{fb05}\\x{fb06}", {0xFB05, 0xFB06, 0xFB05, 0xFB05}},
};
#define SAME_LETTERS (sizeof(same_letters) / sizeof(same_letters[0]))

/* The letters of entry `i`, if the range contains any; else "". */
static const char *same_set(size_t i, uint32_t low, uint32_t high)
{
    for (size_t k = 0; k < 4; k++)
        if (low <= same_letters[i].letters[k] && same_letters[i].letters[k] <= high)
            return same_letters[i].set;
    return "";
}

static void put_range(struct text *out, uint32_t low, uint32_t high)
{
    if (SURROGATE(low))
        low = 0xE000;
    if (SURROGATE(high))
        high = 0xD7FF;
    if (low > high) {
        put_char(out, 0xD800);
        return;
    }
    put_char(out, low);
    if (low == high)
        return;
    text_addc(out, '-');
    put_char(out, high);
}

/* Write the part of a range that is among the 26 letters from `from` on, shifted to the other
 * case. */
static void put_other_case(struct text *out, uint32_t low, uint32_t high, uint32_t from, int shift)
{
    uint32_t to = from + 25;
    low = low > from ? low : from;
    high = high < to ? high : to;
    if (low <= high)
        put_range(out, low + (uint32_t)shift, high + (uint32_t)shift);
}

/* Write a range in a set, and the other cases of its letters if PCRE2 does not add them. Note its
 * members, if they are few and have one case. */
static void put_set_range(struct pyreader *p, uint32_t low, uint32_t high)
{
    const bool folds = reader_top(p)->flags & FLAG_I;
    if (p->members > REGEX_LITERALS || high - low >= REGEX_LITERALS - p->members)
        p->members = SIZE_MAX;
    for (uint32_t c = low; p->members != SIZE_MAX && c <= high; c++)
        if (SURROGATE(c) || (folds && (is_letter(c) || c >= 0x80)))
            p->members = SIZE_MAX;
        else
            p->member[p->members++] = c;
    put_range(p->out, low, high);
    for (size_t i = 0; folds_unicode(p) && i < SAME_LETTERS; i++)
        text_adds(p->out, same_set(i, low, high));
    if (folds_unicode(p) && (p->folded += high - low) > FOLDED_MAX) {
        reader_unsupported(p, "more wide ranges that ignore case than are supported");
        p->folded = 0;
    }
    if (pyset_folds_ascii(p)) {
        put_other_case(p->out, low, high, 'A', 'a' - 'A');
        put_other_case(p->out, low, high, 'a', 'A' - 'a');
    }
}

void pyset_literal(struct pyreader *p, uint32_t c)
{
    bool set = pyset_folds_ascii(p) && is_letter(c);
    for (size_t i = 0; folds_unicode(p) && i < SAME_LETTERS; i++)
        set = set || *same_set(i, c, c);
    text_adds(p->out, set ? "[" : "");
    p->members = 0;
    put_set_range(p, c, c);
    text_adds(p->out, set ? "]" : "");
    reader_add(p, ITEM_OTHER, (struct width){1, 1, known_member(p)});
}

/* --- sets -------------------------------------------------------------------------- */

struct member {
    const char *set; /* a class, else NULL */
    uint32_t c;
};

static struct member read_member(struct pyreader *p, struct token t)
{
    struct member m = {.c = t.c};
    if (t.chars < 2)
        return m;
    m.set = pyset_class(p, t.c);
    if (!m.set && t.c >= '0' && t.c <= '7')
        m.c = pyescape_octal(p, t, 2);
    else if (!m.set)
        m.c = pyescape_char(p, t);
    return m;
}

static void put_member(struct pyreader *p, struct member m)
{
    if (m.set) {
        text_adds(p->out, m.set);
        p->members = SIZE_MAX;
    } else {
        put_set_range(p, m.c, m.c);
    }
}

/* Read member `t` of a set, or the range that it begins. True: the set is complete. */
static bool read_set_item(struct pyreader *p, struct token t, size_t open_pos)
{
    struct member low = read_member(p, t);
    if (!tokens_match(&p->in, '-')) {
        put_member(p, low);
        return false;
    }
    struct token that = tokens_take(&p->in);
    if (!that.chars)
        tokens_error(&p->in, open_pos, "unterminated character set");
    if (token_is(that, ']')) {
        put_member(p, low);
        put_set_range(p, '-', '-');
        return true;
    }
    struct member high = read_member(p, that);
    if (low.set || high.set || high.c < low.c)
        tokens_error(&p->in, p->in.next.pos - (t.chars + 1 + that.chars),
                     "bad character range %.*s-%.*s", (int)t.len, p->in.source + t.at,
                     (int)that.len, p->in.source + that.at);
    else
        put_set_range(p, low.c, high.c);
    return false;
}

void pyset_read(struct pyreader *p, struct token open)
{
    const bool negated = tokens_match(&p->in, '^');
    text_adds(p->out, negated ? "[^" : "[");
    p->members = negated ? SIZE_MAX : 0;
    bool done = false;
    for (bool first = true; !done && !reader_failed(p); first = false) {
        struct token t = tokens_take(&p->in);
        if (!t.chars)
            tokens_error(&p->in, open.pos, "unterminated character set");
        else if (token_is(t, ']') && !first)
            done = true;
        else
            done = read_set_item(p, t, open.pos);
    }
    text_addc(p->out, ']');
    reader_add(p, ITEM_OTHER, (struct width){1, 1, known_member(p)});
}

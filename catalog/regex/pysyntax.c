#include "catalog/regex/pysyntax.h"

#include <stdlib.h>
#include <string.h>

#include "catalog/base/arena.h"
#include "catalog/regex/pytext.h"
#include "catalog/regex/pytoken.h"

#define PATTERN_MAX ((size_t)64 << 10)
#define NESTING_MAX 200 /* under PCRE2's own 250 */
#define REPEAT_MAX  65535
#define FOLDED_MAX                                                                       \
    (UINT32_C(1) << 25)         /* PCRE2 folds a range one by one: 0.1 s for these */
#define FOREVER      UINT32_MAX /* Python's MAXREPEAT: no upper bound */
#define GROUP_MAX    1073741823 /* what Python refuses outright in a condition */
#define SURROGATE(c) ((c) >= 0xD800 && (c) <= 0xDFFF)

enum flag {
    FLAG_I = 1 << 0,
    FLAG_L = 1 << 1,
    FLAG_M = 1 << 2,
    FLAG_S = 1 << 3,
    FLAG_X = 1 << 4,
    FLAG_A = 1 << 5,
    FLAG_T = 1 << 6,
    FLAG_U = 1 << 7,
    FLAGS_TYPE = FLAG_A | FLAG_L | FLAG_U,
};
static const char flag_letters[] = "iLmsxatu"; /* in the order of their bits */

/* How many code points an expression may take; both ends stop at FOREVER. */
struct width {
    uint64_t low, high;
};
static const struct width width_none = {0, 0}, width_one = {1, 1};

enum frame_kind {
    FRAME_WHOLE,
    FRAME_CAPTURE,
    FRAME_PLAIN, /* also atomic */
    FRAME_AHEAD,
    FRAME_BEHIND,
    FRAME_CONDITION,
};

/* What a quantifier would repeat. */
enum item {
    ITEM_NONE,
    ITEM_POSITION, /* ^ $ \b and the like: not repeatable */
    ITEM_REPEAT,   /* has its quantifier */
    ITEM_OTHER,
};

/* An open group. */
struct frame {
    enum frame_kind kind;
    size_t pos;     /* of its parenthesis */
    unsigned group; /* its number, if it captures */
    unsigned flags; /* in force */
    bool outermost; /* of look-behinds */
    unsigned bars;  /* alternatives closed */
    enum item item; /* the last one, and how wide it is */
    struct width item_width;
    struct width branch;   /* this alternative without `item` */
    struct width branches; /* the alternatives closed */
};

struct group {
    struct width width;
    bool closed;
};

/* A condition on a group that may come later or never. */
struct condition {
    struct name name;
    uint32_t group;
};

struct parser {
    struct tokens in;
    struct text *out;
    struct pysyntax *syntax;
    struct error *err;
    struct arena memory;     /* of what only reading needs */
    const char *unsupported; /* the first such thing, in case Python has no complaint */
    bool uneven_behind;
    uint32_t folded;     /* code points in ranges that PCRE2 is to fold */
    struct group *group; /* group[n] has number n + 1 */
    size_t group_space;
    struct condition *condition;
    size_t conditions, condition_space;
    unsigned behind; /* groups there were when the outermost look-behind began */
    bool in_behind;
    unsigned depth;
    struct frame frames[NESTING_MAX + 1];
};

/* --- widths ------------------------------------------------------------------------------- */

static struct width width_capped(uint64_t low, uint64_t high)
{
    return (struct width){low < FOREVER ? low : FOREVER - 1,
                          high < FOREVER ? high : FOREVER};
}

static struct width width_sum(struct width a, struct width b)
{
    return width_capped(a.low + b.low, a.high + b.high);
}

static struct width width_either(struct width a, struct width b)
{
    return (struct width){a.low < b.low ? a.low : b.low,
                          a.high > b.high ? a.high : b.high};
}

static struct frame *top(struct parser *p)
{
    return &p->frames[p->depth];
}

static void add_item(struct parser *p, enum item item, struct width width)
{
    struct frame *f = top(p);
    f->branch = width_sum(f->branch, f->item_width);
    f->item = item;
    f->item_width = width;
}

static void end_branch(struct frame *f)
{
    struct width w = width_sum(f->branch, f->item_width);
    f->branches = f->bars ? width_either(f->branches, w) : w;
    f->bars++;
    f->item = ITEM_NONE;
    f->item_width = f->branch = width_none;
}

static bool failed(const struct parser *p)
{
    return p->err->status != OK;
}

static void note_unsupported(struct parser *p, const char *what)
{
    if (!p->unsupported)
        p->unsupported = what;
}

/* --- characters and sets ------------------------------------------------------------------ */

/*
 * Python's classes as the inside of a set, ASCII first because PCRE2 looks that up in a bit
 * map. \w is str.isalnum() and the underscore, \s is str.isspace().
 */
static const struct {
    char letter;
    const char *unicode, *ascii;
} classes[] = {
    {'d', "0-9\\p{Nd}",             "0-9"                                     },
    {'D', "\\P{Nd}",                "\\x{0}-/:-\\x{10ffff}"                   },
    {'s',
     "\\t-\\r\\x{1c}-\\ \\x{85}\\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}"
     "\\x{202f}\\x{205f}\\x{3000}", "\\t-\\r\\ "                              },
    {'S',
     "!-~\\x{0}-\\x{8}\\x{e}-\\x{1b}\\x{7f}-\\x{84}\\x{86}-\\x{9f}\\p{L}\\p{M}\\p{N}\\p{"
     "P}"
     "\\p{S}\\p{Cf}\\p{Cn}\\p{Co}", "\\x{0}-\\x{8}\\x{e}-\\x{1f}!-\\x{10ffff}"},
    {'w', "0-9A-Z_a-z\\p{L}\\p{N}", "0-9A-Z_a-z"                              },
    {'W',
     "\\x{0}-/:-@\\[-\\^`{-\\x{7f}\\p{C}\\p{M}\\p{S}\\p{Z}\\p{Pd}\\p{Pe}\\p{Pf}\\p{Pi}"
     "\\p{Po}\\p{Ps}\\x{203f}\\x{2040}\\x{2054}\\x{fe33}\\x{fe34}\\x{fe4d}-\\x{fe4f}"
     "\\x{ff3f}",                   "\\x{0}-/:-@\\[-\\^`{-\\x{10ffff}"        },
};

static const char *class_set(struct parser *p, uint32_t letter)
{
    bool ascii = top(p)->flags & FLAG_A;
    for (size_t i = 0; i < sizeof(classes) / sizeof(classes[0]); i++)
        if (letter == (unsigned char)classes[i].letter)
            return ascii ? classes[i].ascii : classes[i].unicode;
    return NULL;
}

/* One character, good inside and outside of a set. No text holds a surrogate, so one that a
 * pattern asks for is a class without members. */
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

/* The case folding of Python's ASCII mode, which PCRE2 10.42 cannot do: letter by letter. */
static bool folds_ascii(const struct frame *f)
{
    return (f->flags & FLAG_I) && (f->flags & FLAG_A);
}

static bool folds_unicode(const struct frame *f)
{
    return (f->flags & FLAG_I) && !(f->flags & FLAG_A);
}

static bool is_letter(uint32_t c)
{
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

/* What is one letter in several cases to Python, but not to PCRE2 10.42: simple case mappings
 * in only one direction, and letters that differ only in Unicode's full case mappings. */
static const struct {
    const char *set;
    uint32_t letters[4];
} same_letters[] = {
    {"Ii\\x{130}\\x{131}", {'I', 'i', 0x130, 0x131}        },
    {"\\x{390}\\x{1fd3}",  {0x390, 0x1FD3, 0x390, 0x390}   },
    {"\\x{3b0}\\x{1fe3}",  {0x3B0, 0x1FE3, 0x3B0, 0x3B0}   },
    {"\\x{fb05}\\x{fb06}", {0xFB05, 0xFB06, 0xFB05, 0xFB05}},
};
#define SAME_LETTERS (sizeof(same_letters) / sizeof(same_letters[0]))

/* The members to add to a range that has a letter of entry `i`; "" if it has none. */
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

/* The part of a range within `from`..`to`, moved by `shift`. */
static void put_other_case(struct text *out, uint32_t low, uint32_t high, uint32_t from,
                           int shift)
{
    uint32_t to = from + 25;
    low = low > from ? low : from;
    high = high < to ? high : to;
    if (low <= high)
        put_range(out, low + (uint32_t)shift, high + (uint32_t)shift);
}

/* A range in a set, with the other cases of its letters where PCRE2 does not add them. */
static void put_set_range(struct parser *p, uint32_t low, uint32_t high)
{
    const struct frame *f = top(p);
    put_range(p->out, low, high);
    for (size_t i = 0; folds_unicode(f) && i < SAME_LETTERS; i++)
        text_adds(p->out, same_set(i, low, high));
    if (folds_unicode(f) && (p->folded += high - low) > FOLDED_MAX) {
        note_unsupported(p, "so many wide ranges that ignore case are not supported");
        p->folded = 0;
    }
    if (folds_ascii(f)) {
        put_other_case(p->out, low, high, 'A', 'a' - 'A');
        put_other_case(p->out, low, high, 'a', 'A' - 'a');
    }
}

static void add_literal(struct parser *p, uint32_t c)
{
    const struct frame *f = top(p);
    bool set = folds_ascii(f) && is_letter(c);
    for (size_t i = 0; folds_unicode(f) && i < SAME_LETTERS; i++)
        set = set || *same_set(i, c, c);
    text_adds(p->out, set ? "[" : "");
    put_set_range(p, c, c);
    text_adds(p->out, set ? "]" : "");
    add_item(p, ITEM_OTHER, width_one);
}

/* --- escapes ------------------------------------------------------------------------------ */

static void bad_escape(struct parser *p, struct token t, const char *what)
{
    struct name escape = tokens_since(&p->in, t);
    tokens_error(&p->in, t.pos, "%s %.*s", what, (int)escape.len, escape.at);
}

static uint32_t read_hex(struct parser *p, struct token t, unsigned digits)
{
    uint32_t c = 0;
    if (tokens_number(&p->in, digits, HEX_DIGITS, 16, &c) != digits)
        bad_escape(p, t, "incomplete escape");
    else if (c > 0x10FFFF)
        bad_escape(p, t, "bad escape");
    return c;
}

static uint32_t read_named(struct parser *p)
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

/* Escapes that are one character wherever they stand; digits and classes are done. */
static uint32_t read_escaped_char(struct parser *p, struct token t)
{
    switch (t.c) {
    case 'x':
        return read_hex(p, t, 2);
    case 'u':
        return read_hex(p, t, 4);
    case 'U':
        return read_hex(p, t, 8);
    case 'N':
        return read_named(p);
    default:
        if (escape_control(t.c))
            return escape_control(t.c);
        if (is_letter(t.c) || (t.c >= '0' && t.c <= '9'))
            bad_escape(p, t, "bad escape");
        return t.c;
    }
}

/* A number of octal digits, whose first is `t`. */
static uint32_t read_octal(struct parser *p, struct token t, unsigned more)
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

static bool group_closed(const struct parser *p, uint32_t group)
{
    return group <= p->syntax->groups && p->group[group - 1].closed;
}

/* A look-behind may not refer to what it captures itself. */
static void check_behind(struct parser *p, uint32_t group)
{
    size_t pos = p->in.next.pos;
    if (!p->in_behind)
        return;
    if (!group_closed(p, group))
        tokens_error(&p->in, pos, "cannot refer to an open group");
    else if (group > p->behind)
        tokens_error(&p->in, pos,
                     "cannot refer to group defined in the same lookbehind subpattern");
}

/* A reference to an existing group; `pos` is where to complain. */
static void add_reference(struct parser *p, uint32_t group, size_t pos)
{
    if (!group_closed(p, group))
        tokens_error(&p->in, pos, "cannot refer to an open group");
    check_behind(p, group);
    if (failed(p))
        return;
    text_addf(p->out, folds_ascii(top(p)) ? "(?i:\\g{%u})" : "\\g{%u}", group);
    add_item(p, ITEM_OTHER, p->group[group - 1].width);
}

/* \0 and three octal digits are a character, other numbers a group. */
static void read_number(struct parser *p, struct token t)
{
    if (t.c == '0') {
        add_literal(p, read_octal(p, t, 2));
        return;
    }
    struct tokens ahead = p->in;
    uint32_t value = 0;
    if (t.c <= '7' && tokens_number(&ahead, 2, OCT_DIGITS, 8, &value) == 2) {
        add_literal(p, read_octal(p, t, 2));
        return;
    }
    value = t.c - '0';
    tokens_number(&p->in, 1, DIGITS, 10, &value);
    if (value > p->syntax->groups)
        tokens_error(&p->in, t.pos + 1, "invalid group reference %u", value);
    else
        add_reference(p, value, t.pos);
}

static void put_boundary(struct parser *p, bool at)
{
    const char *word = class_set(p, 'w');
    text_addf(p->out,
              at ? "(?:(?<=[%s])(?![%s])|(?<![%s])(?=[%s]))"
                 : "(?!\\A\\z)(?:(?<=[%s])(?=[%s])|(?<![%s])(?![%s]))",
              word, word, word, word);
}

static void read_escape(struct parser *p, struct token t)
{
    if (class_set(p, t.c)) {
        bool negated = t.c < 'a';
        text_addf(p->out, "[%s%s]", negated ? "^" : "", class_set(p, t.c | 0x20));
        add_item(p, ITEM_OTHER, width_one);
    } else if (t.c == 'A' || t.c == 'Z') {
        text_adds(p->out, t.c == 'A' ? "\\A" : "\\z");
        add_item(p, ITEM_POSITION, width_none);
    } else if (t.c == 'b' || t.c == 'B') {
        put_boundary(p, t.c == 'b');
        add_item(p, ITEM_POSITION, width_none);
    } else if (t.c >= '0' && t.c <= '9') {
        read_number(p, t);
    } else {
        uint32_t c = read_escaped_char(p, t);
        if (!failed(p))
            add_literal(p, c);
    }
}

/* --- sets --------------------------------------------------------------------------------- */

struct member {
    const char *set; /* a class, else NULL */
    uint32_t c;
};

static struct member read_member(struct parser *p, struct token t)
{
    struct member m = {.c = t.c};
    if (t.chars < 2)
        return m;
    m.set = class_set(p, t.c);
    if (!m.set && t.c >= '0' && t.c <= '7')
        m.c = read_octal(p, t, 2);
    else if (!m.set)
        m.c = read_escaped_char(p, t);
    return m;
}

static void put_member(struct parser *p, struct member m)
{
    if (m.set)
        text_adds(p->out, m.set);
    else
        put_set_range(p, m.c, m.c);
}

/* A member `t` of a set, and its range if it has one. True: the set is complete. */
static bool read_set_item(struct parser *p, struct token t, size_t open_pos)
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
        put_char(p->out, '-');
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

static void read_set(struct parser *p, struct token open)
{
    text_adds(p->out, tokens_match(&p->in, '^') ? "[^" : "[");
    bool done = false;
    for (bool first = true; !done && !failed(p); first = false) {
        struct token t = tokens_take(&p->in);
        if (!t.chars)
            tokens_error(&p->in, open.pos, "unterminated character set");
        else if (token_is(t, ']') && !first)
            done = true;
        else
            done = read_set_item(p, t, open.pos);
    }
    text_addc(p->out, ']');
    add_item(p, ITEM_OTHER, width_one);
}

/* --- quantifiers -------------------------------------------------------------------------- */

/* {n}, {m,n}, {m,}, {,n} or {,} after its brace; false: it is none, and nothing was read. */
static bool read_counts(struct parser *p, struct token open, uint32_t *low,
                        uint32_t *high)
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
        error_set(p->err, ERR_ARGUMENT, NULL, NO_OFFSET,
                  "the repetition number is too large");
        error_code(p->err, "OverflowError");
    } else if (*high < *low) {
        tokens_error(&p->in, open.pos + 1, "min repeat greater than max repeat");
    }
    return true;
}

static void put_quantifier(struct parser *p, struct token t, uint32_t low, uint32_t high)
{
    if (t.c != '{')
        text_addc(p->out, (char)t.c);
    else if (high == FOREVER)
        text_addf(p->out, "{%u,}", low);
    else
        text_addf(p->out, "{%u,%u}", low, high);
    if (tokens_match(&p->in, '?'))
        text_addc(p->out, '?');
    else if (tokens_match(&p->in, '+'))
        text_addc(p->out, '+');
    if (low > REPEAT_MAX || (high > REPEAT_MAX && high != FOREVER))
        note_unsupported(p, "more than 65535 repetitions are not supported");
}

static void read_repeat(struct parser *p, struct token t)
{
    uint32_t low = t.c == '+', high = t.c == '?' ? 1 : FOREVER;
    if (t.c == '{' && !read_counts(p, t, &low, &high)) {
        add_literal(p, '{');
        return;
    }
    struct frame *f = top(p);
    if (f->item == ITEM_NONE || f->item == ITEM_POSITION)
        tokens_error(&p->in, t.pos, "nothing to repeat");
    else if (f->item == ITEM_REPEAT)
        tokens_error(&p->in, t.pos, "multiple repeat");
    f->item = ITEM_REPEAT;
    f->item_width = width_capped(f->item_width.low * low, f->item_width.high * high);
    put_quantifier(p, t, low, high);
}

/* --- flags -------------------------------------------------------------------------------- */

static unsigned flag_of(struct token t)
{
    if (!token_in(t, flag_letters))
        return 0;
    return 1u << (strchr(flag_letters, (int)t.c) - flag_letters);
}

/* "(?im-s:" or, for a flag that is to hold from here on, "(?im-s)". */
static void put_flags(struct parser *p, unsigned flags, char end)
{
    bool i = (flags & FLAG_I) && !(flags & FLAG_A);
    text_addf(p->out, "(?%s%s%s-%s%s%s%c", i ? "i" : "", flags & FLAG_M ? "m" : "",
              flags & FLAG_S ? "s" : "", i ? "" : "i", flags & FLAG_M ? "" : "m",
              flags & FLAG_S ? "" : "s", end);
}

/* The token after a flag, which is another one or one of `ends`; else an error. */
static struct token next_flag(struct parser *p, const char *ends, const char *missing)
{
    struct token t = tokens_take(&p->in);
    if (!t.chars)
        tokens_error(&p->in, p->in.next.pos, "%s", missing);
    else if (!token_in(t, ends) && !flag_of(t))
        tokens_error(&p->in, t.pos, "%s",
                     t.chars == 1 && pytext_isalpha(p->in.source + t.at, t.len)
                         ? "unknown flag"
                         : missing);
    return t;
}

static struct token read_flags_on(struct parser *p, struct token t, unsigned *on)
{
    while (!failed(p) && flag_of(t)) {
        unsigned flag = flag_of(t);
        *on |= flag;
        if (flag == FLAG_L)
            tokens_error(&p->in, p->in.next.pos,
                         "bad inline flags: cannot use 'L' flag with a str pattern");
        else if ((flag & FLAGS_TYPE) && (*on & FLAGS_TYPE) != flag)
            tokens_error(&p->in, p->in.next.pos,
                         "bad inline flags: flags 'a', 'u' and 'L' are incompatible");
        t = next_flag(p, ")-:", "missing -, : or )");
    }
    return t;
}

static void read_flags_off(struct parser *p, unsigned *off)
{
    struct token t = next_flag(p, "", "missing flag");
    while (!failed(p) && flag_of(t)) {
        *off |= flag_of(t);
        if (*off & FLAGS_TYPE)
            tokens_error(&p->in, p->in.next.pos,
                         "bad inline flags: cannot turn off flags 'a', 'u' and 'L'");
        t = next_flag(p, ":", "missing :");
    }
}

/* --- groups ------------------------------------------------------------------------------- */

static struct frame *push(struct parser *p, enum frame_kind kind, size_t pos)
{
    if (p->depth == NESTING_MAX) {
        error_set(p->err, ERR_UNSUPPORTED, NULL, NO_OFFSET,
                  "more than %d groups inside each other are not supported", NESTING_MAX);
        return NULL;
    }
    unsigned flags = top(p)->flags;
    p->depth++;
    *top(p) = (struct frame){.kind = kind, .pos = pos, .flags = flags};
    return top(p);
}

static void push_capture(struct parser *p, size_t pos, const struct name *name)
{
    struct pysyntax *s = p->syntax;
    struct group *grown =
        arena_grow(&p->memory, p->group, s->groups, &p->group_space, sizeof(*grown));
    if (!grown) {
        error_set(p->err, ERR_MEMORY, NULL, NO_OFFSET,
                  "no memory for a pattern's groups");
        return;
    }
    p->group = grown;
    p->group[s->groups++] = (struct group){.closed = false};
    if (name) {
        bool added = false;
        uint64_t *was = strmap_add(&s->names, name->at, name->len, &added);
        if (!was)
            error_set(p->err, ERR_MEMORY, NULL, NO_OFFSET,
                      "no memory for a group's name");
        else if (added)
            *was = s->groups;
        else {
            struct text message = {0};
            text_addf(&message, "redefinition of group name ");
            pytext_repr(&message, name->at, name->len);
            text_addf(&message, " as group %u; was group %u", s->groups, (unsigned)*was);
            tokens_error(&p->in, name->pos, "%s",
                         text_str(&message) ? text_str(&message) : "");
            text_release(&message);
        }
    }
    struct frame *f = push(p, FRAME_CAPTURE, pos);
    if (f)
        f->group = s->groups;
    text_addc(p->out, '(');
}

static void push_behind(struct parser *p, size_t pos, const char *opening)
{
    struct frame *f = push(p, FRAME_BEHIND, pos);
    text_adds(p->out, opening);
    if (!f || p->in_behind)
        return;
    f->outermost = true;
    p->in_behind = true;
    p->behind = p->syntax->groups;
}

static void check_name(struct parser *p, struct name name)
{
    if (!pytext_isidentifier(name.at, name.len))
        tokens_name_error(&p->in, "bad character in group name", name);
}

/* The number of a group by its name; 0 after an error. */
static uint32_t find_name(struct parser *p, struct name name)
{
    uint64_t *group = strmap_get(&p->syntax->names, name.at, name.len);
    if (!group)
        tokens_name_error(&p->in, "unknown group name", name);
    return group ? (uint32_t)*group : 0;
}

/* (?P<name>...) and (?P=name). */
static void read_extension(struct parser *p, struct token open)
{
    struct name name;
    if (tokens_match(&p->in, '<')) {
        if (!tokens_until(&p->in, '>', "group name", &name))
            return;
        check_name(p, name);
        if (!failed(p))
            push_capture(p, open.pos, &name);
        return;
    }
    if (tokens_match(&p->in, '=')) {
        if (!tokens_until(&p->in, ')', "group name", &name))
            return;
        check_name(p, name);
        uint32_t group = failed(p) ? 0 : find_name(p, name);
        if (group)
            add_reference(p, group, name.pos);
        return;
    }
    struct token t = tokens_take(&p->in);
    if (!t.chars)
        tokens_error(&p->in, p->in.next.pos, "unexpected end of pattern");
    tokens_error(&p->in, open.pos + 1, "unknown extension ?P%.*s", (int)t.len,
                 p->in.source + t.at);
}

/* A condition's group by number. It may come later: that is known at the end. */
static uint32_t read_condition_number(struct parser *p, struct name name)
{
    struct text digits = {0};
    uint64_t value = 0;
    if (!pytext_int(name.at, name.len, &digits) || digits.at[0] == '-')
        tokens_name_error(&p->in, "bad character in group name", name);
    else if (digits.at[0] == '0')
        tokens_error(&p->in, name.pos, "bad group number");
    else if (digits.len > 10 || (value = strtoull(digits.at, NULL, 10)) >= GROUP_MAX)
        tokens_error(&p->in, name.pos, "invalid group reference %s", digits.at);
    text_release(&digits);
    if (value == 0 || failed(p))
        return 0;
    struct condition *grown = arena_grow(&p->memory, p->condition, p->conditions,
                                         &p->condition_space, sizeof(*grown));
    if (!grown) {
        error_set(p->err, ERR_MEMORY, NULL, NO_OFFSET, "no memory for a condition");
        return 0;
    }
    p->condition = grown;
    p->condition[p->conditions++] = (struct condition){name, (uint32_t)value};
    return (uint32_t)value;
}

static void read_condition(struct parser *p, struct token open)
{
    struct name name;
    if (!tokens_until(&p->in, ')', "group name", &name))
        return;
    uint32_t group = pytext_isidentifier(name.at, name.len)
                         ? find_name(p, name)
                         : read_condition_number(p, name);
    if (!group)
        return;
    check_behind(p, group);
    push(p, FRAME_CONDITION, open.pos);
    text_addf(p->out, "(?(%u)", group);
}

/* (?flags) and (?flags-flags:...), whose first flag or '-' is `t`. */
static void read_flags(struct parser *p, struct token open, struct token t)
{
    unsigned on = 0, off = 0;
    t = read_flags_on(p, t, &on);
    struct frame *f = top(p);
    if (failed(p))
        return;
    if (token_is(t, ')')) {
        if (p->depth || f->bars || f->item != ITEM_NONE)
            tokens_error(&p->in, open.pos,
                         "global flags not at the start of the expression");
        f->flags |= on;
        put_flags(p, f->flags, ')');
        return;
    }
    if (on & FLAG_T)
        tokens_error(&p->in, p->in.next.pos - 1,
                     "bad inline flags: cannot turn on global flag");
    if (token_is(t, '-'))
        read_flags_off(p, &off);
    if (off & FLAG_T)
        tokens_error(&p->in, p->in.next.pos - 1,
                     "bad inline flags: cannot turn off global flag");
    if (on & off)
        tokens_error(&p->in, p->in.next.pos - 1,
                     "bad inline flags: flag turned on and off");
    f = failed(p) ? NULL : push(p, FRAME_PLAIN, open.pos);
    if (!f)
        return;
    if (on & FLAGS_TYPE)
        f->flags &= ~(unsigned)FLAGS_TYPE;
    f->flags = (f->flags | on) & ~off;
    put_flags(p, f->flags, ':');
}

static void read_comment(struct parser *p, struct token open)
{
    struct token t;
    do
        t = tokens_take(&p->in);
    while (t.chars && !token_is(t, ')'));
    if (!t.chars)
        tokens_error(&p->in, open.pos, "missing ), unterminated comment");
}

/* (?<= and (?<! after the '<'. */
static void read_behind(struct parser *p, struct token open)
{
    struct token t = tokens_take(&p->in);
    if (!t.chars)
        tokens_error(&p->in, p->in.next.pos, "unexpected end of pattern");
    else if (!token_in(t, "=!"))
        tokens_error(&p->in, open.pos + 1, "unknown extension ?<%.*s", (int)t.len,
                     p->in.source + t.at);
    else
        push_behind(p, open.pos, t.c == '=' ? "(?<=" : "(?<!");
}

static void read_open(struct parser *p, struct token open)
{
    if (!tokens_match(&p->in, '?')) {
        push_capture(p, open.pos, NULL);
        return;
    }
    struct token t = tokens_take(&p->in);
    if (!t.chars) {
        tokens_error(&p->in, p->in.next.pos, "unexpected end of pattern");
    } else if (token_in(t, "=!:>")) {
        text_addf(p->out, "(?%c", (int)t.c);
        push(p, token_in(t, "=!") ? FRAME_AHEAD : FRAME_PLAIN, open.pos);
    } else if (token_is(t, 'P')) {
        read_extension(p, open);
    } else if (token_is(t, '#')) {
        read_comment(p, open);
    } else if (token_is(t, '<')) {
        read_behind(p, open);
    } else if (token_is(t, '(')) {
        read_condition(p, open);
    } else if (flag_of(t) || token_is(t, '-')) {
        read_flags(p, open, t);
    } else {
        tokens_error(&p->in, open.pos + 1, "unknown extension ?%.*s", (int)t.len,
                     p->in.source + t.at);
    }
}

/* Python asks this when it meets the end of the pattern, or a parenthesis too many. */
static void check_flags(struct parser *p)
{
    unsigned flags = p->frames[0].flags;
    if (failed(p) || !(flags & FLAG_A) || !(flags & FLAG_U))
        return;
    error_set(p->err, ERR_ARGUMENT, NULL, NO_OFFSET,
              "ASCII and UNICODE flags are incompatible");
    error_code(p->err, "ValueError");
}

static void read_close(struct parser *p, struct token t)
{
    struct frame *f = top(p);
    if (!p->depth) {
        check_flags(p);
        tokens_error(&p->in, t.pos, "unbalanced parenthesis");
        return;
    }
    bool one_armed = f->kind == FRAME_CONDITION && f->bars == 0;
    end_branch(f);
    struct width width = f->branches;
    if (one_armed)
        width.low = 0;
    if (f->kind == FRAME_CAPTURE)
        p->group[f->group - 1] = (struct group){width, true};
    if (f->kind == FRAME_BEHIND) {
        p->uneven_behind = p->uneven_behind || width.low != width.high;
        p->in_behind = p->in_behind && !f->outermost;
    }
    if (f->kind == FRAME_AHEAD || f->kind == FRAME_BEHIND)
        width = width_none;
    text_addc(p->out, ')');
    p->depth--;
    add_item(p, ITEM_OTHER, width);
}

static void read_bar(struct parser *p, struct token t)
{
    struct frame *f = top(p);
    if (f->kind == FRAME_CONDITION && f->bars == 1)
        tokens_error(&p->in, t.pos, "conditional backref with more than two branches");
    end_branch(f);
    text_addc(p->out, '|');
}

/* --- the whole ---------------------------------------------------------------------------- */

/* Verbose mode: white space and comments. */
static bool skip_verbose(struct parser *p, struct token t)
{
    if (token_is(t, '#'))
        do
            t = tokens_take(&p->in);
        while (t.chars && !token_is(t, '\n'));
    else if (!token_in(t, " \t\n\r\v\f"))
        return false;
    return true;
}

static void read_token(struct parser *p, struct token t)
{
    if (t.chars == 2) {
        read_escape(p, t);
        return;
    }
    switch (t.c) {
    case '[':
        read_set(p, t);
        break;
    case '*':
    case '+':
    case '?':
    case '{':
        read_repeat(p, t);
        break;
    case '(':
        read_open(p, t);
        break;
    case '.':
        text_addc(p->out, '.');
        add_item(p, ITEM_OTHER, width_one);
        break;
    case '^':
    case '$':
        text_addc(p->out, (char)t.c);
        add_item(p, ITEM_POSITION, width_none);
        break;
    default:
        add_literal(p, t.c);
    }
}

/* Complaints that Python has only when the whole pattern is read, in its order. */
static void check_whole(struct parser *p)
{
    if (p->depth)
        tokens_error(&p->in, top(p)->pos, "missing ), unterminated subpattern");
    check_flags(p);
    for (size_t i = 0; i < p->conditions; i++)
        if (p->condition[i].group > p->syntax->groups)
            tokens_error(&p->in, p->condition[i].name.pos, "invalid group reference %u",
                         p->condition[i].group);
    if (!failed(p) && p->uneven_behind) {
        error_set(p->err, ERR_ARGUMENT, NULL, NO_OFFSET,
                  "look-behind requires fixed-width pattern");
        error_code(p->err, "error");
    }
    if (p->frames[0].flags & FLAG_T)
        note_unsupported(p, "the flag t (TEMPLATE) is not supported");
    if (!failed(p) && p->unsupported)
        error_set(p->err, ERR_UNSUPPORTED, NULL, NO_OFFSET, "%s", p->unsupported);
    if (!failed(p) && !text_str(p->out))
        error_set(p->err, ERR_MEMORY, NULL, NO_OFFSET, "no memory for a pattern");
}

static void read_whole(struct parser *p)
{
    while (p->in.next.chars && !failed(p)) {
        struct token t = p->in.next;
        bool taken = !token_in(t, ")|");
        if (taken)
            tokens_take(&p->in);
        /* A bad token behind is noticed by taking the one before. */
        if (failed(p))
            break;
        if (token_is(t, ')'))
            read_close(p, t);
        else if (token_is(t, '|'))
            read_bar(p, t);
        else if (!(top(p)->flags & FLAG_X) || !skip_verbose(p, t))
            read_token(p, t);
        if (!taken)
            tokens_take(&p->in);
    }
    check_whole(p);
}

enum status pysyntax_read(const char *pattern, size_t len, struct pysyntax *out,
                          struct error *err)
{
    *out = (struct pysyntax){0};
    if (len > PATTERN_MAX)
        return error_set(err, ERR_UNSUPPORTED, NULL, NO_OFFSET,
                         "a pattern of more than %zu bytes is not supported",
                         PATTERN_MAX);
    struct parser *p = calloc(1, sizeof(*p));
    out->source = malloc(len + 1);
    if (!p || !out->source) {
        free(p);
        return error_set(err, ERR_MEMORY, NULL, NO_OFFSET, "no memory for a pattern");
    }
    if (len)
        memcpy(out->source, pattern, len);
    p->out = &out->pcre;
    p->syntax = out;
    p->err = err;
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

#include "catalog/maps/regex/pyreader.h"

#include <stdlib.h>
#include <string.h>

#include "catalog/maps/regex/pytext.h"

#define GROUP_MAX 1073741823 /* Python refuses this number and larger ones in a condition */

/* --- references -------------------------------------------------------------------- */

static bool group_closed(const struct pyreader *p, uint32_t group)
{
    return group <= p->syntax->groups && p->group[group - 1].closed;
}

/* A look-behind must not refer to a group that is inside it. */
static void check_behind(struct pyreader *p, uint32_t group)
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

/* A reference to an existing group; `pos` is the position for an error. */
void pygroup_refer(struct pyreader *p, uint32_t group, size_t pos)
{
    if (!group_closed(p, group))
        tokens_error(&p->in, pos, "cannot refer to an open group");
    check_behind(p, group);
    if (reader_failed(p))
        return;
    text_addf(p->out, pyset_folds_ascii(p) ? "(?i:\\g{%u})" : "\\g{%u}", group);
    struct width width = p->group[group - 1].width;
    width.known = WIDTH_ONE.known; /* case may differ */
    reader_add(p, ITEM_OTHER, width);
}

/* --- flags ------------------------------------------------------------------------- */

static unsigned flag_of(struct token t)
{
    if (!token_in(t, FLAG_LETTERS))
        return 0;
    return 1u << (strchr(FLAG_LETTERS, (int)t.c) - FLAG_LETTERS);
}

/* Write "(?im-s:" for a group or, with `end` ')', "(?im-s)" for the rest of the pattern. */
static void put_flags(struct pyreader *p, unsigned flags, char end)
{
    bool i = (flags & FLAG_I) && !(flags & FLAG_A);
    text_addf(p->out, "(?%s%s%s-%s%s%s%c", i ? "i" : "", flags & FLAG_M ? "m" : "",
              flags & FLAG_S ? "s" : "", i ? "" : "i", flags & FLAG_M ? "" : "m",
              flags & FLAG_S ? "" : "s", end);
}

/* The token after a flag. It must be another flag or one of `ends`. */
static struct token next_flag(struct pyreader *p, const char *ends, const char *missing)
{
    struct token t = tokens_take(&p->in);
    if (!t.chars)
        tokens_error(&p->in, p->in.next.pos, "%s", missing);
    else if (!token_in(t, ends) && !flag_of(t))
        tokens_error(&p->in, t.pos, "%s",
                     t.chars == 1 && pytext_isalpha(p->in.source + t.at, t.len) ? "unknown flag"
                                                                                : missing);
    return t;
}

static struct token read_flags_on(struct pyreader *p, struct token t, unsigned *on)
{
    while (!reader_failed(p) && flag_of(t)) {
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

static void read_flags_off(struct pyreader *p, unsigned *off)
{
    struct token t = next_flag(p, "", "missing flag");
    while (!reader_failed(p) && flag_of(t)) {
        *off |= flag_of(t);
        if (*off & FLAGS_TYPE)
            tokens_error(&p->in, p->in.next.pos,
                         "bad inline flags: cannot turn off flags 'a', 'u' and 'L'");
        t = next_flag(p, ":", "missing :");
    }
}

/* --- groups ------------------------------------------------------------------------ */

static struct frame *pygroup_push(struct pyreader *p, enum frame_kind kind, size_t pos)
{
    if (p->depth == NESTING_MAX) {
        error_set(p->err, ERR_UNSUPPORTED, NULL, NO_OFFSET,
                  "more than %d groups inside each other are not supported", NESTING_MAX);
        return NULL;
    }
    unsigned flags = reader_top(p)->flags;
    p->depth++;
    *reader_top(p) = (struct frame){.kind = kind, .pos = pos, .flags = flags};
    return reader_top(p);
}

static void push_capture(struct pyreader *p, size_t pos, const struct name *name)
{
    struct pysyntax *s = p->syntax;
    struct group *grown =
        arena_grow(&p->memory, p->group, s->groups, &p->group_space, sizeof(*grown));
    if (!grown) {
        error_memory(p->err);
        return;
    }
    p->group = grown;
    p->group[s->groups++] = (struct group){.closed = false};
    if (name) {
        bool added = false;
        uint64_t *was = strmap_add(&s->names, name->at, name->len, &added);
        if (!was) {
            error_memory(p->err);
        } else if (added) {
            *was = s->groups;
        } else {
            struct text message = {0};
            text_addf(&message, "redefinition of group name ");
            pytext_repr(&message, name->at, name->len);
            text_addf(&message, " as group %u; was group %u", s->groups, (unsigned)*was);
            tokens_error(&p->in, name->pos, "%s", text_str(&message) ? text_str(&message) : "");
            text_release(&message);
        }
    }
    struct frame *f = pygroup_push(p, FRAME_CAPTURE, pos);
    if (f)
        f->group = s->groups;
    text_addc(p->out, '(');
}

static void push_behind(struct pyreader *p, size_t pos, const char *opening)
{
    struct frame *f = pygroup_push(p, FRAME_BEHIND, pos);
    text_adds(p->out, opening);
    if (!f || p->in_behind)
        return;
    f->outermost = true;
    p->in_behind = true;
    p->behind = p->syntax->groups;
}

static void check_name(struct pyreader *p, struct name name)
{
    if (!pytext_isidentifier(name.at, name.len))
        tokens_name_error(&p->in, "bad character in group name", name);
}

/* The number of a group by its name; 0 after an error. */
static uint32_t find_name(struct pyreader *p, struct name name)
{
    uint64_t *group = strmap_get(&p->syntax->names, name.at, name.len);
    if (!group)
        tokens_name_error(&p->in, "unknown group name", name);
    return group ? (uint32_t)*group : 0;
}

/* (?P<name>...) and (?P=name). */
static void read_extension(struct pyreader *p, struct token open)
{
    struct name name;
    if (tokens_match(&p->in, '<')) {
        if (!tokens_until(&p->in, '>', "group name", &name))
            return;
        check_name(p, name);
        if (!reader_failed(p))
            push_capture(p, open.pos, &name);
        return;
    }
    if (tokens_match(&p->in, '=')) {
        if (!tokens_until(&p->in, ')', "group name", &name))
            return;
        check_name(p, name);
        uint32_t group = reader_failed(p) ? 0 : find_name(p, name);
        if (group)
            pygroup_refer(p, group, name.pos);
        return;
    }
    struct token t = tokens_take(&p->in);
    if (!t.chars)
        tokens_error(&p->in, p->in.next.pos, "unexpected end of pattern");
    tokens_error(&p->in, open.pos + 1, "unknown extension ?P%.*s", (int)t.len, p->in.source + t.at);
}

/* The number of a condition's group. The group may come later, so pygroup_check() looks whether it
 * exists. */
static uint32_t read_condition_number(struct pyreader *p, struct name name)
{
    struct text digits = {0};
    uint64_t value = 0;
    const bool number = pytext_int(name.at, name.len, &digits);
    if (digits.failed)
        error_memory(p->err);
    else if (!number || digits.at[0] == '-')
        tokens_name_error(&p->in, "bad character in group name", name);
    else if (digits.at[0] == '0')
        tokens_error(&p->in, name.pos, "bad group number");
    else if (digits.len > 10 || (value = strtoull(digits.at, NULL, 10)) >= GROUP_MAX)
        tokens_error(&p->in, name.pos, "invalid group reference %s", digits.at);
    text_release(&digits);
    if (value == 0 || reader_failed(p))
        return 0;
    struct condition *grown =
        arena_grow(&p->memory, p->condition, p->conditions, &p->condition_space, sizeof(*grown));
    if (!grown) {
        error_memory(p->err);
        return 0;
    }
    p->condition = grown;
    p->condition[p->conditions++] = (struct condition){name, (uint32_t)value};
    return (uint32_t)value;
}

static void read_condition(struct pyreader *p, struct token open)
{
    struct name name;
    if (!tokens_until(&p->in, ')', "group name", &name))
        return;
    uint32_t group = pytext_isidentifier(name.at, name.len) ? find_name(p, name)
                                                            : read_condition_number(p, name);
    if (!group)
        return;
    check_behind(p, group);
    pygroup_push(p, FRAME_CONDITION, open.pos);
    text_addf(p->out, "(?(%u)", group);
}

/* (?flags) and (?flags-flags:...), whose first flag or '-' is `t`. */
static void read_flags(struct pyreader *p, struct token open, struct token t)
{
    unsigned on = 0, off = 0;
    t = read_flags_on(p, t, &on);
    struct frame *f = reader_top(p);
    if (reader_failed(p))
        return;
    if (token_is(t, ')')) {
        if (p->depth || f->bars || f->item != ITEM_NONE)
            tokens_error(&p->in, open.pos, "global flags not at the start of the expression");
        f->flags |= on;
        put_flags(p, f->flags, ')');
        return;
    }
    if (on & FLAG_T)
        tokens_error(&p->in, p->in.next.pos - 1, "bad inline flags: cannot turn on global flag");
    if (token_is(t, '-'))
        read_flags_off(p, &off);
    if (off & FLAG_T)
        tokens_error(&p->in, p->in.next.pos - 1, "bad inline flags: cannot turn off global flag");
    if (on & off)
        tokens_error(&p->in, p->in.next.pos - 1, "bad inline flags: flag turned on and off");
    f = reader_failed(p) ? NULL : pygroup_push(p, FRAME_PLAIN, open.pos);
    if (!f)
        return;
    if (on & FLAGS_TYPE)
        f->flags &= ~(unsigned)FLAGS_TYPE;
    f->flags = (f->flags | on) & ~off;
    put_flags(p, f->flags, ':');
}

static void read_comment(struct pyreader *p, struct token open)
{
    struct token t;
    do
        t = tokens_take(&p->in);
    while (t.chars && !token_is(t, ')'));
    if (!t.chars)
        tokens_error(&p->in, open.pos, "missing ), unterminated comment");
}

/* (?<= and (?<! after the '<'. */
static void read_behind(struct pyreader *p, struct token open)
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

void pygroup_open(struct pyreader *p, struct token open)
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
        pygroup_push(p, token_in(t, "=!") ? FRAME_AHEAD : FRAME_PLAIN, open.pos);
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

/* Python checks this at the end of the pattern, and at an unbalanced parenthesis. */
static void check_flags(struct pyreader *p)
{
    unsigned flags = p->frames[0].flags;
    if (reader_failed(p) || !(flags & FLAG_A) || !(flags & FLAG_U))
        return;
    error_set(p->err, ERR_ARGUMENT, NULL, NO_OFFSET, "ASCII and UNICODE flags are incompatible");
    error_code(p->err, "ValueError");
}

static struct width width_either(struct pyreader *p, struct width a, struct width b)
{
    return (struct width){a.low < b.low ? a.low : b.low, a.high > b.high ? a.high : b.high,
                          known_either(p, a.known, b.known)};
}

static void end_branch(struct pyreader *p, struct frame *f)
{
    struct width w = width_sum(p, f->branch, f->item_width);
    /* Nothing of the pattern comes after it; and a full match has its end anyway. */
    if (f->kind == FRAME_WHOLE && f->ends && p->keys && p->keys->how != REGEX_FULLMATCH)
        w.known = known_sum(p, w.known, known_end);
    f->branches = f->bars ? width_either(p, f->branches, w) : w;
    f->bars++;
    f->ends = false;
    f->item = ITEM_NONE;
    f->item_width = f->branch = WIDTH_NONE;
}

void pygroup_close(struct pyreader *p, struct token t)
{
    struct frame *f = reader_top(p);
    if (!p->depth) {
        check_flags(p);
        tokens_error(&p->in, t.pos, "unbalanced parenthesis");
        return;
    }
    bool one_armed = f->kind == FRAME_CONDITION && f->bars == 0;
    end_branch(p, f);
    struct width width = f->branches;
    if (one_armed)
        width = width_either(p, width, WIDTH_NONE);
    if (f->kind == FRAME_CAPTURE)
        p->group[f->group - 1] = (struct group){width, true};
    if (f->kind == FRAME_BEHIND) {
        p->uneven_behind = p->uneven_behind || width.low != width.high;
        p->in_behind = p->in_behind && !f->outermost;
    }
    if (f->kind == FRAME_AHEAD || f->kind == FRAME_BEHIND)
        width = WIDTH_NONE;
    text_addc(p->out, ')');
    p->depth--;
    reader_add(p, ITEM_OTHER, width);
}

void pygroup_bar(struct pyreader *p, struct token t)
{
    struct frame *f = reader_top(p);
    if (f->kind == FRAME_CONDITION && f->bars == 1)
        tokens_error(&p->in, t.pos, "conditional backref with more than two branches");
    end_branch(p, f);
    text_addc(p->out, '|');
}

/* The errors that Python reports only at the end of the pattern, in Python's order. */
void pygroup_check(struct pyreader *p)
{
    if (p->depth)
        tokens_error(&p->in, reader_top(p)->pos, "missing ), unterminated subpattern");
    end_branch(p, &p->frames[0]);
    check_flags(p);
    for (size_t i = 0; i < p->conditions; i++)
        if (p->condition[i].group > p->syntax->groups)
            tokens_error(&p->in, p->condition[i].name.pos, "invalid group reference %u",
                         p->condition[i].group);
    if (reader_failed(p) || !p->uneven_behind)
        return;
    error_set(p->err, ERR_ARGUMENT, NULL, NO_OFFSET, "look-behind requires fixed-width pattern");
    error_code(p->err, "error");
}

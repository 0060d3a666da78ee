/*
 * rule_template.c - replacements and arguments of steps: templates of Python's Match.expand,
 * extended by references to the steps run so far.
 */
#include "catalog/maps/map/rules_private.h"

struct reference {
    size_t begin, end; /* of "\g<name>" in the template */
    unsigned step;
};

/* The last of the first `steps` steps that has this name; -1: none. */
static int step_named(const struct rule *r, size_t steps, const char *name, size_t len)
{
    for (size_t i = steps; i-- > 0;)
        if (strlen(r->step[i].group) == len && memcmp(r->step[i].group, name, len) == 0)
            return (int)i;
    return -1;
}

/* The first reference to a step at or after `at`. */
static bool next_reference(const struct rule *r, size_t steps, const struct expansion *e, size_t at,
                           struct reference *out)
{
    for (size_t i = at; i + 1 < e->len; i++) {
        if (e->source[i] != '\\')
            continue;
        const char *name = e->source + i + 3;
        const char *end = i + 3 < e->len && memcmp(e->source + i + 1, "g<", 2) == 0
                              ? memchr(name, '>', e->len - i - 3)
                              : NULL;
        int step = end ? step_named(r, steps, name, (size_t)(end - name)) : -1;
        if (step >= 0) {
            *out = (struct reference){i, (size_t)(end + 1 - e->source), (unsigned)step};
            return true;
        }
        i++; /* skip the escaped character: it begins no escape itself */
    }
    return false;
}

static void rule_template_add_piece(struct rules *s, struct expansion *e, struct piece piece)
{
    struct piece *grown = arena_grow(&s->arena, e->piece, e->count, &e->space, sizeof(*e->piece));
    if (grown) {
        e->piece = grown;
        e->piece[e->count++] = piece;
        return;
    }
    template_free(piece.template);
    e->fault = rules_no_memory;
}

static bool rule_template_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* How many bytes from `at` on are plain text, or one "\\N" of a group; 0: neither. */
static size_t plain_length(const struct rule *r, const char *at, size_t len)
{
    const char *escape = memchr(at, '\\', len);
    if (!escape)
        return len;
    if (escape > at)
        return (size_t)(escape - at);
    bool group = len >= 2 && rule_template_is_digit(at[1]) && at[1] != '0' &&
                 (len == 2 || !rule_template_is_digit(at[2])) &&
                 (unsigned)(at[1] - '0') <= regex_groups(r->regex);
    return group ? 2 : 0;
}

static void add_plain(struct rules *s, const struct rule *r, struct expansion *e, const char *at,
                      size_t len)
{
    for (size_t part; len && !e->fault; at += part, len -= part) {
        part = plain_length(r, at, len);
        struct piece piece = {.kind = PIECE_TEXT, .text = {at, part}};
        if (*at == '\\') {
            piece.kind = PIECE_GROUP;
            piece.number = (unsigned)(at[1] - '0');
        }
        rule_template_add_piece(s, e, piece);
    }
}

/* Add the text between two references to steps. */
static void add_template(struct rules *s, const struct rule *r, struct expansion *e, const char *at,
                         size_t len)
{
    struct piece piece = {.kind = PIECE_TEMPLATE};
    struct error err = {0};
    size_t plain = 0, part = 1;
    if (len == 0 || e->fault)
        return;
    for (; part && plain < len; plain += part)
        part = plain_length(r, at + plain, len - plain);
    if (part) {
        add_plain(s, r, e, at, len);
        return;
    }
    if (template_compile(at, len, r->regex, &piece.template, NULL, &err) != OK) {
        e->fault = rules_fault_from(s, &err);
        return;
    }
    rule_template_add_piece(s, e, piece);
}

/* Compile the whole template once, with each reference to a step replaced by one to group 0 of
 * the same length ("\g<slot>" becomes "\g<0000>"): an error then has its position in the whole
 * template. */
static void rule_template_check_whole(struct rules *s, const struct rule *r, size_t steps,
                                      struct expansion *e)
{
    struct text whole = {0};
    struct reference ref;
    size_t at = 0;
    for (; next_reference(r, steps, e, at, &ref); at = ref.end) {
        text_add(&whole, e->source + at, ref.begin + 3 - at);
        for (size_t i = ref.begin + 3; i < ref.end - 1; i++)
            if ((e->source[i] & 0xC0) != 0x80)
                text_addc(&whole, '0');
        text_addc(&whole, '>');
    }
    text_add(&whole, e->source + at, e->len - at);

    struct template *checked = NULL;
    struct error err = {0};
    if (!text_str(&whole))
        e->fault = rules_no_memory;
    else if (template_compile(whole.at, whole.len, r->regex, &checked, NULL, &err) != OK)
        e->fault = rules_fault_from(s, &err);
    template_free(checked);
    text_release(&whole);
}

void rules_prepare(struct rules *s, const struct rule *r, size_t steps, struct expansion *e)
{
    struct reference ref;
    size_t at = 0;
    if (next_reference(r, steps, e, 0, &ref))
        rule_template_check_whole(s, r, steps, e);
    for (; !e->fault && next_reference(r, steps, e, at, &ref); at = ref.end) {
        add_template(s, r, e, e->source + at, ref.begin - at);
        rule_template_add_piece(s, e, (struct piece){.kind = PIECE_STEP, .number = ref.step});
    }
    add_template(s, r, e, e->source + at, e->len - at);
    e->ready = true;
}

bool rules_expand_any(struct rules *s, struct rule *r, size_t steps, struct expansion *e,
                      struct text *buffer, struct run *out)
{
    if (!e->ready)
        rules_prepare(s, r, steps, e);
    if (e->fault) {
        rules_fail(s, e->fault);
        if (e->fault == rules_no_memory) {
            rules_expansion_release(e);
            e->fault = NULL;
            e->ready = false;
        }
        return false;
    }
    if (e->count == 1 && e->piece[0].kind != PIECE_TEMPLATE) {
        *out = rules_piece_run(s, r, &e->piece[0]);
        return true;
    }
    text_reset(buffer);
    for (size_t i = 0; i < e->count; i++) {
        const struct piece *p = &e->piece[i];
        if (p->kind == PIECE_TEMPLATE) {
            template_expand(p->template, r->regex, s->name.at, buffer);
        } else {
            rules_append(buffer, rules_piece_run(s, r, p));
        }
    }
    *out = (struct run){buffer->at ? buffer->at : "", buffer->len};
    return buffer->failed ? rules_fail(s, rules_no_memory) : true;
}

void rules_expansion_release(struct expansion *e)
{
    for (size_t i = 0; i < e->count; i++)
        template_free(e->piece[i].template);
    e->count = 0;
}

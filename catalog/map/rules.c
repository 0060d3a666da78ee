#include "catalog/map/rules.h"

#include <stdlib.h>
#include <string.h>

#include "catalog/base/arena.h"
#include "catalog/regex/pytext.h"
#include "catalog/regex/regex.h"

#define STEP_ARGS  3    /* most arguments of a step */
#define INT_DIGITS 4300 /* CPython's sys.int_info.default_max_str_digits */

enum step_kind {
    STEP_TABLE,
    STEP_INT,
    STEP_INDEX,
    STEP_IF,
    STEP_NAME,
    STEP_SUB,
    STEP_PART,
    STEP_SETTING,
    STEP_DROP,
};

/* What a step is called and how many arguments it takes; the first is a table, or not. */
static const struct step_form {
    const char *name;
    enum step_kind kind;
    bool table;
    unsigned least, most;
} step_forms[] = {
    {"table", STEP_TABLE, true, 1, 2}, {"int", STEP_INT, false, 1, 1},
    {"index", STEP_INDEX, true, 2, 2}, {"if", STEP_IF, false, 3, 3},
    {"name", STEP_NAME, false, 0, 0},  {"sub", STEP_SUB, false, 3, 3},
    {"part", STEP_PART, false, 0, 0},  {"setting", STEP_SETTING, false, 1, 1},
    {"drop", STEP_DROP, false, 1, 1},
};

/* A run of bytes: of the name, of a table, of a buffer. */
struct run {
    const char *at;
    size_t len;
};

/*
 * A template cut at its references to steps, which the regex knows nothing of. The two
 * kinds that make up nearly all templates, plain text and "\\N", do without it.
 */
struct piece {
    enum {
        PIECE_TEXT,
        PIECE_GROUP,
        PIECE_STEP,
        PIECE_TEMPLATE
    } kind;
    struct run text;
    unsigned number; /* of the group, of the step */
    struct template *template;
};

struct expansion {
    const char *source;
    size_t len;
    struct piece *piece;
    size_t count, space;
    bool ready;
    const char *fault; /* why it cannot be expanded */
};

struct step {
    const char *group;
    const struct step_form *form;
    const char *table;
    struct expansion arg[STEP_ARGS];
    unsigned args;
    const char *fault;
    const struct value *entry; /* the table's, once looked for */
    size_t entries;
    bool found;
    struct run value;
    struct text own;     /* where value is, if it had to be made */
    struct regex *regex; /* of a sub */
    struct template *template;
};

/* Of the text of a rule's operations: as it stands, or the number that a template gives. */
struct op_piece {
    struct expansion text;
    bool number;
};

struct rule {
    int64_t ord;
    const char *pattern;
    bool drops;
    struct expansion replacement;
    const char *cast;
    const char *fault; /* met when it matches */
    struct step *step;
    size_t steps, step_space;
    struct op_piece *op;
    size_t ops, op_space;
    struct regex *regex;
    const char *pattern_fault; /* met when it is tried */
};

struct value {
    const char *table, *key, *text; /* text NULL: an empty list */
    size_t key_len, text_len;
    size_t order;
    bool listed;
};

/* What a checkpoint, or a person, says of itself (setting.h). */
struct known {
    const char *key, *value, *fault;
};

struct rules {
    struct arena arena;
    enum rules_shape shape;
    struct known *setting;
    size_t settings, setting_space;
    struct rule *rule;
    size_t count, space;
    struct value *value;
    size_t values, value_space;
    bool sorted;
    struct text key, number, out, ops;
    struct text name; /* whose answer `result` is */
    struct text part; /* and of which part of its tensor; empty: of all */
    bool known;       /* to be UTF-8 */
    bool answered;
    bool dropped; /* by a step of the rule that ran last */
    bool one;     /* by the rule `asked` alone */
    int64_t asked;
    struct rule_result result;
};

struct rules *rules_new(enum rules_shape shape)
{
    struct rules *s = calloc(1, sizeof(*s));
    if (s)
        s->shape = shape;
    return s;
}

static void expansion_release(struct expansion *e)
{
    for (size_t i = 0; i < e->count; i++)
        template_free(e->piece[i].template);
}

void rules_free(struct rules *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < s->count; i++) {
        struct rule *r = &s->rule[i];
        expansion_release(&r->replacement);
        for (size_t j = 0; j < r->ops; j++)
            expansion_release(&r->op[j].text);
        for (size_t j = 0; j < r->steps; j++) {
            for (unsigned k = 0; k < r->step[j].args; k++)
                expansion_release(&r->step[j].arg[k]);
            text_release(&r->step[j].own);
            template_free(r->step[j].template);
            regex_free(r->step[j].regex);
        }
        regex_free(r->regex);
    }
    text_release(&s->key);
    text_release(&s->number);
    text_release(&s->out);
    text_release(&s->ops);
    text_release(&s->name);
    text_release(&s->part);
    arena_release(&s->arena);
    free(s);
}

/* --- building ---------------------------------------------------------------------------- */

static const char *keep(struct rules *s, const char *string)
{
    return string ? arena_copy(&s->arena, string, strlen(string)) : NULL;
}

static struct expansion expansion_of(struct rules *s, const char *source)
{
    return (struct expansion){.source = keep(s, source),
                              .len = source ? strlen(source) : 0};
}

bool rules_add(struct rules *s, int64_t ord, const char *pattern, const char *replacement,
               const char *cast, const char *fault)
{
    struct rule *grown =
        arena_grow(&s->arena, s->rule, s->count, &s->space, sizeof(*s->rule));
    if (!grown)
        return false;
    s->rule = grown;
    s->answered = false;
    struct rule *r = &s->rule[s->count];
    *r = (struct rule){
        .ord = ord,
        .pattern = keep(s, pattern),
        .drops = !replacement,
        .replacement = expansion_of(s, replacement),
        .cast = keep(s, cast),
        .fault = keep(s, fault),
    };
    if (!r->pattern || (replacement && !r->replacement.source) || (cast && !r->cast) ||
        (fault && !r->fault))
        return false;
    s->count++;
    return true;
}

/* "Type: text" that lives as long as the rules. */
static const char *fault_of(struct rules *s, const char *type, const char *text,
                            const char *detail)
{
    struct text t = {0};
    text_addf(&t, "%s: %s%s%s", type, text, detail ? " " : "", detail ? detail : "");
    const char *kept = keep(s, text_str(&t));
    text_release(&t);
    return kept ? kept : "MemoryError: out of memory";
}

/* The class of the exception that Python raises. */
static const char *class_of(const struct error *err)
{
    return err->code ? err->code : "error";
}

bool rules_add_ops(struct rules *s, const char *text, bool number)
{
    struct rule *r = &s->rule[s->count - 1];
    struct op_piece *grown =
        arena_grow(&s->arena, r->op, r->ops, &r->op_space, sizeof(*r->op));
    if (!grown)
        return false;
    r->op = grown;
    r->op[r->ops] = (struct op_piece){expansion_of(s, text), number};
    s->answered = false;
    return r->op[r->ops++].text.source != NULL;
}

bool rules_add_step(struct rules *s, const char *const *word, unsigned count)
{
    struct rule *r = &s->rule[s->count - 1];
    struct step *grown =
        arena_grow(&s->arena, r->step, r->steps, &r->step_space, sizeof(*r->step));
    if (!grown)
        return false;
    r->step = grown;
    s->answered = false;
    struct step *step = &r->step[r->steps];
    *step = (struct step){.group = keep(s, count > 0 ? word[0] : "")};
    if (!step->group)
        return false;
    r->steps++;

    const char *operation = count > 1 ? word[1] : "";
    for (size_t i = 0; i < sizeof(step_forms) / sizeof(step_forms[0]); i++)
        if (strcmp(step_forms[i].name, operation) == 0)
            step->form = &step_forms[i];
    if (!step->form) {
        step->fault = fault_of(s, "ValueError", "unknown step", operation);
        return true;
    }
    unsigned at = 2;
    if (step->form->table) {
        step->table = keep(s, count > at ? word[at] : "");
        at++;
    }
    if (count < at + step->form->least || count > at + step->form->most) {
        step->fault =
            fault_of(s, "ValueError", "wrong number of arguments for step", operation);
        return true;
    }
    for (; at < count; at++) {
        step->arg[step->args] = expansion_of(s, word[at]);
        if (!step->arg[step->args++].source)
            return false;
    }
    return step->table || !step->form->table;
}

bool rules_add_value(struct rules *s, const char *table, const char *key,
                     const char *value, bool listed)
{
    struct value *grown =
        arena_grow(&s->arena, s->value, s->values, &s->value_space, sizeof(*s->value));
    if (!grown)
        return false;
    s->value = grown;
    s->sorted = s->answered = false;
    struct value *v = &s->value[s->values];
    *v = (struct value){
        .table = keep(s, table),
        .key = keep(s, key),
        .text = keep(s, value),
        .key_len = strlen(key),
        .text_len = value ? strlen(value) : 0,
        .order = s->values,
        .listed = listed,
    };
    if (!v->table || !v->key || (value && !v->text))
        return false;
    s->values++;
    return true;
}

bool rules_add_setting(struct rules *s, const char *key, const char *value,
                       const char *fault)
{
    struct known *grown = arena_grow(&s->arena, s->setting, s->settings,
                                     &s->setting_space, sizeof(*s->setting));
    if (!grown)
        return false;
    s->setting = grown;
    s->answered = false;
    struct known *k = &s->setting[s->settings];
    *k = (struct known){keep(s, key), keep(s, value), keep(s, fault)};
    if (!k->key || (value && !k->value) || (!value && !k->fault))
        return false;
    s->settings++;
    return true;
}

/* --- tables ------------------------------------------------------------------------------ */

/* Shorter keys first: most comparisons then need no look at the bytes. */
static int compare_key(const struct value *v, struct run key)
{
    if (v->key_len != key.len)
        return v->key_len < key.len ? -1 : 1;
    return memcmp(v->key, key.at, key.len);
}

static int compare_values(const void *a, const void *b)
{
    const struct value *x = a, *y = b;
    int order = strcmp(x->table, y->table);
    if (order == 0)
        order = compare_key(x, (struct run){y->key, y->key_len});
    return order ? order : (x->order > y->order) - (x->order < y->order);
}

/* The entries of the step's table, which lie together. */
static void find_table(struct rules *s, struct step *step)
{
    if (!s->sorted && s->values)
        qsort(s->value, s->values, sizeof(*s->value), compare_values);
    s->sorted = true;
    size_t begin = 0, end;
    while (begin < s->values && strcmp(s->value[begin].table, step->table) != 0)
        begin++;
    for (end = begin; end < s->values && strcmp(s->value[end].table, step->table) == 0;)
        end++;
    step->entry = s->value + begin;
    step->entries = end - begin;
    step->found = true;
}

/* The values of the step's table at `key`, *count of them; NULL: no such key. */
static const struct value *find_values(struct rules *s, struct step *step, struct run key,
                                       size_t *count)
{
    if (!step->found)
        find_table(s, step);
    size_t low = 0, high = step->entries;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (compare_key(&step->entry[middle], key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    const struct value *v = step->entry + low;
    if (low == step->entries || compare_key(v, key) != 0)
        return NULL;
    *count = 1;
    while (v->listed && low + *count < step->entries && compare_key(v + *count, key) == 0)
        ++*count;
    return v;
}

/* --- expansions -------------------------------------------------------------------------- */

struct reference {
    size_t begin, end; /* of "\g<name>" in the template */
    unsigned step;
};

/* The latest of the first `steps` steps that is called so; -1: none. */
static int step_named(const struct rule *r, size_t steps, const char *name, size_t len)
{
    for (size_t i = steps; i-- > 0;)
        if (strlen(r->step[i].group) == len && memcmp(r->step[i].group, name, len) == 0)
            return (int)i;
    return -1;
}

/* The first reference to a step at or after `at`. */
static bool next_reference(const struct rule *r, size_t steps, const struct expansion *e,
                           size_t at, struct reference *out)
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
        i++; /* what is escaped begins no escape */
    }
    return false;
}

static void add_piece(struct rules *s, struct expansion *e, struct piece piece)
{
    struct piece *grown =
        arena_grow(&s->arena, e->piece, e->count, &e->space, sizeof(*e->piece));
    if (grown) {
        e->piece = grown;
        e->piece[e->count++] = piece;
        return;
    }
    template_free(piece.template);
    e->fault = "MemoryError: out of memory";
}

/* What stands between references to steps. */
static void add_template(struct rules *s, const struct rule *r, struct expansion *e,
                         const char *at, size_t len)
{
    struct piece piece = {.text = {at, len}};
    struct error err = {0};
    if (len == 0 || e->fault)
        return;
    if (!memchr(at, '\\', len)) {
        piece.kind = PIECE_TEXT;
    } else if (len == 2 && at[1] >= '1' && at[1] <= '9' &&
               (unsigned)(at[1] - '0') <= regex_groups(r->regex)) {
        piece.kind = PIECE_GROUP;
        piece.number = (unsigned)(at[1] - '0');
    } else {
        piece.kind = PIECE_TEMPLATE;
        if (template_compile(at, len, r->regex, &piece.template, NULL, &err) != OK) {
            e->fault = fault_of(s, class_of(&err), err.message, NULL);
            return;
        }
    }
    add_piece(s, e, piece);
}

/* The whole template, its references to steps replaced by group 0 written in as many
 * characters: what is wrong with it is then said with its place in the whole. */
static void check_whole(struct rules *s, const struct rule *r, size_t steps,
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
        e->fault = "MemoryError: out of memory";
    else if (template_compile(whole.at, whole.len, r->regex, &checked, NULL, &err) != OK)
        e->fault = fault_of(s, class_of(&err), err.message, NULL);
    template_free(checked);
    text_release(&whole);
}

static void prepare(struct rules *s, const struct rule *r, size_t steps,
                    struct expansion *e)
{
    struct reference ref;
    size_t at = 0;
    if (next_reference(r, steps, e, 0, &ref))
        check_whole(s, r, steps, e);
    for (; !e->fault && next_reference(r, steps, e, at, &ref); at = ref.end) {
        add_template(s, r, e, e->source + at, ref.begin - at);
        add_piece(s, e, (struct piece){.kind = PIECE_STEP, .number = ref.step});
    }
    add_template(s, r, e, e->source + at, e->len - at);
    e->ready = true;
}

/* --- applying ---------------------------------------------------------------------------- */

static bool fail(struct rules *s, const char *fault)
{
    text_reset(&s->out);
    text_adds(&s->out, fault);
    return false;
}

/* What a piece stands for, unless it is a template. */
static struct run piece_run(const struct rules *s, const struct rule *r,
                            const struct piece *p)
{
    size_t begin = 0, end = 0;
    if (p->kind == PIECE_TEXT)
        return p->text;
    if (p->kind == PIECE_STEP)
        return r->step[p->number].value;
    regex_span(r->regex, p->number, &begin, &end);
    return (struct run){s->name.at + begin, end - begin};
}

/* text_add() for the many short runs that a name is put together from. */
static inline void append(struct text *t, struct run run)
{
    if (t->space - t->len <= run.len) {
        text_add(t, run.at, run.len);
        return;
    }
    memcpy(t->at + t->len, run.at, run.len);
    t->len += run.len;
    t->at[t->len] = '\0';
}

/* What the template makes of the match and the first `steps` steps; made in `buffer`, which
 * is emptied, where it is not just a run of something. False: the error is told. */
static bool expand(struct rules *s, struct rule *r, size_t steps, struct expansion *e,
                   struct text *buffer, struct run *out)
{
    if (!e->ready)
        prepare(s, r, steps, e);
    if (e->fault)
        return fail(s, e->fault);
    if (e->count == 1 && e->piece[0].kind != PIECE_TEMPLATE) {
        *out = piece_run(s, r, &e->piece[0]);
        return true;
    }
    text_reset(buffer);
    for (size_t i = 0; i < e->count; i++) {
        const struct piece *p = &e->piece[i];
        if (p->kind == PIECE_TEMPLATE) {
            template_expand(p->template, r->regex, s->name.at, buffer);
        } else {
            append(buffer, piece_run(s, r, p));
        }
    }
    *out = (struct run){buffer->at ? buffer->at : "", buffer->len};
    return buffer->failed ? fail(s, "MemoryError: out of memory") : true;
}

/* The entry of the step's table for its first argument. *entry NULL: there is none, and
 * the step's second argument is to be taken. False: the error is told. */
static bool find_entry(struct rules *s, struct rule *r, size_t at,
                       const struct value **entry, size_t *count)
{
    struct step *step = &r->step[at];
    struct run key;
    if (!expand(s, r, at, &step->arg[0], &s->key, &key))
        return false;
    const struct value *v = *entry = find_values(s, step, key, count);
    if (v && v->listed != (step->form->kind == STEP_INDEX)) {
        fail(s, v->listed ? "ValueError: a list is looked up with index, not with table: "
                          : "ValueError: what is no list is looked up with table: ");
        text_adds(&s->out, step->table);
        return false;
    }
    if (v || step->args > step->form->least)
        return true;
    fail(s, "KeyError: ");
    pytext_repr(&s->out, key.at, key.len);
    return false;
}

static bool run_table(struct rules *s, struct rule *r, size_t at)
{
    struct step *step = &r->step[at];
    const struct value *v;
    size_t count;
    if (!find_entry(s, r, at, &v, &count))
        return false;
    if (!v)
        return expand(s, r, at, &step->arg[1], &step->own, &step->value);
    step->value = (struct run){v->text ? v->text : "", v->text_len};
    return true;
}

/* Digits as Python counts them against its limit: leading zeros too. */
static size_t count_digits(struct run number)
{
    size_t digits = 0;
    for (size_t i = 0; i < number.len; i++)
        digits += ((unsigned char)number.at[i] & 0xC0) != 0x80 &&
                  !strchr(" \t\n\r+-_", number.at[i]);
    return digits;
}

/* Only ASCII digits, and some. */
static bool is_plain(struct run number)
{
    for (size_t i = 0; i < number.len; i++)
        if (number.at[i] < '0' || number.at[i] > '9')
            return false;
    return number.len > 0;
}

/* str(int()) of argument `i` as the step's value. */
static bool number_of(struct rules *s, struct rule *r, size_t at, unsigned i)
{
    struct step *step = &r->step[at];
    struct run number;
    if (!expand(s, r, at, &step->arg[i], &step->own, &number))
        return false;
    bool plain = is_plain(number);
    size_t digits = plain ? number.len : count_digits(number);
    if (digits > INT_DIGITS) {
        fail(s, "ValueError: ");
        text_addf(
            &s->out,
            "Exceeds the limit (%d digits) for integer string conversion: value has "
            "%zu digits; use sys.set_int_max_str_digits() to increase the limit",
            INT_DIGITS, digits);
        return false;
    }
    if (plain) {
        for (; number.len > 1 && *number.at == '0'; number.len--)
            number.at++;
        step->value = number;
        return true;
    }
    text_reset(&s->number);
    if (!pytext_int(number.at, number.len, &s->number)) {
        fail(s, "ValueError: invalid literal for int() with base 10: ");
        pytext_repr(&s->out, number.at, number.len);
        return false;
    }
    text_reset(&step->own);
    text_add(&step->own, s->number.at, s->number.len);
    step->value = (struct run){step->own.at, step->own.len};
    return !step->own.failed || fail(s, "MemoryError: out of memory");
}

/* The decimal digits as a number; UINT64_MAX where they are more than Python takes for an
 * index. */
static uint64_t index_value(struct run digits)
{
    uint64_t n = 0;
    for (size_t i = 0; i < digits.len; i++) {
        if (n > (uint64_t)INT64_MAX / 10)
            return UINT64_MAX;
        n = n * 10 + (uint64_t)(digits.at[i] - '0');
    }
    return n > INT64_MAX ? UINT64_MAX : n;
}

static bool run_index(struct rules *s, struct rule *r, size_t at)
{
    struct step *step = &r->step[at];
    const struct value *list;
    size_t count;
    if (!find_entry(s, r, at, &list, &count) || !number_of(s, r, at, 1))
        return false;
    bool minus = *step->value.at == '-';
    uint64_t n =
        index_value((struct run){step->value.at + minus, step->value.len - minus});
    if (n == UINT64_MAX)
        return fail(s, "IndexError: cannot fit 'int' into an index-sized integer");
    size_t held = list->text ? count : 0;
    if (minus ? n > held : n >= held)
        return fail(s, "IndexError: list index out of range");
    const struct value *v = &list[minus ? held - n : n];
    step->value = (struct run){v->text, v->text_len};
    return true;
}

static bool run_if(struct rules *s, struct rule *r, size_t at)
{
    struct step *step = &r->step[at];
    struct run test;
    return expand(s, r, at, &step->arg[0], &s->key, &test) &&
           expand(s, r, at, &step->arg[test.len ? 1 : 2], &step->own, &step->value);
}

/* The pattern and the template of a sub are those of re.sub, and know nothing of the rule's
 * groups. */
static bool compile_sub(struct rules *s, struct step *step)
{
    struct error err = {0};
    const struct expansion *pattern = &step->arg[0], *template = &step->arg[1];
    if (regex_compile(pattern->source, pattern->len, REGEX_SEARCH, &step->regex, &err) ==
        OK)
        template_compile(template->source, template->len, step->regex, &step->template,
                         NULL, &err);
    if (err.status != OK)
        step->fault = fault_of(s, class_of(&err), err.message, NULL);
    return err.status == OK;
}

static bool run_sub(struct rules *s, struct rule *r, size_t at)
{
    struct step *step = &r->step[at];
    struct run text;
    struct error err = {0};
    if (!step->template && !compile_sub(s, step))
        return fail(s, step->fault);
    if (!expand(s, r, at, &step->arg[2], &s->key, &text))
        return false;
    text_reset(&step->own);
    if (regex_replace(step->regex, step->template, text.at, text.len, &step->own, &err) <
        0) {
        fail(s, class_of(&err));
        text_addf(&s->out, ": %s", err.message);
        return false;
    }
    step->value = (struct run){step->own.at ? step->own.at : "", step->own.len};
    return !step->own.failed || fail(s, "MemoryError: out of memory");
}

static bool run_setting(struct rules *s, struct rule *r, size_t at)
{
    struct step *step = &r->step[at];
    struct run key;
    if (!expand(s, r, at, &step->arg[0], &s->key, &key))
        return false;
    for (size_t i = 0; i < s->settings; i++) {
        const struct known *k = &s->setting[i];
        if (strlen(k->key) != key.len || memcmp(k->key, key.at, key.len) != 0)
            continue;
        if (!k->value)
            return fail(s, k->fault);
        step->value = (struct run){k->value, strlen(k->value)};
        return true;
    }
    fail(s, "KeyError: no setting is called ");
    pytext_repr(&s->out, key.at, key.len);
    return false;
}

static bool run_drop(struct rules *s, struct rule *r, size_t at)
{
    struct run test;
    if (!expand(s, r, at, &r->step[at].arg[0], &s->key, &test))
        return false;
    s->dropped = s->dropped || test.len;
    r->step[at].value = (struct run){"", 0};
    return true;
}

static bool run_step(struct rules *s, struct rule *r, size_t at)
{
    struct step *step = &r->step[at];
    if (step->fault)
        return fail(s, step->fault);
    switch (step->form->kind) {
    case STEP_TABLE:
        return run_table(s, r, at);
    case STEP_INT:
        return number_of(s, r, at, 0);
    case STEP_INDEX:
        return run_index(s, r, at);
    case STEP_IF:
        return run_if(s, r, at);
    case STEP_NAME:
        step->value = (struct run){s->name.at, s->name.len};
        return true;
    case STEP_SUB:
        return run_sub(s, r, at);
    case STEP_PART:
        step->value = (struct run){s->part.at ? s->part.at : "", s->part.len};
        return true;
    case STEP_SETTING:
        return run_setting(s, r, at);
    case STEP_DROP:
        return run_drop(s, r, at);
    }
    return false;
}

/* A number as JSON has it, of one that may have zeros in front. */
static bool add_number(struct rules *s, struct run number)
{
    for (; number.len > 1 && *number.at == '0' && is_plain(number); number.len--)
        number.at++;
    bool good = number.len > 0 && number.len < 40;
    for (size_t i = 0; good && i < number.len; i++)
        good = strchr(i ? "0123456789+-.eE" : "0123456789-", number.at[i]) != NULL;
    if (good) {
        append(&s->ops, number);
        return true;
    }
    fail(s, "ValueError: an operation wants a number, not ");
    pytext_repr(&s->out, number.at, number.len);
    return false;
}

static bool run_ops(struct rules *s, struct rule *r)
{
    text_reset(&s->ops);
    for (size_t i = 0; i < r->ops; i++) {
        struct op_piece *p = &r->op[i];
        struct run number = {p->text.source, p->text.len};
        if (!p->number)
            append(&s->ops, number);
        else if (!expand(s, r, r->steps, &p->text, &s->key, &number) ||
                 !add_number(s, number))
            return false;
    }
    return !s->ops.failed || fail(s, "MemoryError: out of memory");
}

/* The new name, or the error, as *out. */
static enum rule_outcome run_rule(struct rules *s, struct rule *r, struct run *out)
{
    if (r->fault) {
        fail(s, r->fault);
        return RULE_ERROR;
    }
    s->dropped = r->drops;
    for (size_t i = 0; i < r->steps; i++)
        if (!run_step(s, r, i))
            return RULE_ERROR;
    if (s->dropped)
        return RULE_DROPPED;
    if (r->ops && !run_ops(s, r))
        return RULE_ERROR;
    if (!expand(s, r, r->steps, &r->replacement, &s->out, out))
        return RULE_ERROR;
    if (out->at != s->out.at) { /* a run of something else, without a NUL behind it */
        append(&s->out, *out);
        *out = (struct run){s->out.at, s->out.len};
    }
    return RULE_OK;
}

static void compile(struct rules *s, struct rule *r)
{
    struct text pattern = {0};
    struct error err = {0};
    text_adds(&pattern, r->pattern);
    if (s->shape == RULES_TRANSLATOR)
        text_addc(&pattern, '$');
    if (!text_str(&pattern))
        r->pattern_fault = "MemoryError: out of memory";
    else if (regex_compile(text_str(&pattern), pattern.len,
                           s->shape == RULES_TRANSLATOR ? REGEX_MATCH : REGEX_FULLMATCH,
                           &r->regex, &err) != OK)
        r->pattern_fault = fault_of(s, class_of(&err), err.message, NULL);
    text_release(&pattern);
}

/* Whether the rule decides the name in s->name; if so, how, and *out is the new name. Errors
 * are told in s->out. */
static bool decide(struct rules *s, struct rule *r, enum rule_outcome *outcome,
                   struct run *out)
{
    struct error err;
    if (!r->regex && !r->pattern_fault)
        compile(s, r);
    *outcome = RULE_ERROR;
    if (r->pattern_fault) {
        fail(s, r->pattern_fault);
        return true;
    }
    if (s->known && s->name.len && !regex_may_begin(r->regex, (unsigned char)*s->name.at))
        return false;
    err.status = OK; /* no more: it is large, and this runs for every rule and name */
    err.code = NULL;
    int matched = s->known ? regex_exec_known(r->regex, s->name.at, s->name.len, &err)
                           : regex_exec(r->regex, s->name.at, s->name.len, 0, &err);
    s->known = matched >= 0;
    if (matched < 0) {
        fail(s, class_of(&err));
        text_addf(&s->out, ": %s", err.message);
    } else if (matched > 0) {
        *outcome = run_rule(s, r, out);
    }
    return matched != 0;
}

/* The rule's answer, if it decides. */
static bool ask_rule(struct rules *s, struct rule *r, struct rule_result *result)
{
    struct run out = {"", 0};
    enum rule_outcome outcome = RULE_UNMATCHED;
    if (!decide(s, r, &outcome, &out))
        return false;
    if (outcome == RULE_ERROR)
        out = (struct run){s->out.at, s->out.len};
    *result = (struct rule_result){outcome,
                                   r->ord,
                                   out.at,
                                   out.len,
                                   outcome == RULE_OK ? r->cast : NULL,
                                   outcome == RULE_OK && r->ops ? s->ops.at : NULL};
    return true;
}

/* Rules are added in the order of `ord`. */
static struct rule *rule_called(struct rules *s, int64_t ord)
{
    size_t low = 0, high = s->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (s->rule[middle].ord < ord)
            low = middle + 1;
        else
            high = middle;
    }
    return low < s->count && s->rule[low].ord == ord ? &s->rule[low] : NULL;
}

static struct rule_result find_result(struct rules *s)
{
    struct rule_result result = {.outcome = RULE_UNMATCHED, .text = ""};
    struct rule *one = s->one ? rule_called(s, s->asked) : NULL;
    if (one)
        ask_rule(s, one, &result);
    for (size_t i = 0; !s->one && i < s->count; i++)
        if (ask_rule(s, &s->rule[i], &result))
            break;
    return result;
}

static const struct rule_result *apply(struct rules *s, const char *name, size_t len)
{
    static const char no_memory[] = "MemoryError: out of memory";
    bool same = s->name.at && s->name.len == len && memcmp(s->name.at, name, len) == 0;
    text_reset(&s->out);
    if (!same) {
        text_reset(&s->name);
        text_add(&s->name, name, len);
        s->known = false;
    }
    if (!s->name.failed)
        s->result = find_result(s);
    s->answered = !s->name.failed && !s->out.failed;
    if (!s->answered)
        s->result =
            (struct rule_result){RULE_ERROR, 0, no_memory, strlen(no_memory), NULL, NULL};
    return &s->result;
}

const struct rule_result *rules_apply(struct rules *s, const char *name, size_t len)
{
    if (s->answered && !s->one && !s->part.len && s->name.len == len &&
        memcmp(s->name.at, name, len) == 0)
        return &s->result;
    s->one = false;
    text_reset(&s->part);
    return apply(s, name, len);
}

const struct rule_result *rules_apply_part(struct rules *s, const char *part,
                                           const char *name, size_t len)
{
    s->one = false;
    text_reset(&s->part);
    text_adds(&s->part, part);
    return apply(s, name, len);
}

const struct rule_result *rules_apply_one(struct rules *s, int64_t ord, const char *name,
                                          size_t len)
{
    if (s->answered && s->one && s->asked == ord && s->name.len == len &&
        memcmp(s->name.at, name, len) == 0)
        return &s->result;
    s->one = true;
    s->asked = ord;
    text_reset(&s->part);
    return apply(s, name, len);
}

/* --- looking for faults ------------------------------------------------------------------- */

/* What is wrong with the template; groups of the first `steps` steps are there. */
static const char *expansion_fault(struct rules *s, struct rule *r, size_t steps,
                                   struct expansion *e)
{
    if (!e->ready)
        prepare(s, r, steps, e);
    return e->fault;
}

static const char *step_fault(struct rules *s, struct rule *r, size_t at)
{
    struct step *step = &r->step[at];
    bool sub = step->form && step->form->kind == STEP_SUB;
    if (!step->fault && sub && !step->template)
        compile_sub(s, step);
    const char *fault = step->fault;
    for (unsigned i = sub ? 2 : 0; !fault && i < step->args; i++)
        fault = expansion_fault(s, r, at, &step->arg[i]);
    return fault;
}

static const char *rule_fault(struct rules *s, struct rule *r, const char **what)
{
    const char *fault = r->fault;
    *what = "operations";
    if (fault)
        return fault;
    *what = "pattern";
    if (!r->regex && !r->pattern_fault)
        compile(s, r);
    if (r->pattern_fault)
        return r->pattern_fault;
    *what = "compute";
    for (size_t i = 0; i < r->steps && !fault; i++)
        fault = step_fault(s, r, i);
    if (fault)
        return fault;
    *what = "operations";
    for (size_t i = 0; i < r->ops && !fault; i++)
        fault = r->op[i].number ? expansion_fault(s, r, r->steps, &r->op[i].text) : NULL;
    if (fault || r->drops)
        return fault;
    *what = "replacement";
    return expansion_fault(s, r, r->steps, &r->replacement);
}

const char *rules_fault(struct rules *s, int64_t *ord, const char **what)
{
    const char *fault = NULL;
    for (size_t i = 0; i < s->count && !fault; i++) {
        fault = rule_fault(s, &s->rule[i], what);
        *ord = s->rule[i].ord;
    }
    return fault;
}

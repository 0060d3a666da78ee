/*
 * rule_step.c - the steps of a rule, which compute further groups, and the numbers in its
 * operations.
 */
#include <stdlib.h>

#include "catalog/base/search.h"
#include "catalog/maps/map/rules_private.h"
#include "catalog/maps/regex/pytext.h"

#define INT_DIGITS 4300 /* CPython's sys.int_info.default_max_str_digits */

static const struct step_form step_forms[] = {
    {"table", STEP_TABLE, true, 1, 2}, {"int", STEP_INT, false, 1, 1},
    {"index", STEP_INDEX, true, 2, 2}, {"if", STEP_IF, false, 3, 3},
    {"name", STEP_NAME, false, 0, 0},  {"sub", STEP_SUB, false, 3, 3},
    {"part", STEP_PART, false, 0, 0},  {"setting", STEP_SETTING, false, 1, 1},
    {"drop", STEP_DROP, false, 1, 1},
};

/* --- adding -------------------------------------------------------------------------------- */

bool rules_add_step(struct rules *s, const char *const *word, unsigned count)
{
    struct rule *r = &s->rule[s->count - 1];
    struct step *grown = arena_grow(&s->arena, r->step, r->steps, &r->step_space, sizeof(*r->step));
    if (!grown)
        return false;
    r->step = grown;
    s->answered = false;
    struct step *step = &r->step[r->steps];
    *step = (struct step){.group = rules_keep(s, count > 0 ? word[0] : "")};
    if (!step->group)
        return false;
    r->steps++;

    const char *operation = count > 1 ? word[1] : "";
    for (size_t i = 0; i < sizeof(step_forms) / sizeof(step_forms[0]); i++)
        if (strcmp(step_forms[i].name, operation) == 0)
            step->form = &step_forms[i];
    if (!step->form) {
        step->fault = rules_fault_of(s, "ValueError", "unknown step", operation);
        return step->fault != rules_no_memory;
    }
    unsigned at = 2;
    if (step->form->table) {
        step->table = rules_keep(s, count > at ? word[at] : "");
        at++;
    }
    if (count < at + step->form->least || count > at + step->form->most) {
        step->fault =
            rules_fault_of(s, "ValueError", "wrong number of arguments for step", operation);
        return step->fault != rules_no_memory;
    }
    for (; at < count; at++) {
        step->arg[step->args] = rules_expansion(s, word[at]);
        if (!step->arg[step->args++].source)
            return false;
    }
    return step->table || !step->form->table;
}

/* --- tables ------------------------------------------------------------------------------ */

/* Sort shorter keys first: most comparisons then need not look at the bytes. */
static int compare_key(const struct value *v, struct run key)
{
    if (v->key_len != key.len)
        return v->key_len < key.len ? -1 : 1;
    int first = key.len ? (unsigned char)*v->key - (unsigned char)*key.at : 0;
    return first ? first : memcmp(v->key, key.at, key.len);
}

static int compare_values(const void *a, const void *b)
{
    const struct value *x = a, *y = b;
    int order = strcmp(x->table, y->table);
    if (order == 0)
        order = compare_key(x, (struct run){y->key, y->key_len});
    return order ? order : (x->order > y->order) - (x->order < y->order);
}

/* The values of the step's table at `key`; .at NULL: no such key. */
static struct found find_values(struct rules *s, struct step *step, struct run key)
{
    unsigned char first = key.len ? (unsigned char)*key.at : 0,
                  last = key.len ? (unsigned char)key.at[key.len - 1] : 0;
    struct found *recent = &step->recent[(first + 3u * last + key.len) % STEP_RECENT];
    if (recent->at && compare_key(recent->at, key) == 0)
        return *recent;
    if (!step->found) {
        /* Find the entries of the step's table, which are adjacent once values are sorted. */
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
    size_t at;
    PARTITION_POINT(at, step->entries, compare_key(&step->entry[at], key) < 0);
    const struct value *v = step->entry + at;
    if (at == step->entries || compare_key(v, key) != 0)
        return (struct found){0};
    *recent = (struct found){v, 1};
    while (v->listed && at + recent->count < step->entries &&
           compare_key(v + recent->count, key) == 0)
        recent->count++;
    return *recent;
}

/* --- steps --------------------------------------------------------------------------------- */

/* Look up the step's first argument in its table. *entry NULL: the key is missing, and the step
 * has a default as its second argument. False: the error is reported. */
static bool find_entry(struct rules *s, struct rule *r, size_t at, const struct value **entry,
                       size_t *count)
{
    struct step *step = &r->step[at];
    struct run key;
    if (!rules_expand(s, r, at, &step->arg[0], &s->key, &key))
        return false;
    const struct found found = find_values(s, step, key);
    const struct value *v = *entry = found.at;
    *count = found.count;
    if (v && v->listed != (step->form->kind == STEP_INDEX)) {
        rules_fail(s, v->listed ? "ValueError: a list is looked up with index, not with table: "
                                : "ValueError: what is not a list is looked up with table: ");
        text_adds(&s->out, step->table);
        return false;
    }
    if (v || step->args > step->form->least)
        return true;
    rules_fail(s, "KeyError: ");
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
        return rules_expand(s, r, at, &step->arg[1], &step->own, &step->value);
    step->value = (struct run){v->text ? v->text : "", v->text_len};
    return true;
}

/* The number of digits that Python counts against its limit: leading zeros included, signs,
 * spaces and underscores not. */
static size_t count_digits(struct run number)
{
    size_t digits = 0;
    for (size_t i = 0; i < number.len; i++)
        digits +=
            ((unsigned char)number.at[i] & 0xC0) != 0x80 && !strchr(" \t\n\r+-_", number.at[i]);
    return digits;
}

/* Whether the text is one or more ASCII digits. */
static bool rule_step_is_plain(struct run number)
{
    for (size_t i = 0; i < number.len; i++)
        if (number.at[i] < '0' || number.at[i] > '9')
            return false;
    return number.len > 0;
}

/* Set the step's value to str(int(argument i)). */
static bool rule_step_number_of(struct rules *s, struct rule *r, size_t at, unsigned i)
{
    struct step *step = &r->step[at];
    struct run number;
    if (!rules_expand(s, r, at, &step->arg[i], &step->own, &number))
        return false;
    bool plain = rule_step_is_plain(number);
    size_t digits = plain ? number.len : count_digits(number);
    if (digits > INT_DIGITS) {
        rules_fail(s, "ValueError: ");
        text_addf(&s->out,
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
        if (s->number.failed)
            return rules_fail(s, rules_no_memory);
        rules_fail(s, "ValueError: invalid literal for int() with base 10: ");
        pytext_repr(&s->out, number.at, number.len);
        return false;
    }
    text_reset(&step->own);
    text_add(&step->own, s->number.at, s->number.len);
    step->value = (struct run){step->own.at, step->own.len};
    return !step->own.failed || rules_fail(s, rules_no_memory);
}

/* The value of decimal digits; UINT64_MAX if Python would not take it for an index. */
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
    /* With two arguments in any case, what is not found is an error: `list` is set. */
    if (!find_entry(s, r, at, &list, &count) || !list || !rule_step_number_of(s, r, at, 1))
        return false;
    bool minus = *step->value.at == '-';
    uint64_t n = index_value((struct run){step->value.at + minus, step->value.len - minus});
    if (n == UINT64_MAX)
        return rules_fail(s, "IndexError: cannot fit 'int' into an index-sized integer");
    size_t held = list->text ? count : 0;
    if (minus ? n > held : n >= held)
        return rules_fail(s, "IndexError: list index out of range");
    const struct value *v = &list[minus ? held - n : n];
    step->value = (struct run){v->text, v->text_len};
    return true;
}

static bool run_if(struct rules *s, struct rule *r, size_t at)
{
    struct step *step = &r->step[at];
    struct run test;
    return rules_expand(s, r, at, &step->arg[0], &s->key, &test) &&
           rules_expand(s, r, at, &step->arg[test.len ? 1 : 2], &step->own, &step->value);
}

/* The pattern and the template of a sub are re.sub's: they cannot refer to the rule's groups. */
bool rules_compile_sub(struct rules *s, struct step *step)
{
    struct error err = {0};
    const struct expansion *pattern = &step->arg[0], *template = &step->arg[1];
    if (step->regex || /* compiled before, when memory ran out for the template */
        regex_compile(pattern->source, pattern->len, REGEX_SEARCH, &step->regex, &err) == OK)
        template_compile(template->source, template->len, step->regex, &step->template, NULL, &err);
    if (err.status != OK)
        step->fault = rules_fault_from(s, &err);
    return err.status == OK;
}

static bool run_sub(struct rules *s, struct rule *r, size_t at)
{
    struct step *step = &r->step[at];
    struct run text;
    struct error err = {0};
    if (!step->template && !rules_compile_sub(s, step)) {
        rules_fail(s, step->fault);
        if (step->fault == rules_no_memory)
            step->fault = NULL;
        return false;
    }
    if (!rules_expand(s, r, at, &step->arg[2], &s->key, &text))
        return false;
    text_reset(&step->own);
    if (regex_replace(step->regex, step->template, text.at, text.len, &step->own, &err) < 0)
        return rules_fail_match(s, &err);
    step->value = (struct run){step->own.at ? step->own.at : "", step->own.len};
    return !step->own.failed || rules_fail(s, rules_no_memory);
}

static bool run_setting(struct rules *s, struct rule *r, size_t at)
{
    struct step *step = &r->step[at];
    struct run key;
    if (!rules_expand(s, r, at, &step->arg[0], &s->key, &key))
        return false;
    for (size_t i = 0; i < s->settings; i++) {
        const struct known *k = &s->setting[i];
        if (strlen(k->key) != key.len || memcmp(k->key, key.at, key.len) != 0)
            continue;
        if (!k->value)
            return rules_fail(s, k->fault);
        step->value = (struct run){k->value, strlen(k->value)};
        return true;
    }
    rules_fail(s, "KeyError: no setting is called ");
    pytext_repr(&s->out, key.at, key.len);
    return false;
}

static bool run_drop(struct rules *s, struct rule *r, size_t at)
{
    struct run test;
    if (!rules_expand(s, r, at, &r->step[at].arg[0], &s->key, &test))
        return false;
    s->dropped = s->dropped || test.len;
    r->step[at].value = (struct run){"", 0};
    return true;
}

bool rules_run_step(struct rules *s, struct rule *r, size_t at)
{
    struct step *step = &r->step[at];
    if (step->fault)
        return rules_fail(s, step->fault);
    switch (step->form->kind) {
    case STEP_TABLE: return run_table(s, r, at);
    case STEP_INT: return rule_step_number_of(s, r, at, 0);
    case STEP_INDEX: return run_index(s, r, at);
    case STEP_IF: return run_if(s, r, at);
    case STEP_NAME: step->value = (struct run){s->name.at, s->name.len}; return true;
    case STEP_SUB: return run_sub(s, r, at);
    case STEP_PART:
        step->value = (struct run){s->part.at ? s->part.at : "", s->part.len};
        return true;
    case STEP_SETTING: return run_setting(s, r, at);
    case STEP_DROP: return run_drop(s, r, at);
    }
    return false;
}

/* Append a number as JSON: leading zeros are removed. */
static bool rule_step_add_number(struct rules *s, struct run number)
{
    for (; number.len > 1 && *number.at == '0' && rule_step_is_plain(number); number.len--)
        number.at++;
    bool good = number.len > 0 && number.len < 40;
    for (size_t i = 0; good && i < number.len; i++)
        good = strchr(i ? "0123456789+-.eE" : "0123456789-", number.at[i]) != NULL;
    if (good) {
        rules_append(&s->ops, number);
        return true;
    }
    rules_fail(s, "ValueError: an operation wants a number, not ");
    pytext_repr(&s->out, number.at, number.len);
    return false;
}

bool rules_run_ops(struct rules *s, struct rule *r)
{
    text_reset(&s->ops);
    for (size_t i = 0; i < r->ops; i++) {
        struct op_piece *p = &r->op[i];
        struct run number = {p->text.source, p->text.len};
        if (!p->number)
            rules_append(&s->ops, number);
        else if (!rules_expand(s, r, r->steps, &p->text, &s->key, &number) ||
                 !rule_step_add_number(s, number))
            return false;
    }
    return !s->ops.failed || rules_fail(s, rules_no_memory);
}

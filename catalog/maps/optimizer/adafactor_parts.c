/*
 * adafactor_parts.c - errors that depend on the parameters: those that several parts select, and
 * axes that do not fit.
 */
#include <string.h>

#include "catalog/maps/optimizer/adafactor_private.h"

/* --- parameters that several parts select ------------------------------------------------------ */

bool adafactor_selecting(struct adafactor *a, const struct optimizer_param *param, size_t *at,
                         struct text *out)
{
    bool several = false;
    text_addc(out, '[');
    for (size_t k = 0, found = 0; k < a->parts; k++) {
        const struct members *m = &a->part[k].members;
        if (at[k] == m->count || m->at[at[k]] != param)
            continue;
        at[k]++;
        text_addf(out, "%s%zu", found ? ", " : "", k);
        several = several || found;
        found++;
    }
    text_addc(out, ']');
    return several;
}

/* How many leading folders two names share; *depth: how many folders `a` has in all. */
static size_t shared_folders(const struct optimizer_param *a, const struct optimizer_param *b,
                             size_t *depth)
{
    size_t shared = 0;
    bool same = b != NULL;
    *depth = 0;
    for (size_t i = 0; i < a->len; i++) {
        same = same && i < b->len && a->name[i] == b->name[i];
        *depth += a->name[i] == '/';
        shared += same && a->name[i] == '/';
    }
    return shared;
}

static void text_repr(struct text *out, struct run *r, const char *from, size_t len)
{
    text_adds(out, run_repr(r, arena_copy(r->arena, from, len)));
}

/* Append one parameter to the nested dict as Python prints it, {'a': {'b': [0]}}; `before` is the
 * parameter appended last, whose folders are still open. */
static void tree_line(struct run *r, struct text *out, const struct optimizer_param *param,
                      const struct optimizer_param *before)
{
    size_t depth, depth_before = 0;
    size_t shared = shared_folders(param, before, &depth);
    if (before)
        shared_folders(before, NULL, &depth_before);
    for (size_t k = shared; k < depth_before; k++)
        text_addc(out, '}');
    text_adds(out, before ? ", " : "");
    const char *at = param->name;
    for (size_t k = 0; k <= depth; k++) {
        size_t len = strcspn(at, "/");
        if (k >= shared)
            text_repr(out, r, at, len), text_adds(out, k < depth ? ": {" : ": ");
        at += len + 1;
    }
}

void adafactor_check_overlap(struct adafactor *a)
{
    struct run *r = a->run;
    struct text tree = {0};
    bool several = false;
    size_t depth = 0;
    const struct optimizer_param *all = r->params->at, *param = NULL;
    size_t *at = arena_array(r->arena, a->parts + 1, sizeof(*at));
    if (!at)
        return;
    for (size_t i = 0; i < r->params->count; i++) {
        tree_line(r, &tree, &all[i], param);
        param = &all[i];
        several = adafactor_selecting(a, param, at, &tree) || several;
    }
    if (param)
        shared_folders(param, NULL, &depth);
    while (depth-- > 0)
        text_addc(&tree, '}');
    if (several)
        run_fault(r, "ValueError: Multiple optimizers match the same leaves : {%s}",
                  text_keep(&tree, r->arena));
    text_release(&tree);
}

/* --- axes ---------------------------------------------------------------------------------------- */

/* The word of an axis. WORD_BAD: a row with the KeyError was added. */
static enum word axis_word(struct run *r, const struct part *p, const struct json_value *axis)
{
    const char *name = run_plain(r, axis), *text = NULL;
    for (size_t i = 0; p->logical->type == JSON_STRING && i < r->tables->axes; i++)
        if (strcmp(r->tables->axis[i].axis, name) == 0)
            text = r->tables->axis[i].word;
    const struct json_value *given = json_get(p->logical, name);
    if (given)
        text = adafactor_lowered(r, given);
    enum word word = text ? adafactor_word_called(text) : WORD_BAD;
    if (word == WORD_BAD)
        run_fault(r, "KeyError: %s", run_repr(r, text ? text : name));
    return word;
}

/* "ValueError: Incomplete …" */
static void incomplete(struct run *r, const struct rule *rule, const struct json_value *axes)
{
    struct text enums = {0}, names = {0};
    size_t k = 0;
    for (const struct json_value *x = axes->first; x; x = x->next, k++) {
        const char *name = run_plain(r, x);
        text_addf(&enums, "%s%s", k ? ", " : "", adafactor_word_text[rule->word[k]]);
        text_adds(&names, k ? ", " : "");
        text_repr(&names, r, name, strlen(name));
    }
    run_fault(r, "ValueError: Incomplete adafactor spec (%s) for P(%s)!",
              text_keep(&enums, r->arena), text_keep(&names, r->arena));
    text_release(&enums);
    text_release(&names);
}

struct rule adafactor_axes_rule(struct run *r, const struct part *p, const struct json_value *axes)
{
    struct rule rule = {
        RULE_WORDS, arena_array(r->arena, axes->count + 1, sizeof(enum word)), 0, {false}};
    for (const struct json_value *x = axes->first; x && rule.word; x = x->next) {
        enum word word = axis_word(r, p, x);
        if (word == WORD_BAD)
            return rule;
        rule.word[rule.count++] = word;
        rule.has[word] = true;
    }
    if (rule.has[WORD_ROW] && rule.has[WORD_COLUMN] && rule.has[WORD_NONE])
        incomplete(r, &rule, axes);
    return rule;
}

void adafactor_check_axes(struct adafactor *a)
{
    struct run *r = a->run;
    for (size_t k = 0; k < a->parts; k++) {
        const struct part *p = &a->part[k];
        for (size_t i = 0; p->logical && i < p->members.count; i++) {
            const struct json_value *axes = axes_of(r, p->axes, p->members.at[i]);
            if (axes)
                adafactor_axes_rule(r, p, axes);
        }
    }
}

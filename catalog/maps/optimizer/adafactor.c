/*
 * adafactor.c - the state of T5X's Adafactor, alone or as parts of a MultiOptimizer: v_row,
 * v_col, v and m of every parameter. Errors are reported in the order in which the original raises
 * them: constructors, parameters selected by several parts, axes, then the parameters of each part.
 */
#include <string.h>

#include "catalog/maps/optimizer/adafactor_private.h"

/* --- a parameter's state --------------------------------------------------------------------- */

/* A rule factors only if it has both a row and a column: otherwise neither counts. */
static void whole_rule(struct rule *rule)
{
    if (rule->has[WORD_ROW] && rule->has[WORD_COLUMN])
        return;
    for (size_t k = 0; k < rule->count; k++)
        if (rule->word[k] == WORD_ROW || rule->word[k] == WORD_COLUMN)
            rule->word[k] = WORD_NONE;
    rule->has[WORD_ROW] = rule->has[WORD_COLUMN] = false;
}

static void mapped_rule(struct run *r, const struct part *p, const struct optimizer_param *param,
                        struct rule *rule)
{
    rule->kind = p->map ? RULE_MISSING : RULE_HEURISTIC;
    for (size_t k = 0; p->map && k < p->mapped && r->err->status == OK; k++) {
        if (regex_exec(p->map[k].regex, param->name, param->len, 0, r->err) > 0) {
            *rule = p->map[k].rule;
            return;
        }
    }
}

/* Find the rule for a parameter. Returns the exception that the original raises instead, or NULL. */
static const char *rule_for(struct run *r, const struct part *p,
                            const struct optimizer_param *param, struct rule *rule)
{
    const struct json_value *axes = axes_of(r, p->axes, param);
    *rule = (struct rule){.kind = RULE_UNFACTORED};
    if (!value_true(json_get(p->args, "factored"), true))
        return NULL;
    const char *text = param->name;
    if (p->logical && axes) {
        *rule = adafactor_axes_rule(r, p, axes);
        whole_rule(rule);
        return NULL;
    }
    if (!p->logical) {
        mapped_rule(r, p, param, rule);
        if (rule->kind != RULE_MISSING)
            return NULL;
        text = run_textf(r, "No factor rule found for parameter: %s", param->name);
    }
    return run_textf(r, "KeyError: %s", run_repr(r, text));
}

/* A shape as Python prints a tuple. */
static const char *tuple_text(struct run *r, const struct optimizer_shape *s)
{
    const char *text = "";
    for (unsigned k = 0; k < s->rank; k++)
        text = run_textf(r, "%s%s%llu", text, k ? ", " : "", (unsigned long long)s->size[k]);
    return run_textf(r, "(%s%s)", text, s->rank == 1 ? "," : "");
}

/* Why a rule does not fit a shape; NULL if it does. */
static const char *judge_rank(struct run *r, const struct optimizer_param *param,
                              const struct rule *rule)
{
    const struct optimizer_shape *s = param->shape;
    bool explicit = rule->kind == RULE_WORDS && rule->count != s->rank;
    if (!explicit && (rule->kind != RULE_HEURISTIC || s->rank <= 2))
        return NULL;
    const char *tuple = tuple_text(r, s), *list = "";
    for (size_t k = 0; explicit && k < rule->count; k++)
        list = run_textf(r, "%s%s%s", list, k ? ", " : "", adafactor_word_text[rule->word[k]]);
    return explicit ? run_textf(r,
                                "ValueError: Factorization rule (%s%s) has incorrect rank for "
                                "param of rank %u: %s, %s",
                                list, rule->count == 1 ? "," : "", s->rank, param->name, tuple)
                    : run_textf(r,
                                "ValueError: A parameter with rank strictly higher than 2 must "
                                "have an explicit factorization rule: %s, %s",
                                param->name, tuple);
}

/* The shapes of the slots; "[1]" if a slot is not used. */
struct shapes {
    const char *v_row, *v_col, *v;
};

/* The shape without the dimensions to which the rule gives this word. */
static const char *shape_beside(struct run *r, const struct optimizer_shape *s,
                                const struct rule *rule, enum word word)
{
    bool *drop = arena_array(r->arena, s->rank + 1, sizeof(*drop));
    for (unsigned k = 0; drop && k < s->rank; k++)
        drop[k] = rule->word[k] == word;
    return drop ? run_shape(r, s, drop) : "";
}

static struct shapes factored_shapes(struct run *r, const struct part *p,
                                     const struct optimizer_shape *s, const struct rule *rule)
{
    bool heuristic = rule->kind == RULE_HEURISTIC ||
                     (rule->kind == RULE_WORDS && s->rank <= 2 && !rule->has[WORD_BATCH]);
    double least = value_number(json_get(p->args, "min_dim_size_to_factor"), 128);
    if (heuristic
            ? s->rank < 2 || (double)s->size[s->second] < least
            : rule->kind == RULE_UNFACTORED || (!rule->has[WORD_ROW] && !rule->has[WORD_COLUMN]))
        return (struct shapes){"[1]", "[1]", s->text};
    if (heuristic)
        return (struct shapes){run_shape_without(r, s, s->largest),
                               run_shape_without(r, s, s->second), "[1]"};
    return (struct shapes){shape_beside(r, s, rule, WORD_COLUMN),
                           shape_beside(r, s, rule, WORD_ROW), "[1]"};
}

static void add_slots(struct run *r, const struct part *p, const struct optimizer_param *param,
                      const struct shapes *shapes)
{
    const struct json_value *beta1 = json_get(p->args, "beta1"),
                            *given = axes_of(r, p->axes, param);
    const char *text = param->shape ? param->shape->text : NULL, *momentum = NULL;
    const char *axes = given ? run_json(r, given) : NULL;
    bool whole = text && shapes->v == text && strcmp(text, "[1]") != 0;
    if (!value_null(beta1))
        momentum = value_dtype(r, json_get(p->args, "dtype_momentum"));
    struct optimizer_row row = {STATE_ROOT, param, "/v_row", shapes->v_row, "float32", NULL, NULL};
    run_add(r, row);
    row.slot = "/v_col", row.shape = shapes->v_col;
    run_add(r, row);
    row.slot = "/v", row.shape = shapes->v, row.axes = whole ? axes : NULL;
    run_add(r, row);
    row.slot = "/m", row.shape = value_null(beta1) ? "[1]" : text;
    row.dtype = momentum ? momentum : "float32";
    row.axes = value_true(beta1, false) ? axes : NULL;
    run_add(r, row);
}

static void param_state(struct run *r, const struct part *p, const struct optimizer_param *param)
{
    struct shapes shapes = {NULL, NULL, NULL};
    struct rule rule;
    const char *error = rule_for(r, p, param, &rule);
    if (!error && param->shape)
        error = judge_rank(r, param, &rule);
    if (error) {
        run_add(r, (struct optimizer_row){STATE_ROOT, param, NULL, NULL, NULL, NULL, error});
        return;
    }
    if (param->shape)
        shapes = factored_shapes(r, p, param->shape, &rule);
    add_slots(r, p, param, &shapes);
}

static void part_state(struct run *r, const struct part *p)
{
    if (p->optax) {
        optax_late_faults(r, p->optax, &p->members);
        run_fault(r, "AssertionError: expected (frozen)dict; got <class 'tuple'>");
        return;
    }
    for (size_t i = 0; i < p->members.count; i++)
        param_state(r, p, p->members.at[i]);
}

/* Parameters that no part selects have a null state. */
static void unowned(struct adafactor *a)
{
    struct run *r = a->run;
    struct text ignored = {0};
    size_t *at = arena_array(r->arena, a->parts + 1, sizeof(*at));
    for (size_t i = 0; at && i < r->params->count; i++) {
        const struct optimizer_param *param = &r->params->at[i];
        text_reset(&ignored);
        adafactor_selecting(a, param, at, &ignored);
        if (ignored.len == strlen("[]"))
            run_add(r, (struct optimizer_row){.path = STATE_ROOT, .param = param});
    }
    text_release(&ignored);
}

void adafactor_state(struct run *r)
{
    struct adafactor a = {.run = r};
    adafactor_read_parts(&a);
    if (r->rows->count > 0 || r->err->status != OK)
        return;
    const struct members all = members_all(r);
    for (size_t k = 0; k < a.parts; k++)
        a.part[k].members = a.several ? filter_members(r, a.part[k].filter, true, &all) : all;
    if (a.several)
        adafactor_check_overlap(&a);
    adafactor_check_axes(&a);
    if (r->rows->count > 0 || r->err->status != OK)
        return;
    run_add(r, (struct optimizer_row){"state/step", NULL, NULL, "[]", "int32", NULL, NULL});
    for (size_t k = 0; k < a.parts; k++)
        part_state(r, &a.part[k]);
    if (a.several)
        unowned(&a);
}

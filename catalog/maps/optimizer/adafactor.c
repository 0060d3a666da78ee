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

static bool mapped_rule(struct run *r, const struct part *p, const struct optimizer_param *param,
                        struct rule *rule)
{
    const struct mapped *map = p->map;
    rule->kind = map ? RULE_MISSING : RULE_HEURISTIC;
    for (size_t k = 0; map && k < p->mapped; k++) {
        int hit = regex_exec(map[k].regex, param->name, param->len, 0, r->err);
        if (hit > 0)
            *rule = map[k].rule;
        if (hit != 0)
            return hit > 0;
    }
    return true;
}

/* Find the rule for a parameter, or in *error the exception that the original raises instead. */
static bool rule_for(struct run *r, const struct part *p, const struct optimizer_param *param,
                     struct rule *rule, const char **error)
{
    const struct json_value *axes = axes_of(r, p->axes, param);
    *rule = (struct rule){.kind = RULE_UNFACTORED};
    if (!value_true(json_get(p->args, "factored"), true))
        return true;
    const char *text = param->name;
    if (p->logical && axes) {
        if (!adafactor_axes_rule(r, p, axes, rule))
            return false;
        whole_rule(rule);
        return true;
    }
    if (!p->logical) {
        if (!mapped_rule(r, p, param, rule))
            return false;
        if (rule->kind != RULE_MISSING)
            return true;
        text = run_textf(r, "No factor rule found for parameter: %s", param->name);
    }
    const char *shown = text ? run_repr(r, text) : NULL;
    *error = shown ? run_textf(r, "KeyError: %s", shown) : NULL;
    return *error != NULL;
}

/* A shape as Python prints a tuple. */
static const char *tuple_text(struct run *r, const struct optimizer_shape *s)
{
    const char *text = "";
    for (unsigned k = 0; text && k < s->rank; k++)
        text = run_textf(r, "%s%s%llu", text, k ? ", " : "", (unsigned long long)s->size[k]);
    return text ? run_textf(r, "(%s%s)", text, s->rank == 1 ? "," : "") : NULL;
}

/* Check a rule against a shape; *error stays NULL if they fit. */
static bool judge_rank(struct run *r, const struct optimizer_param *param, const struct rule *rule,
                       const char **error)
{
    const struct optimizer_shape *s = param->shape;
    bool explicit = rule->kind == RULE_WORDS && rule->count != s->rank;
    if (!explicit && (rule->kind != RULE_HEURISTIC || s->rank <= 2))
        return true;
    const char *tuple = tuple_text(r, s), *list = "";
    for (size_t k = 0; explicit && list && k < rule->count; k++)
        list = run_textf(r, "%s%s%s", list, k ? ", " : "", adafactor_word_text[rule->word[k]]);
    if (!tuple || !list)
        return false;
    *error = explicit ? run_textf(r,
                                  "ValueError: Factorization rule (%s%s) has incorrect rank for "
                                  "param of rank %u: %s, %s",
                                  list, rule->count == 1 ? "," : "", s->rank, param->name, tuple)
                      : run_textf(r,
                                  "ValueError: A parameter with rank strictly higher than 2 must "
                                  "have an explicit factorization rule: %s, %s",
                                  param->name, tuple);
    return *error != NULL;
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
    if (!drop)
        run_no_memory(r);
    return drop ? run_shape(r, s, drop) : NULL;
}

static bool factored_shapes(struct run *r, const struct part *p, const struct optimizer_shape *s,
                            const struct rule *rule, struct shapes *out)
{
    bool heuristic = rule->kind == RULE_HEURISTIC ||
                     (rule->kind == RULE_WORDS && s->rank <= 2 && !rule->has[WORD_BATCH]);
    double least = value_number(json_get(p->args, "min_dim_size_to_factor"), 128);
    if (heuristic
            ? s->rank < 2 || (double)s->size[s->second] < least
            : rule->kind == RULE_UNFACTORED || (!rule->has[WORD_ROW] && !rule->has[WORD_COLUMN])) {
        out->v = s->text;
        return true;
    }
    out->v_row =
        heuristic ? run_shape_without(r, s, s->largest) : shape_beside(r, s, rule, WORD_COLUMN);
    out->v_col =
        heuristic ? run_shape_without(r, s, s->second) : shape_beside(r, s, rule, WORD_ROW);
    return out->v_row && out->v_col;
}

static const char *axes_text(struct run *r, const struct part *p,
                             const struct optimizer_param *param, bool *fine)
{
    const struct json_value *axes = axes_of(r, p->axes, param);
    const char *text = axes ? run_json(r, axes) : NULL;
    *fine = *fine && (!axes || text);
    return text;
}

static bool add_slots(struct run *r, const struct part *p, const struct optimizer_param *param,
                      const struct shapes *shapes)
{
    const struct json_value *beta1 = json_get(p->args, "beta1");
    const char *text = param->shape ? param->shape->text : NULL, *momentum = "float32";
    bool fine = true, whole = text && shapes->v == text && strcmp(text, "[1]") != 0;
    const char *axes = axes_text(r, p, param, &fine);
    if (fine && !value_null(beta1)) {
        const char *given = value_dtype(r, json_get(p->args, "dtype_momentum"));
        momentum = given ? given : momentum;
        fine = r->err->status == OK;
    }
    struct optimizer_row row = {STATE_ROOT, param, "/v_row", shapes->v_row, "float32", NULL, NULL};
    fine = fine && run_add(r, row);
    row.slot = "/v_col", row.shape = shapes->v_col;
    fine = fine && run_add(r, row);
    row.slot = "/v", row.shape = shapes->v, row.axes = whole ? axes : NULL;
    fine = fine && run_add(r, row);
    row.slot = "/m", row.shape = value_null(beta1) ? "[1]" : text;
    row.dtype = momentum, row.axes = value_true(beta1, false) ? axes : NULL;
    return fine && run_add(r, row);
}

static bool param_state(struct run *r, const struct part *p, const struct optimizer_param *param)
{
    struct shapes shapes = {"[1]", "[1]", "[1]"};
    const char *error = NULL;
    struct rule rule;
    if (!rule_for(r, p, param, &rule, &error) ||
        (!error && param->shape && !judge_rank(r, param, &rule, &error)))
        return false;
    if (error)
        return run_add(r, (struct optimizer_row){STATE_ROOT, param, NULL, NULL, NULL, NULL, error});
    if (!param->shape)
        shapes = (struct shapes){NULL, NULL, NULL};
    else if (!factored_shapes(r, p, param->shape, &rule, &shapes))
        return false;
    return add_slots(r, p, param, &shapes);
}

static bool part_state(struct run *r, const struct part *p)
{
    if (p->optax)
        return optax_late_faults(r, p->optax, &p->members) &&
               run_fault(r, "AssertionError: expected (frozen)dict; got <class 'tuple'>");
    for (size_t i = 0; i < p->members.count; i++)
        if (!param_state(r, p, p->members.at[i]))
            return false;
    return true;
}

/* Parameters that no part selects have a null state. */
static bool unowned(struct adafactor *a)
{
    struct run *r = a->run;
    struct text ignored = {0};
    size_t *at = arena_array(r->arena, a->parts + 1, sizeof(*at));
    bool fine = at || run_no_memory(r);
    for (size_t i = 0; fine && i < r->params->count; i++) {
        const struct optimizer_param *param = &r->params->at[i];
        text_reset(&ignored);
        adafactor_selecting(a, param, at, &ignored);
        if (ignored.len == strlen("[]"))
            fine = run_add(r, (struct optimizer_row){.path = STATE_ROOT, .param = param});
    }
    text_release(&ignored);
    return fine;
}

static bool choose_members(struct adafactor *a)
{
    struct members all;
    if (!members_all(a->run, &all))
        return false;
    for (size_t k = 0; k < a->parts; k++) {
        struct part *p = &a->part[k];
        if (!a->several)
            p->members = all;
        else if (!filter_members(a->run, p->filter, true, &all, &p->members))
            return false;
    }
    return true;
}

bool adafactor_state(struct run *r)
{
    struct adafactor a = {.run = r};
    if (!adafactor_read_parts(&a) || r->rows->count > 0)
        return r->err->status == OK;
    if (!choose_members(&a) || (a.several && !adafactor_check_overlap(&a)) ||
        !adafactor_check_axes(&a) || r->rows->count > 0)
        return r->err->status == OK;
    struct optimizer_row step = {"state/step", NULL, NULL, "[]", "int32", NULL, NULL};
    bool fine = run_add(r, step);
    for (size_t k = 0; fine && k < a.parts; k++)
        fine = part_state(r, &a.part[k]);
    return fine && (!a.several || unowned(&a));
}

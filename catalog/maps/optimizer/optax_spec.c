/* optax_spec.c - see optax_spec.h; also finds errors of a spec that do not depend on parameters. */
#include "catalog/maps/optimizer/optax_spec.h"

#include <string.h>

#include "catalog/maps/optimizer/optax_args.h"

/* The key of each form, the keys allowed beside it, and whether its value is a list or a
 * transformation. In the order in which messages list them. */
static const struct form_text {
    const char *key, *beside[3];
    bool list, inner;
} forms[] = {
    [FORM_NONE] = {"", {NULL}, false, false},
    [FORM_OPT] = {"opt", {"args"}, false, false},
    [FORM_TRANSFORM] = {"transform", {"args"}, false, false},
    [FORM_INJECT] = {"inject_hyperparams", {"args"}, false, false},
    [FORM_CHAIN] = {"chain", {NULL}, true, false},
    [FORM_NAMED_CHAIN] = {"named_chain", {NULL}, true, false},
    [FORM_MASKED] = {"masked", {"mask"}, false, true},
    [FORM_MULTI_TRANSFORM] = {"multi_transform", {"filter"}, true, false},
    [FORM_MULTI_STEPS] = {"multi_steps", {"every_k_schedule", "use_grad_mean"}, false, true},
    [FORM_APPLY_IF_FINITE] = {"apply_if_finite", {"max_consecutive_errors"}, false, true},
};

enum form optax_form_of(const struct json_value *tx, const struct json_value **value)
{
    for (enum form f = FORM_OPT; f <= FORM_APPLY_IF_FINITE; f++)
        if ((*value = json_get(tx, forms[f].key)))
            return f;
    return FORM_NONE;
}

const char *form_key(enum form f)
{
    return forms[f].key;
}

/* A label as Python prints it. */
static const char *label_text(struct run *r, const struct json_value *label)
{
    switch (json_type_of(label)) {
    case JSON_TRUE:
        return "True";
    case JSON_FALSE:
        return "False";
    case JSON_NULL:
        return "None";
    default:
        return run_plain(r, label);
    }
}

/* The first or second element of a pair; NULL if it is no list, or too short. */
static const struct json_value *pair(const struct json_value *list, int second)
{
    const struct json_value *first = list && list->type == JSON_ARRAY ? list->first : NULL;
    return second && first ? first->next : first;
}

/* Element number `place` of a list; `before` is the element before it. */
static const struct json_value *element(const struct json_value *list, size_t place,
                                        const struct json_value *before)
{
    if (place == 0)
        return list->first;
    return before ? before->next : NULL;
}

bool next_child(struct run *r, const struct json_value *tx, const struct json_value **at,
                size_t *place, struct child *out, bool *found)
{
    const struct json_value *value, *mask = json_get(tx, "mask"), *filter = json_get(tx, "filter");
    enum form f = optax_form_of(tx, &value);
    *found = false;
    *out = (struct child){.wanted = *place == 0};
    if (forms[f].inner) {
        *found = *place == 0;
        out->path = f == FORM_MULTI_STEPS ? "/inner_opt_state" : "/inner_state";
        out->tx = value;
        out->filter = mask;
        out->filtered = f == FORM_MASKED;
    } else if (value && forms[f].list && value->type == JSON_ARRAY) {
        *at = element(value, *place, *at);
        *found = *at != NULL;
        out->tx = f == FORM_CHAIN ? *at : pair(*at, 1);
        out->filter = filter;
        out->filtered = f == FORM_MULTI_TRANSFORM;
        const char *name = f == FORM_CHAIN || !*found ? ""
                           : f == FORM_NAMED_CHAIN    ? run_plain(r, pair(*at, 0))
                                                      : label_text(r, pair(*at, 0));
        if (!name)
            return false;
        out->path = f == FORM_CHAIN         ? run_textf(r, "/%zu", *place)
                    : f == FORM_NAMED_CHAIN ? run_textf(r, "/%s", name)
                                            : run_textf(r, "/inner_states/%s/inner_state", name);
    }
    ++*place;
    return !*found || out->path;
}

/* --- errors of a spec ---------------------------------------------------------------------------- */

static bool not_a_form(struct run *r, const struct json_value *tx)
{
    const char *shown = run_json(r, tx);
    return shown &&
           run_fault(r,
                     "%s is not a transformation: a spec has one of \"opt\", \"transform\", "
                     "\"chain\", \"named_chain\", \"masked\", \"multi_transform\", "
                     "\"inject_hyperparams\", \"multi_steps\" and \"apply_if_finite\"",
                     shown);
}

/* Check a form whose value is a list or a transformation; *wrong is true if a fault was added. */
static bool judge_shape(struct run *r, enum form f, const struct json_value *tx,
                        const struct json_value *value, bool *wrong)
{
    *wrong = true;
    if (forms[f].list && value->type != JSON_ARRAY)
        return run_fault(r, "'%s' is not a list", forms[f].key);
    if (f == FORM_CHAIN && value->count == 0)
        return run_fault(r, "ValueError: not enough values to unpack (expected 2, got 0)");
    if (f == FORM_MASKED && !json_get(tx, "mask"))
        return run_fault(r, "\"masked\" has no \"mask\"");
    if (f == FORM_MULTI_TRANSFORM && !json_get(tx, "filter"))
        return run_fault(r, "\"multi_transform\" has no \"filter\"");
    if (f == FORM_MULTI_TRANSFORM && value->count != 2)
        return run_fault(r, "\"multi_transform\" has not two labels");
    *wrong = false;
    return true;
}

/* Check a form whose value is the name of a function. */
static bool judge_name(struct run *r, enum form f, const struct json_value *value,
                       const struct optax_function **function, bool *wrong)
{
    const char *name = run_plain(r, value);
    if (!name)
        return false;
    *function = optax_function_called(r, name);
    if (f == FORM_OPT && *function && strcmp((*function)->kind, "optimizer") != 0)
        *function = NULL;
    *wrong = !*function;
    const char *shown = value->type == JSON_NULL ? "null" : run_repr(r, name);
    return shown &&
           (!*wrong || run_fault(r, "unknown %s %s",
                                 f == FORM_TRANSFORM ? "transformation" : "optimizer", shown));
}

static bool judge_keys(struct run *r, enum form f, const struct json_value *tx)
{
    for (const struct json_value *v = tx->first; v; v = v->next) {
        bool known = strcmp(v->key, forms[f].key) == 0;
        for (size_t i = 0; !known && i < 3 && forms[f].beside[i]; i++)
            known = strcmp(v->key, forms[f].beside[i]) == 0;
        const char *shown = known ? "" : run_repr(r, v->key);
        if (!shown ||
            (!known && !run_fault(r, "unknown key %s beside \"%s\"", shown, forms[f].key)))
            return false;
    }
    return true;
}

/* Check an argument: a plain value, {"$schedule": ...} or {"$mask": FILTER}. */
static bool judge_value(struct run *r, const struct json_value *a)
{
    const struct json_value *mask = json_get(a, "$mask");
    bool good;
    if (mask)
        return filter_check(r, mask, &good);
    if ((a->type != JSON_OBJECT && a->type != JSON_ARRAY) || is_schedule(a))
        return true;
    const char *name = run_repr(r, a->key), *shown = run_json(r, a);
    return name && shown &&
           run_fault(r, "argument %s is neither {\"$schedule\": ...} nor {\"$mask\": F}: %s", name,
                     shown);
}

static bool judge_args(struct run *r, const struct optax_function *function,
                       const struct json_value *args)
{
    struct args known = {0};
    if (function && !args_of(r, function, NULL, &known))
        return false;
    for (const struct json_value *a = args->first; function && a; a = a->next) {
        bool there = false;
        for (size_t i = 0; i < known.count; i++)
            there = there || strcmp(known.at[i].name, a->key) == 0;
        const char *shown = there ? "" : run_repr(r, a->key);
        if (!shown ||
            (!there && !run_fault(r, "TypeError: %s() got an unexpected keyword argument %s",
                                  function->name, shown)))
            return false;
    }
    for (const struct json_value *a = args->first; a; a = a->next)
        if (!judge_value(r, a))
            return false;
    return true;
}

static bool judge_filter(struct run *r, const struct json_value *f)
{
    bool good;
    return !f || value_null(f) || f->type == JSON_TRUE || filter_check(r, f, &good);
}

static bool judge(struct run *r, const struct json_value *tx)
{
    const struct json_value *value, *args = json_get(tx, "args");
    const struct optax_function *function = NULL;
    enum form f = optax_form_of(tx, &value);
    bool wrong = false;
    if (f == FORM_NONE)
        return not_a_form(r, tx);
    bool named = f == FORM_OPT || f == FORM_TRANSFORM || f == FORM_INJECT;
    if (!(named ? judge_name(r, f, value, &function, &wrong)
                : judge_shape(r, f, tx, value, &wrong)))
        return false;
    if (!wrong && args && args->type != JSON_OBJECT) {
        const char *shown = run_json(r, args);
        if (!shown || !run_fault(r, "\"args\" is not an object: %s", shown))
            return false;
    }
    return judge_keys(r, f, tx) &&
           (json_type_of(args) != JSON_OBJECT || judge_args(r, function, args)) &&
           judge_filter(r, f == FORM_MASKED ? json_get(tx, "mask") : NULL) &&
           judge_filter(r, f == FORM_MULTI_TRANSFORM ? json_get(tx, "filter") : NULL);
}

bool optax_faults(struct run *r, const struct json_value *tx)
{
    const struct json_value *at = NULL;
    size_t place = 0;
    struct child child;
    bool found = true;
    if (!judge(r, tx))
        return false;
    while (found) {
        if (!next_child(r, tx, &at, &place, &child, &found) ||
            (found && !optax_faults(r, child.tx)))
            return false;
    }
    return true;
}

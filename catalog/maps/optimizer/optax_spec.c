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
    case JSON_TRUE: return "True";
    case JSON_FALSE: return "False";
    case JSON_NULL: return "None";
    default: return run_plain(r, label);
    }
}

/* The first or second element of a pair; NULL if it is no list, or too short. */
static const struct json_value *pair(const struct json_value *list, int second)
{
    const struct json_value *first = list && list->type == JSON_ARRAY ? list->first : NULL;
    return second && first ? first->next : first;
}

bool next_child(struct run *r, const struct json_value *tx, const struct json_value **at,
                size_t *place, struct child *out)
{
    const struct json_value *value;
    const enum form f = optax_form_of(tx, &value);
    const size_t k = (*place)++;
    *out = (struct child){.wanted = k == 0};
    if (forms[f].inner) {
        out->path = f == FORM_MULTI_STEPS ? "/inner_opt_state" : "/inner_state";
        out->tx = value;
        out->filter = json_get(tx, "mask");
        out->filtered = f == FORM_MASKED;
        return k == 0;
    }
    if (!value || !forms[f].list || value->type != JSON_ARRAY)
        return false;
    *at = k == 0 ? value->first : *at ? (*at)->next : NULL;
    if (!*at)
        return false;
    out->tx = f == FORM_CHAIN ? *at : pair(*at, 1);
    out->filter = json_get(tx, "filter");
    out->filtered = f == FORM_MULTI_TRANSFORM;
    if (f == FORM_CHAIN)
        out->path = run_textf(r, "/%zu", k);
    else if (f == FORM_NAMED_CHAIN)
        out->path = run_textf(r, "/%s", run_plain(r, pair(*at, 0)));
    else
        out->path = run_textf(r, "/inner_states/%s/inner_state", label_text(r, pair(*at, 0)));
    return true;
}

/* --- errors of a spec ---------------------------------------------------------------------------- */

/* Check a form whose value is a list or a transformation. False: a fault was added. */
static bool judge_shape(struct run *r, enum form f, const struct json_value *tx,
                        const struct json_value *value)
{
    if (forms[f].list && value->type != JSON_ARRAY)
        run_fault(r, "'%s' is not a list", forms[f].key);
    else if (f == FORM_CHAIN && value->count == 0)
        run_fault(r, "ValueError: not enough values to unpack (expected 2, got 0)");
    else if (f == FORM_MASKED && !json_get(tx, "mask"))
        run_fault(r, "\"masked\" has no \"mask\"");
    else if (f == FORM_MULTI_TRANSFORM && !json_get(tx, "filter"))
        run_fault(r, "\"multi_transform\" has no \"filter\"");
    else if (f == FORM_MULTI_TRANSFORM && value->count != 2)
        run_fault(r, "\"multi_transform\" has not two labels");
    else
        return true;
    return false;
}

/* The function that a form's value names; NULL: a fault was added. */
static const struct optax_function *judge_name(struct run *r, enum form f,
                                               const struct json_value *value)
{
    const char *name = run_plain(r, value);
    const struct optax_function *function = optax_function_called(r, name);
    if (function && (f != FORM_OPT || strcmp(function->kind, "optimizer") == 0))
        return function;
    run_fault(r, "unknown %s %s", f == FORM_TRANSFORM ? "transformation" : "optimizer",
              value->type == JSON_NULL ? "null" : run_repr(r, name));
    return NULL;
}

static void judge_keys(struct run *r, enum form f, const struct json_value *tx)
{
    for (const struct json_value *v = tx->first; v; v = v->next) {
        bool known = strcmp(v->key, forms[f].key) == 0;
        for (size_t i = 0; !known && i < 3 && forms[f].beside[i]; i++)
            known = strcmp(v->key, forms[f].beside[i]) == 0;
        if (!known)
            run_fault(r, "unknown key %s beside \"%s\"", run_repr(r, v->key), forms[f].key);
    }
}

/* Check an argument: a plain value, {"$schedule": ...} or {"$mask": FILTER}. */
static void judge_value(struct run *r, const struct json_value *a)
{
    const struct json_value *mask = json_get(a, "$mask");
    if (mask)
        filter_check(r, mask);
    else if ((a->type == JSON_OBJECT || a->type == JSON_ARRAY) && !is_schedule(a))
        run_fault(r, "argument %s is neither {\"$schedule\": ...} nor {\"$mask\": F}: %s",
                  run_repr(r, a->key), run_json(r, a));
}

static void judge_args(struct run *r, const struct optax_function *function,
                       const struct json_value *args)
{
    struct args known = {0};
    if (function)
        known = args_of(r, function, NULL);
    for (const struct json_value *a = args->first; function && a; a = a->next) {
        bool there = false;
        for (size_t i = 0; i < known.count; i++)
            there = there || strcmp(known.at[i].name, a->key) == 0;
        if (!there)
            run_fault(r, "TypeError: %s() got an unexpected keyword argument %s", function->name,
                      run_repr(r, a->key));
    }
    for (const struct json_value *a = args->first; a; a = a->next)
        judge_value(r, a);
}

static void judge_filter(struct run *r, const struct json_value *f)
{
    if (!value_null(f) && f->type != JSON_TRUE)
        filter_check(r, f);
}

static void judge(struct run *r, const struct json_value *tx)
{
    const struct json_value *value, *args = json_get(tx, "args");
    const struct optax_function *function = NULL;
    const enum form f = optax_form_of(tx, &value);
    bool good;
    if (f == FORM_NONE) {
        run_fault(r,
                  "%s is not a transformation: a spec has one of \"opt\", \"transform\", "
                  "\"chain\", \"named_chain\", \"masked\", \"multi_transform\", "
                  "\"inject_hyperparams\", \"multi_steps\" and \"apply_if_finite\"",
                  run_json(r, tx));
        return;
    }
    if (f == FORM_OPT || f == FORM_TRANSFORM || f == FORM_INJECT)
        good = (function = judge_name(r, f, value));
    else
        good = judge_shape(r, f, tx, value);
    if (good && args && args->type != JSON_OBJECT)
        run_fault(r, "\"args\" is not an object: %s", run_json(r, args));
    judge_keys(r, f, tx);
    if (json_type_of(args) == JSON_OBJECT)
        judge_args(r, function, args);
    if (f == FORM_MASKED)
        judge_filter(r, json_get(tx, "mask"));
    if (f == FORM_MULTI_TRANSFORM)
        judge_filter(r, json_get(tx, "filter"));
}

void optax_faults(struct run *r, const struct json_value *tx)
{
    const struct json_value *at = NULL;
    size_t place = 0;
    struct child child;
    judge(r, tx);
    while (next_child(r, tx, &at, &place, &child))
        optax_faults(r, child.tx);
}

/* spec.c - finds the kind of optimizer that a spec describes, and runs it. */
#include <string.h>

#include "catalog/maps/optimizer/engine.h"

static const struct kind {
    const char *key;
    enum json_type type;
    bool (*state)(struct run *);
} kinds[] = {
    {"adafactor", JSON_OBJECT, adafactor_state},
    {"multi", JSON_ARRAY, adafactor_state},
    {"optax", JSON_OBJECT, optax_state},
};

#define KINDS "a spec has one of \"adafactor\", \"multi\" and \"optax\""

/* The only member besides "axes"; NULL: there is none, or several. */
static const struct json_value *only_key(const struct json_value *spec)
{
    const struct json_value *found = NULL;
    if (json_type_of(spec) != JSON_OBJECT)
        return NULL;
    for (const struct json_value *v = spec->first; v; v = v->next) {
        if (strcmp(v->key, "axes") == 0)
            continue;
        if (found)
            return NULL;
        found = v;
    }
    return found;
}

static bool state(struct run *r)
{
    const struct json_value *form = only_key(r->spec);
    if (!form)
        return run_fault(r, KINDS);
    const char *shown = run_repr(r, form->key);
    if (!shown)
        return false;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (strcmp(kinds[i].key, form->key) != 0)
            continue;
        if (form->type != kinds[i].type)
            return run_fault(r, "%s is not %s", shown,
                             kinds[i].type == JSON_ARRAY ? "a list" : "an object");
        return (r->params->root && kinds[i].state != optax_state) || kinds[i].state(r);
    }
    return run_fault(r, "unknown optimizer %s: " KINDS, shown);
}

enum status optimizer_state(struct bytes spec, const struct optimizer_params *params,
                            const struct optimizer_tables *tables, struct optimizer_rows *out,
                            struct error *err)
{
    struct run r = {
        .arena = out->arena, .params = params, .tables = tables, .rows = out, .err = err};
    struct error json = {.offset = NO_OFFSET};
    r.spec = json_read_tree(spec, r.arena, &json);
    if (json.status == ERR_MEMORY)
        run_no_memory(&r);
    else if (!r.spec)
        run_fault(&r, "the spec is not JSON: %s", json.message);
    else
        state(&r);
    run_end(&r);
    return err->status;
}

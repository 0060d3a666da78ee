/* spec.c - finds the kind of optimizer that a spec describes, and runs it. */
#include <string.h>

#include "catalog/maps/optimizer/engine.h"

static const struct kind {
    const char *key;
    enum json_type type;
    void (*state)(struct run *);
} kinds[] = {
    {"adafactor", JSON_OBJECT, adafactor_state},
    {"multi", JSON_ARRAY, adafactor_state},
    {"optax", JSON_OBJECT, optax_state},
};

#define KINDS "a spec has one of \"adafactor\", \"multi\" and \"optax\""

/* The only member besides "axes"; NULL for none or several. */
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

static void state(struct run *r)
{
    const struct json_value *form = only_key(r->spec);
    if (!form) {
        run_fault(r, KINDS);
        return;
    }
    const char *shown = run_repr(r, form->key);
    const struct kind *kind = kinds, *end = kinds + sizeof(kinds) / sizeof(kinds[0]);
    while (kind < end && strcmp(kind->key, form->key) != 0)
        kind++;
    if (kind == end)
        run_fault(r, "unknown optimizer %s: " KINDS, shown);
    else if (form->type != kind->type)
        run_fault(r, "%s is not %s", shown, kind->type == JSON_ARRAY ? "a list" : "an object");
    else if (!r->params->root || kind->state == optax_state)
        kind->state(r);
}

enum status optimizer_state(struct bytes spec, const struct optimizer_params *params,
                            const struct optimizer_tables *tables, struct optimizer_rows *out)
{
    struct error *err = out->arena->err;
    struct run r = {
        .arena = out->arena, .params = params, .tables = tables, .rows = out, .err = err};
    struct error json = {.offset = NO_OFFSET};
    r.spec = json_read_tree(spec, r.arena, &json);
    if (json.status == ERR_MEMORY)
        error_memory(err);
    else if (!r.spec)
        run_fault(&r, "the spec is not JSON: %s", json.message);
    else
        state(&r);
    run_end(&r);
    return err->status;
}

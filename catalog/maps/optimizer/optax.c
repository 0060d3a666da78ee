/*
 * optax.c - the state of Optax's optimizers as T5X's OptaxWrapper stores it: elements of tuples
 * under their index, of named tuples under their field; empty ones are not stored. A spec is split
 * into its transformations (optax_spec.h), and the table of slots says what each keeps.
 */
#include <string.h>

#include "catalog/maps/optimizer/optax_args.h"
#include "catalog/maps/optimizer/optax_spec.h"

/* Links of one optimizer, nested ones included. Our tables need 7, nested 2 deep; a user's rows
 * may be circular. */
#define LINKS_MAX   1000
#define LINKS_DEPTH 16

/* A transformation at its place in the state. */
struct node {
    const char *name; /* of its slots: the function's, or the combinator's */
    const char *path;
    const struct args *args;
    const struct members *members;
};

/* What surrounds a transformation. flax treats the OrderedDict of a named chain as a single
 * value; T5X then descends into the dict, and converts the tuples in it again. */
struct nesting {
    bool named;  /* in a named chain, where T5X restores the axes as a whole */
    bool tuples; /* in a tuple that is in a named chain */
};

struct optax {
    struct run *run;
    const struct json_value *axes;
    const struct members *all; /* the optimizer's parameters */
    struct nesting nesting;
    struct optimizer_rows late; /* errors that depend on the parameters */
    bool check;                 /* report only those, and no state */
    unsigned links;             /* of the current optimizer, so far */
};

static void late_fault(struct optax *o, const char *text)
{
    struct optimizer_rows *late = &o->late;
    *PUSH(o->run->arena, late->at, late->count, late->space) =
        (struct optimizer_row){.error = text};
}

static void optax_add(struct optax *o, struct optimizer_row row)
{
    if (!o->check)
        run_add(o->run, row);
}

/* --- slots ----------------------------------------------------------------------------------------- */

static const char *factored_shape(struct optax *o, const struct node *n,
                                  const struct optax_slot *slot, const struct optimizer_shape *s)
{
    double least = value_number(args_get(n->args, "min_dim_size_to_factor", 22), 128);
    bool whole = s->rank < 2 || !value_true(args_get(n->args, "factored", 8), true) ||
                 (double)s->size[s->second] < least;
    if (strcmp(slot->shape, "unfactored") == 0)
        return whole ? s->text : "[1]";
    if (whole)
        return "[1]";
    return run_shape_without(o->run, s, strcmp(slot->shape, "rows") == 0 ? s->largest : s->second);
}

/* Add a vector for each dimension of the parameter. */
static void add_dimensions(struct optax *o, struct optimizer_row row)
{
    const struct optimizer_shape *s = row.param->shape;
    for (unsigned k = 0; s && k < s->rank; k++) {
        row.slot = run_textf(o->run, "/%u", k);
        row.shape = run_textf(o->run, "[%llu]", (unsigned long long)s->size[k]);
        optax_add(o, row);
    }
}

static void add_for_param(struct optax *o, const struct node *n, const struct optax_slot *slot,
                          struct optimizer_row row)
{
    const struct optimizer_shape *s = row.param->shape;
    const bool same = strcmp(slot->shape, "same") == 0;
    if (!row.dtype)
        row.dtype = row.param->dtype;
    if (same) { /* of the vectors of `dimensions`, T5X has one value for all */
        const struct json_value *axes = axes_of(o->run, o->axes, row.param);
        row.axes = axes ? run_json(o->run, axes) : NULL;
    }
    if (strcmp(slot->shape, "dimensions") == 0) {
        add_dimensions(o, row);
        return;
    }
    if (!s)
        row.shape = NULL;
    else if (same)
        row.shape = s->text;
    else
        row.shape = slot->shape[0] == '[' ? slot->shape : factored_shape(o, n, slot, s);
    optax_add(o, row);
}

static void add_slot(struct optax *o, const struct node *n, const struct optax_slot *slot)
{
    struct optimizer_row row = {.path = run_textf(o->run, "%s/%s", n->path, slot->slot),
                                .dtype = slot->dtype};
    if (slot->dtype[0] == '@') /* an argument's; NULL: the parameter's */
        row.dtype =
            value_dtype(o->run, args_get(n->args, slot->dtype + 1, strlen(slot->dtype + 1)));
    if (strcmp(slot->scope, "one") == 0) {
        row.shape = slot->shape;
        optax_add(o, row);
        return;
    }
    for (size_t i = 0; i < n->members->count; i++) {
        row.param = n->members->at[i];
        add_for_param(o, n, slot, row);
    }
}

static void add_slots(struct optax *o, const struct node *n)
{
    const struct optimizer_tables *t = o->run->tables;
    for (size_t i = 0; i < t->slots; i++) {
        const struct optax_slot *s = &t->slot[i];
        if (strcmp(s->of, n->name) == 0 &&
            args_when(n->args, s->when, s->when ? strlen(s->when) : 0))
            add_slot(o, n, s);
    }
}

/* T5X looks up the axes of each leaf of the state, and finds none at `below`. */
static void not_restored(struct optax *o, const struct node *n, const char *below)
{
    late_fault(o, run_textf(o->run,
                            "ValueError: Failed to restore optimizer state, path "
                            "%s%s is not present in the input optimizer state dict.",
                            n->path + strlen("state/"), below));
}

/* States whose axes do not have their structure: there is one value for all of zero_nans, one
 * for all the vectors that sm3 keeps for a parameter, and multi_steps has axes for all
 * parameters even if it has gradients of some. In a named chain T5X does not compare. */
static void judge_structure(struct optax *o, const struct node *n)
{
    const struct members *m = n->members;
    const bool nans = strcmp(n->name, "zero_nans") == 0, sm3 = strcmp(n->name, "scale_by_sm3") == 0;
    /* A spec is checked without parameters; after a failure a path may be "". */
    if (o->nesting.named || !o->all->count || o->run->err->status != OK)
        return;
    if (strcmp(n->name, "multi_steps") == 0 && m->count < o->all->count)
        late_fault(o, "AttributeError: 'P' object has no attribute 'keys'");
    if (nans && !m->count)
        late_fault(o, "TypeError: argument of type 'NoneType' is not iterable");
    else if (nans)
        not_restored(o, n, run_textf(o->run, "/found_nan/%s", m->at[0]->name));
    for (size_t i = 0; sm3 && i < m->count; i++) {
        if (!m->at[i]->shape || m->at[i]->shape->rank) {
            not_restored(o, n, run_textf(o->run, "/mu/%s/0", m->at[i]->name));
            return;
        }
    }
}

/* State types for which T5X has no axes. */
static void judge_axes(struct optax *o, const struct node *n)
{
    const struct optimizer_tables *t = o->run->tables;
    if (!o->axes)
        return;
    for (size_t i = 0; i < t->unregistereds; i++) {
        const struct optax_unregistered *u = &t->unregistered[i];
        if (strcmp(u->of, n->name) == 0 &&
            args_when(n->args, u->when, u->when ? strlen(u->when) : 0)) {
            late_fault(o,
                       run_textf(o->run, "ValueError: Encountered unregistered optax state type %s",
                                 u->state));
            return;
        }
    }
    judge_structure(o, n);
}

/* --- hyperparameters -------------------------------------------------------------------------------- */

/* The dtype of a float hyperparameter: the promoted dtype of the parameters. NULL: bfloat16 and
 * float16 have none. */
static const char *promoted(const struct members *m)
{
    static const char *const order[] = {"float64", "float32", "bfloat16", "float16"};
    bool has[4] = {false};
    for (size_t i = 0; i < m->count; i++)
        for (size_t k = 0; k < 4; k++)
            has[k] = has[k] || (m->at[i]->dtype && strcmp(m->at[i]->dtype, order[k]) == 0);
    if (has[2] && has[3] && !has[0] && !has[1])
        return NULL;
    for (size_t k = 0; k < 4; k++)
        if (has[k])
            return order[k];
    return order[1];
}

/* Add a row for each hyperparameter, and then one for the count of each schedule. */
static void add_hyperparams(struct optax *o, const struct node *n, const struct json_value *given)
{
    const char *number = promoted(n->members);
    if (!number)
        late_fault(o, "ValueError: bfloat16 and float16 parameters have no common dtype");
    const size_t count = n->args->count;
    for (size_t k = 0; k < 2 * count; k++) {
        bool state = k >= count;
        const struct arg *a = &n->args->at[state ? k - count : k];
        /* A default that is a class is callable, so Optax takes it for a schedule. */
        bool class = strcmp(a->name, "dtype_momentum") == 0 && !json_get(given, a->name);
        bool schedule = class || is_schedule(a->value);
        if (!schedule && (state || json_type_of(a->value) != JSON_NUMBER))
            continue;
        struct optimizer_row row = {.shape = "[]", .dtype = "float32"};
        row.path =
            run_textf(o->run, "%s/%s/%s%s", n->path, state ? "hyperparams_states" : "hyperparams",
                      a->name, state ? "/count" : "");
        if (state || (json_type_of(a->value) == JSON_NUMBER &&
                      !strpbrk((const char *)a->value->text.at, ".eE")))
            row.dtype = "int32";
        else if (!class && number)
            row.dtype = number;
        optax_add(o, row);
    }
}

/* --- transformations --------------------------------------------------------------------------------- */

/* Add a function's slots, and if it is an optimizer, those links of its chain whose conditions
 * hold. Links without end are reported once: setting `links` above the maximum ends all loops. */
static void add_function(struct optax *o, const struct optax_function *f, const struct node *n,
                         unsigned depth)
{
    const char *chain = f->chain;
    const struct optax_function *link;
    struct args args;
    if (++o->links > LINKS_MAX || depth > LINKS_DEPTH) {
        o->links = LINKS_MAX + 1;
        late_fault(o, run_textf(o->run, "the links of %s do not end", run_repr(o->run, f->name)));
        return;
    }
    add_slots(o, n);
    judge_axes(o, n);
    for (unsigned place = 0;
         o->links <= LINKS_MAX && (link = chain_next(o->run, &chain, n->args, &args)); place++) {
        struct node inner = {link->name, run_textf(o->run, "%s/%u", n->path, place), &args,
                             n->members};
        add_function(o, link, &inner, depth + 1);
    }
}

/* The inner optimizer of inject_hyperparams gets a number in place of each schedule. */
static void add_injected(struct optax *o, const struct optax_function *f, const struct node *n)
{
    static const struct json_value zero = {.type = JSON_NUMBER,
                                           .text = {(const uint8_t *)"0.0", 3}};
    struct args args = {0};
    for (size_t i = 0; i < n->args->count; i++) {
        const struct arg *a = &n->args->at[i];
        args_set(o->run, &args, a->name, strlen(a->name), is_schedule(a->value) ? &zero : a->value);
    }
    struct node inner = {f->name, run_textf(o->run, "%s/inner_state", n->path), &args, n->members};
    add_function(o, f, &inner, 0);
}

static void add_named(struct optax *o, enum form form, const struct json_value *tx,
                      const struct json_value *name, const struct node *at)
{
    const struct json_value *given = json_get(tx, "args");
    const struct optax_function *f = optax_function_called(o->run, run_plain(o->run, name));
    if (!f) /* after a failure only */
        return;
    const struct args args = args_of(o->run, f, given);
    struct node n = {f->name, at->path, &args, at->members};
    o->links = 0;
    if (form != FORM_INJECT) {
        add_function(o, f, &n, 0);
        return;
    }
    n.name = form_key(form);
    add_slots(o, &n);
    judge_axes(o, &n);
    add_hyperparams(o, &n, given);
    add_injected(o, f, &n);
}

static void add_tx(struct optax *o, const struct json_value *tx, const char *path,
                   const struct members *members);

static void add_children(struct optax *o, const struct json_value *tx, const char *path,
                         const struct members *members)
{
    const struct json_value *at = NULL;
    struct child child;
    size_t place = 0;
    while (next_child(o->run, tx, &at, &place, &child)) {
        struct members some = *members;
        if (child.filtered)
            some = filter_members(o->run, child.filter, child.wanted, members);
        add_tx(o, child.tx, run_textf(o->run, "%s%s", path, child.path), &some);
    }
}

/* Add the transformations in a combinator, whose state is a tuple or a named chain. */
static void add_inside(struct optax *o, enum form form, const struct json_value *tx,
                       const char *path, const struct members *members)
{
    const struct nesting around = o->nesting;
    if (form == FORM_NAMED_CHAIN && around.tuples && !o->run->params->root)
        late_fault(o, run_textf(o->run,
                                "%s is a named_chain inside a tuple inside another: "
                                "T5X leaves tuples in it, which it cannot save",
                                path));
    o->nesting.named = around.named || form == FORM_NAMED_CHAIN;
    o->nesting.tuples = around.tuples || (around.named && form != FORM_NAMED_CHAIN);
    add_children(o, tx, path, members);
    o->nesting = around;
}

static void add_tx(struct optax *o, const struct json_value *tx, const char *path,
                   const struct members *members)
{
    static const struct args none;
    const struct json_value *value;
    enum form form = optax_form_of(tx, &value);
    struct node n = {form_key(form), path, &none, members};
    if (form == FORM_OPT || form == FORM_TRANSFORM || form == FORM_INJECT) {
        add_named(o, form, tx, value, &n);
        return;
    }
    add_slots(o, &n);
    judge_axes(o, &n);
    add_inside(o, form, tx, path, members);
}

static void add_late(struct optax *o)
{
    for (size_t i = 0; i < o->late.count; i++)
        run_add(o->run, o->late.at[i]);
}

void optax_late_faults(struct run *r, const struct json_value *tx, const struct members *members)
{
    struct optax o = {.run = r, .all = members, .check = true};
    add_tx(&o, tx, STATE_ROOT, members);
    add_late(&o);
}

void optax_state(struct run *r)
{
    const struct json_value *tx = json_get(r->spec, "optax"), *axes = json_get(r->spec, "axes");
    const char *root = r->params->root;
    optax_faults(r, tx);
    if (r->rows->count > 0 || r->err->status != OK)
        return;
    const struct members all = members_all(r);
    struct optax o = {.run = r, .all = &all, .axes = value_null(axes) ? NULL : axes};
    if (!root)
        run_add(r, (struct optimizer_row){"state/step", NULL, NULL, "[]", "int32", NULL, NULL});
    add_tx(&o, tx, root ? root : STATE_ROOT, &all);
    add_late(&o);
}

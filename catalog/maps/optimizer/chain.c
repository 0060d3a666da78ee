/* chain.c - see chain.h. */
#include "catalog/maps/optimizer/chain.h"

#include <stdlib.h>
#include <string.h>

#include "catalog/base/text.h"
#include "catalog/maps/optimizer/optax_args.h"
#include "catalog/maps/optimizer/piece.h"

#define LINKS_MAX    64 /* links of a chain that have state */
#define SLOTS_MAX    8  /* slots of a transformation */
#define PLACE_DIGITS 3
#define PLACES_MAX   1000 /* links of a chain, with those that have no state */

/* The leaves that a link has under one name. */
struct held_slot {
    struct piece name;
    bool alone;  /* a single leaf with this name; otherwise leaves below it, and: */
    bool whole;  /* each has the name of a parameter */
    bool scalar; /* each has the shape [] */
};

struct link {
    struct piece name; /* its number, or its name in a named chain; "": not a chain */
    struct held_slot slot[SLOTS_MAX];
    size_t slots;
    const struct optax_function *made_by;
    const char *option; /* the argument that must be true for that; NULL: none */
};

struct chain {
    struct run run;
    struct link link[LINKS_MAX];
    size_t links;
    struct strmap names; /* of the parameters */
    bool scalars;        /* all parameters are scalars */
    bool known;          /* all links so far can be explained */
};

/* --- the state in the checkpoint---------------------------------------------------------------- */

/* Find or add a link; NULL: there are too many. */
static struct link *link_called(struct chain *c, struct piece name)
{
    for (size_t i = 0; i < c->links; i++)
        if (piece_same(c->link[i].name, name))
            return &c->link[i];
    if (c->links == LINKS_MAX)
        return NULL;
    c->link[c->links] = (struct link){.name = name};
    return &c->link[c->links++];
}

static struct held_slot *slot_called(struct link *l, struct piece name)
{
    for (size_t i = 0; i < l->slots; i++)
        if (piece_same(l->slot[i].name, name))
            return &l->slot[i];
    if (l->slots == SLOTS_MAX)
        return NULL;
    l->slot[l->slots] =
        (struct held_slot){.name = name, .alone = true, .whole = true, .scalar = true};
    return &l->slot[l->slots++];
}

/* Add a leaf to its link; false: it cannot belong to a chain of bare transformations. */
static bool take_leaf(struct chain *c, const struct optimizer_leaf *leaf, struct piece path)
{
    struct piece name = {"", 0}, first = piece_first(path);
    path = piece_after(path, first);
    if (!piece_is_slot(first, c->run.tables, NULL)) {
        name = first;
        first = piece_first(path);
        path = piece_after(path, first);
    }
    struct link *l = link_called(c, name);
    struct held_slot *s = l ? slot_called(l, first) : NULL;
    if (!s || !first.len)
        return false;
    s->alone = s->alone && !path.len;
    s->whole = s->whole && strmap_get(&c->names, path.at, path.len);
    s->scalar = s->scalar && leaf->shape && strcmp(leaf->shape, "[]") == 0;
    return true;
}

/* --- which transformation keeps such state ----------------------------------------------------- */

static bool chain_fits(const struct chain *c, const struct optax_slot *s, const struct held_slot *h)
{
    if (strcmp(s->scope, "one") == 0 || h->alone)
        return strcmp(s->scope, "one") == 0 && h->alone;
    if (strcmp(s->shape, "dimensions") == 0)
        return !h->whole;
    if (strcmp(s->shape, "[]") == 0)
        return h->whole && h->scalar;
    return h->whole && (!h->scalar || c->scalars || strcmp(s->shape, "same") != 0);
}

/* Whether a transformation with these arguments keeps what the link holds, and nothing else. */
static bool keeps(const struct chain *c, const struct link *l, const struct optax_function *f,
                  const struct args *args)
{
    size_t found = 0;
    for (size_t i = 0; i < c->run.tables->slots; i++) {
        const struct optax_slot *s = &c->run.tables->slot[i];
        if (strcmp(s->of, f->name) != 0 || !args_when(args, s->when, s->when ? strlen(s->when) : 0))
            continue;
        bool held = false;
        for (size_t k = 0; k < l->slots && !held; k++)
            held = piece_is(l->slot[k].name, s->slot) && chain_fits(c, s, &l->slot[k]);
        if (!held)
            return false;
        found++;
    }
    return found && found == l->slots;
}

/* Whether there is an option with which the transformation keeps it: a slot whose condition is
 * "OPTION true". */
static bool keeps_with_option(struct chain *c, struct link *l, const struct optax_function *f)
{
    static const char truth[] = " true";
    for (size_t i = 0; i < c->run.tables->slots; i++) {
        const struct optax_slot *s = &c->run.tables->slot[i];
        const size_t len = s->when ? strlen(s->when) : 0;
        if (strcmp(s->of, f->name) != 0 || len < sizeof(truth) ||
            strcmp(s->when + len - strlen(truth), truth) != 0 ||
            memchr(s->when, ' ', len - strlen(truth)))
            continue;
        struct json_value *on = arena_alloc(c->run.arena, sizeof(*on));
        if (!on)
            return false;
        *on = (struct json_value){.type = JSON_TRUE,
                                  .key = arena_copy(c->run.arena, s->when, len - strlen(truth))};
        const struct json_value given = {.type = JSON_OBJECT, .first = on, .count = 1};
        const struct args args = args_of(&c->run, f, &given);
        if (keeps(c, l, f, &args)) {
            l->option = on->key;
            return true;
        }
    }
    return false;
}

static bool find_maker(struct chain *c, struct link *l)
{
    const struct optimizer_tables *t = c->run.tables;
    for (size_t i = 0; i < t->functions && c->run.err->status == OK; i++) {
        const struct optax_function *f = &t->function[i];
        if (strcmp(f->kind, "transformation") != 0)
            continue;
        const struct args args = args_of(&c->run, f, NULL);
        l->made_by = f;
        if (keeps(c, l, f, &args) || keeps_with_option(c, l, f))
            return true;
    }
    return false;
}

/* --- the spec ---------------------------------------------------------------------------------- */

static int chain_by_number(const void *a, const void *b)
{
    const struct link *x = a, *y = b;
    const long p = strtol(x->name.at, NULL, 10), q = strtol(y->name.at, NULL, 10);
    return (p > q) - (p < q);
}

static void put_link(struct text *out, const struct link *l)
{
    text_addf(out, "{\"transform\": \"%s\"", l->made_by->name);
    if (l->option)
        text_addf(out, ", \"args\": {\"%s\": true}", l->option);
    text_addc(out, '}');
}

/* Write links sorted by number, with identity for numbers without state; false: there is no
 * such chain. */
static bool put_numbered(struct text *out, struct chain *c)
{
    long place = 0;
    qsort(c->link, c->links, sizeof(c->link[0]), chain_by_number);
    text_adds(out, "{\"optax\": {\"chain\": [");
    for (size_t i = 0; i < c->links; i++, place++) {
        const long number = strtol(c->link[i].name.at, NULL, 10);
        if (number >= PLACES_MAX || number < place)
            return false;
        for (; place < number; place++)
            text_addf(out, "%s{\"transform\": \"identity\"}", place ? ", " : "");
        text_adds(out, place ? ", " : "");
        put_link(out, &c->link[i]);
    }
    text_adds(out, "]}}");
    return true;
}

static void put_named(struct text *out, const struct chain *c)
{
    text_adds(out, "{\"optax\": {\"named_chain\": [");
    for (size_t i = 0; i < c->links; i++) {
        text_adds(out, i ? ", [" : "[");
        text_json(out, c->link[i].name.at, c->link[i].name.len);
        text_adds(out, ", ");
        put_link(out, &c->link[i]);
        text_addc(out, ']');
    }
    text_adds(out, "]}}");
}

static void write_chain(struct chain *c, struct optimizer_chain *out)
{
    struct text label = {0}, spec = {0};
    bool numbered = true, good = true;
    for (size_t i = 0; i < c->links; i++)
        numbered =
            numbered && piece_is_number(c->link[i].name) && c->link[i].name.len <= PLACE_DIGITS;
    if (c->links == 1 && !c->link[0].name.len) {
        text_addf(&label, "optax.%s", c->link[0].made_by->name);
        text_adds(&spec, "{\"optax\": ");
        put_link(&spec, &c->link[0]);
        text_addc(&spec, '}');
    } else {
        good = !numbered || put_numbered(&spec, c);
        if (!numbered)
            put_named(&spec, c);
        bool named = !numbered;
        text_adds(&label, named ? "optax.named_chain(" : "optax.chain(");
        for (size_t i = 0; i < c->links; i++) {
            const struct link *l = &c->link[i];
            text_adds(&label, i ? ", " : "");
            if (named)
                text_addf(&label, "%.*s: ", (int)l->name.len, l->name.at);
            text_adds(&label, l->made_by->name);
        }
        text_addc(&label, ')');
    }
    if (good) {
        out->label = text_keep(&label, c->run.arena);
        out->spec = text_keep(&spec, c->run.arena);
    }
    text_release(&label);
    text_release(&spec);
}

enum status optimizer_chain_of(const struct optimizer_place *place,
                               const struct optimizer_tables *tables, struct arena *arena,
                               struct optimizer_chain *out)
{
    struct error *err = arena->err;
    struct chain *c = arena_alloc(arena, sizeof(*c));
    *out = (struct optimizer_chain){NULL, NULL};
    if (!c)
        return err->status;
    *c = (struct chain){.run = {.arena = arena, .tables = tables, .err = err},
                        .names = {.err = err},
                        .known = true};
    bool added;
    c->scalars = true;
    for (size_t i = 0; i < place->params.count; i++) {
        const struct optimizer_param *p = &place->params.at[i];
        c->scalars = c->scalars && p->shape && !p->shape->rank;
        strmap_add(&c->names, p->name, p->len, &added);
    }
    const char *root = place->params.root ? place->params.root : STATE_ROOT;
    for (size_t i = 0; i < place->held.count && c->known; i++) {
        const struct optimizer_leaf *leaf = &place->held.at[i];
        const struct piece path =
            piece_below((struct piece){leaf->name, leaf->len}, (struct piece){root, strlen(root)});
        c->known = leaf->null || !path.at || take_leaf(c, leaf, path);
    }
    for (size_t i = 0; i < c->links && c->known; i++)
        c->known = find_maker(c, &c->link[i]);
    if (c->known && c->links)
        write_chain(c, out);
    strmap_release(&c->names);
    run_end(&c->run);
    return err->status;
}

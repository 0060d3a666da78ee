/*
 * guess.c - pairs that content does not show: tensors with equal names; then groups of tensors
 * with equal shapes (or transposed ones), equally many, in the same order, with similar names.
 *
 * Tensors are grouped as layers: names that differ only in their first number. Thus the layers of
 * one side are compared with the other side's as a whole, and are paired in their order.
 */
#include <stdlib.h>
#include <string.h>

#include "catalog/base/strmap.h"
#include "catalog/base/text.h"
#include "catalog/maps/infer/guess.h"

#define NEIGHBOURS 16 /* compared, before and after */

/* --- layers -------------------------------------------------------------------------------------- */

/* The name with '#' for its first number: "h.3.attn" is "h.#.attn". `apart`: the name itself. */
static size_t layer_key(const char *name, bool apart, char *out)
{
    size_t n = 0;
    const size_t first = apart ? strlen(name) : strcspn(name, "0123456789");
    memcpy(out, name, first);
    n = first;
    name += first;
    if (*name)
        out[n++] = '#';
    name += strspn(name, "0123456789");
    memcpy(out + n, name, strlen(name));
    return n + strlen(name);
}

static bool add_layer(struct guessing *g, bool of_b, uint32_t at, struct strmap *keys, char *room)
{
    struct arena *arena = g->task->arena;
    struct side *s = &g->side[of_b];
    const struct infer_tensor *t = of_b ? &g->task->b.at[at] : &g->task->a.at[at];
    const char *kept;
    bool added;
    const size_t len = layer_key(t->name, g->apart[of_b], room);
    uint64_t *value = strmap_keep(keys, arena, room, len, &kept, &added);
    struct layers *grown =
        value ? arena_grow(arena, s->layers, s->count, &s->space, sizeof(*grown)) : NULL;
    if (!grown)
        return false;
    s->layers = grown;
    if (added) {
        s->layers[s->count] = (struct layers){.name = t->name};
        *value = s->count++;
    }
    struct layers *l = &s->layers[*value];
    uint32_t *list = arena_grow(arena, l->at, l->count, &l->space, sizeof(*list));
    if (!list)
        return false;
    l->at = list;
    l->at[l->count++] = at;
    return true;
}

struct layer_name {
    const char *name;
    uint32_t at;
};

static int by_layer(const void *a, const void *b)
{
    return infer_name_order(((const struct layer_name *)a)->name,
                            ((const struct layer_name *)b)->name);
}

static bool add_shape(struct text *t, const struct infer_tensor *x, bool turned)
{
    if (!turned)
        return text_addf(t, "%s ", x->shape);
    return text_addf(t, "[%llu,%llu] ", (unsigned long long)x->size[1],
                     (unsigned long long)x->size[0]);
}

/* Sort the layers of a group by name, and collect their shapes. */
static bool infer_guess_describe(struct guessing *g, bool of_b, struct layers *l, size_t left)
{
    const struct infer_list *list = of_b ? &g->task->b : &g->task->a;
    struct arena *arena = g->task->arena;
    struct layer_name *name = calloc(l->count + 1, sizeof(*name));
    struct text shape = {0}, turned = {0};
    bool matrices = true;
    for (size_t i = 0; name && i < l->count; i++)
        name[i] = (struct layer_name){list->at[l->at[i]].name, l->at[i]};
    if (name)
        qsort(name, l->count, sizeof(*name), by_layer);
    for (size_t i = 0; name && i < l->count; i++) {
        const struct infer_tensor *t = &list->at[name[i].at];
        l->at[i] = name[i].at;
        l->unknown = l->unknown || !t->shape;
        matrices = matrices && t->shape && t->rank == 2;
        if (t->shape)
            add_shape(&shape, t, false);
        if (matrices)
            add_shape(&turned, t, true);
    }
    l->place = left ? (double)l->at[0] / (double)left : 0;
    l->shape = text_str(&shape) ? arena_copy(arena, text_str(&shape), shape.len) : NULL;
    l->turned = matrices && text_str(&turned) ? arena_copy(arena, turned.at, turned.len) : NULL;
    free(name);
    text_release(&shape);
    text_release(&turned);
    return l->shape != NULL;
}

static bool list_layers(struct guessing *g, bool of_b)
{
    const struct infer_list *list = of_b ? &g->task->b : &g->task->a;
    struct strmap keys = {0};
    size_t longest = 0;
    g->side[of_b] = (struct side){0};
    bool good = true;
    for (size_t i = 0; i < list->count; i++)
        longest = strlen(list->at[i].name) > longest ? strlen(list->at[i].name) : longest;
    char *room = arena_alloc(g->task->arena, longest + 2);
    for (size_t i = 0; room && good && i < list->count; i++)
        if (of_b ? !g->task->used_b[i] : !g->task->used_a[i])
            good = add_layer(g, of_b, (uint32_t)i, &keys, room);
    strmap_release(&keys);
    for (size_t i = 0; good && i < g->side[of_b].count; i++)
        good = infer_guess_describe(g, of_b, &g->side[of_b].layers[i], list->count);
    return room && good;
}

/* --- which go together ----------------------------------------------------------------------- */

struct candidate {
    double likeness;
    uint32_t a, b;
    bool turned;
    /* One side's layers are slices of the other side's single tensor, along `axis`. */
    bool stacked;
    unsigned axis;
};

static int by_candidate(const void *x, const void *y)
{
    const struct candidate *a = x, *b = y;
    if (a->likeness != b->likeness)
        return a->likeness < b->likeness ? 1 : -1;
    return a->a != b->a ? (a->a > b->a) - (a->a < b->a) : (a->b > b->b) - (a->b < b->b);
}

/* Whether the groups have equal shapes; *turned: after transposing A's. */
static bool infer_guess_fits(const struct layers *a, const struct layers *b, bool *turned)
{
    *turned = false;
    if (a->count != b->count)
        return false;
    if (a->unknown || b->unknown || strcmp(a->shape, b->shape) == 0)
        return true;
    *turned = a->turned && strcmp(a->turned, b->shape) == 0;
    return *turned;
}

/* Whether the single tensor `one` has the shape of all of `many` stacked; *axis: along which. */
static bool fits_stack(const struct guessing *g, bool one_of_b, const struct layers *one,
                       const struct layers *many, unsigned *axis)
{
    const struct infer_tensor *whole = guess_layer(g, one_of_b, one, 0),
                              *piece = guess_layer(g, !one_of_b, many, 0);
    if (one->count != 1 || many->count < 2 || one->unknown || many->unknown ||
        whole->rank > INFER_RANK_MAX || whole->rank != piece->rank + 1)
        return false;
    for (size_t i = 1; i < many->count; i++)
        if (strcmp(guess_layer(g, !one_of_b, many, i)->shape, piece->shape) != 0)
            return false;
    for (unsigned k = 0; k < whole->rank; k++) {
        bool same = whole->size[k] == many->count;
        for (unsigned i = 0; i < piece->rank; i++)
            same = same && piece->size[i] == whole->size[i + (i >= k)];
        *axis = k;
        if (same)
            return true;
    }
    return false;
}

/* Pair the layers of one side with the slices along an axis. */
static bool take_stack(struct guessing *g, const struct candidate *c)
{
    struct layers *a = &g->side[0].layers[c->a], *b = &g->side[1].layers[c->b];
    const bool joins = a->count > b->count;
    const size_t count = joins ? a->count : b->count;
    struct text ops = {0};
    bool good = text_addf(&ops, joins ? "[[\"stack\",%u,%%]]" : "[[\"unstack\",%u%%]]", c->axis);
    const char *kept = good ? arena_copy(g->task->arena, ops.at, ops.len) : NULL;
    text_release(&ops);
    for (size_t i = 0; kept && good && i < count; i++)
        good = infer_add(g->task, (struct infer_pair){.a = a->at[joins ? i : 0],
                                                      .b = b->at[joins ? 0 : i],
                                                      .part = (uint32_t)i,
                                                      .how = INFER_GUESS,
                                                      .form = joins ? INFER_JOIN : INFER_UNSTACK,
                                                      .ops = kept});
    return kept && good;
}

static bool infer_guess_take(struct guessing *g, const struct candidate *c)
{
    struct layers *a = &g->side[0].layers[c->a], *b = &g->side[1].layers[c->b];
    bool good = true;
    if (a->used || b->used)
        return true;
    a->used = b->used = true;
    if (c->stacked)
        return take_stack(g, c);
    for (size_t i = 0; good && i < a->count; i++)
        good =
            infer_add(g->task, (struct infer_pair){.a = a->at[i],
                                                   .b = b->at[i],
                                                   .how = INFER_GUESS,
                                                   .ops = c->turned ? "[[\"transpose\"]]" : NULL});
    return good;
}

struct candidates {
    struct candidate *at;
    size_t count, space;
};

/* Whether the groups could be paired, or (c->stacked) one could be the other's stack. */
static bool could_be(const struct guessing *g, const struct layers *a, const struct layers *b,
                     struct candidate *c)
{
    if (a->used || b->used)
        return false;
    if (!c->stacked)
        return infer_guess_fits(a, b, &c->turned);
    return fits_stack(g, true, b, a, &c->axis) || fits_stack(g, false, a, b, &c->axis);
}

/* Add the groups of side B in [from, to) that fit group like->a. */
static bool list_fitting(struct guessing *g, const struct candidate *like, size_t from, size_t to,
                         struct candidates *out)
{
    const struct layers *x = &g->side[0].layers[like->a];
    for (size_t k = from; k < to; k++) {
        struct candidate c = *like;
        const struct layers *y = &g->side[1].layers[k];
        c.b = (uint32_t)k;
        if (!could_be(g, x, y, &c))
            continue;
        const double apart = x->place > y->place ? x->place - y->place : y->place - x->place;
        c.likeness = infer_likeness(&g->words, x->name, y->name) - 0.3 * apart - 0.2 * c.turned;
        struct candidate *grown =
            arena_grow(g->task->arena, out->at, out->count, &out->space, sizeof(*grown));
        if (!grown)
            return false;
        out->at = grown;
        out->at[out->count++] = c;
    }
    return true;
}

/* Pair all groups that fit, the most similar first. Of very many, only neighbours are compared. */
static bool match_layers(struct guessing *g, bool stacked)
{
    const size_t as = g->side[0].count, bs = g->side[1].count;
    const bool all = as <= GROUPS_MAX && bs <= GROUPS_MAX;
    struct candidates list = {0};
    bool good = true;
    for (size_t i = 0; good && i < as; i++) {
        const size_t from = all || i < NEIGHBOURS ? 0 : i - NEIGHBOURS;
        const size_t to = all || i + NEIGHBOURS > bs ? bs : i + NEIGHBOURS;
        good = list_fitting(g, &(struct candidate){.a = (uint32_t)i, .stacked = stacked},
                            from < bs ? from : bs, to, &list);
    }
    if (list.count)
        qsort(list.at, list.count, sizeof(*list.at), by_candidate);
    for (size_t i = 0; good && i < list.count; i++)
        good = infer_guess_take(g, &list.at[i]);
    return good;
}

/* --- the same name --------------------------------------------------------------------------- */

static bool same_or_unknown(const char *a, const char *b)
{
    return !a || !b || strcmp(a, b) == 0;
}

static bool match_names(struct infer_task *t)
{
    struct strmap names = {0};
    bool good = true, added;
    for (size_t i = 0; good && i < t->b.count; i++) {
        uint64_t *value =
            t->used_b[i] ? &(uint64_t){0}
                         : strmap_add(&names, t->b.at[i].name, strlen(t->b.at[i].name), &added);
        good = value != NULL;
        if (good)
            *value = i;
    }
    for (size_t i = 0; good && i < t->a.count; i++) {
        const struct infer_tensor *a = &t->a.at[i];
        const uint64_t *value = strmap_get(&names, a->name, strlen(a->name));
        if (t->used_a[i] || !value || t->used_b[*value] ||
            !same_or_unknown(a->shape, t->b.at[*value].shape) ||
            !same_or_unknown(a->dtype, t->b.at[*value].dtype))
            continue;
        good = infer_add(
            t, (struct infer_pair){.a = (uint32_t)i, .b = (uint32_t)*value, .how = INFER_NAME});
    }
    strmap_release(&names);
    return good;
}

bool infer_guess(struct infer_task *task)
{
    struct guessing g = {.task = task, .words = {.arena = task->arena}};
    bool good = match_names(task) && list_layers(&g, false) && list_layers(&g, true);
    for (size_t side = 0; side < 2; side++)
        for (size_t i = 0; good && i < g.side[side].count; i++)
            good = infer_words_add(&g.words, g.side[side].layers[i].name);
    good = good && guess_fused(&g, true) && match_layers(&g, false) && match_layers(&g, true) &&
           guess_fused(&g, false);
    /* wi_0 and wi_1 are not layers of one group if each is a stack by itself: try it. */
    for (size_t side = 0; good && side < 2; side++) {
        g.apart[side] = true;
        g.apart[!side] = false;
        good = list_layers(&g, false) && list_layers(&g, true) && match_layers(&g, true);
    }
    strmap_release(&g.words.counts);
    return good;
}

/*
 * pair.c - pairs tensors of equal content.
 *
 * One tensor on each side with the same content is a pair. If several have it (zeros, ones,
 * copies), any pairing would do; names that are similar, or that differ as the names of certain
 * pairs do, go together.
 */
#include <stdlib.h>
#include <string.h>

#include "catalog/base/strmap.h"
#include "catalog/maps/infer/infer.h"

/* Most pairs that are compared among tensors of one content. If there are more, their order
 * decides. */
#define CHOICES_MAX 65536

/* --- equal contents ------------------------------------------------------------------------- */

/* The tensors with one content, dtype and shape, sorted by name. */
struct equals {
    uint32_t *a, *b;
    size_t as, bs;
};

struct by_content {
    const struct infer_tensor *tensor;
    uint32_t at;
    bool of_b;
};

static int text_order(const char *a, const char *b)
{
    return strcmp(a ? a : "", b ? b : "");
}

static int content_order(const struct infer_tensor *a, const struct infer_tensor *b)
{
    int order = strcmp(a->hash, b->hash);
    if (!order)
        order = text_order(a->dtype, b->dtype);
    return order ? order : text_order(a->shape, b->shape);
}

static int by_content_and_name(const void *x, const void *y)
{
    const struct by_content *a = x, *b = y;
    int order = content_order(a->tensor, b->tensor);
    if (!order)
        order = a->of_b - b->of_b;
    if (!order)
        order = infer_name_order(a->tensor->name, b->tensor->name);
    return order ? order : (a->at > b->at) - (a->at < b->at);
}

static struct by_content *list_contents(struct infer_task *t, size_t *count)
{
    struct by_content *list = arena_array(t->arena, t->a.count + t->b.count + 1, sizeof(*list));
    *count = 0;
    for (size_t side = 0; list && side < 2; side++) {
        const struct infer_list *l = side ? &t->b : &t->a;
        for (size_t i = 0; i < l->count; i++)
            if (l->at[i].hash)
                list[(*count)++] = (struct by_content){&l->at[i], (uint32_t)i, side};
    }
    if (list)
        qsort(list, *count, sizeof(*list), by_content_and_name);
    return list;
}

/* --- which of equal ones -------------------------------------------------------------------- */

struct choice {
    double likeness;
    uint32_t a, b;
};

static int by_likeness(const void *x, const void *y)
{
    const struct choice *a = x, *b = y;
    if (a->likeness != b->likeness)
        return a->likeness < b->likeness ? 1 : -1;
    return a->a != b->a ? (a->a > b->a) - (a->a < b->a) : (a->b > b->b) - (a->b < b->b);
}

/* The name with '#' for each number, to find names that differ as the names of certain pairs do. */
static size_t without_numbers(const char *name, char *out)
{
    size_t n = 0;
    for (; *name; name++)
        if (*name < '0' || *name > '9')
            out[n++] = *name;
        else if (!n || out[n - 1] != '#')
            out[n++] = '#';
    return n;
}

struct learned {
    struct strmap known; /* old and new names, without numbers, of certain pairs */
    char *room;
    struct arena *arena;
};

static size_t learned_key(struct learned *l, const char *a, const char *b)
{
    size_t n = without_numbers(a, l->room);
    l->room[n++] = '\n';
    return n + without_numbers(b, l->room + n);
}

static bool learn(struct learned *l, const struct infer_task *t)
{
    for (size_t i = 0; i < t->pairs; i++) {
        const char *kept;
        bool added;
        const size_t n = learned_key(l, t->a.at[t->pair[i].a].name, t->b.at[t->pair[i].b].name);
        if (!strmap_keep(&l->known, l->arena, l->room, n, &kept, &added))
            return false;
    }
    return true;
}

static double how_like(struct learned *l, const struct infer_task *t, uint32_t a, uint32_t b)
{
    const char *x = t->a.at[a].name, *y = t->b.at[b].name;
    const size_t n = learned_key(l, x, y);
    return infer_likeness(NULL, x, y) + (strmap_get(&l->known, l->room, n) ? 2 : 0) +
           (strcmp(x, y) == 0 ? 4 : 0);
}

/* Pair tensors of equal content one to one. */
static bool pair_equals(struct infer_task *t, struct learned *l, const struct equals *e)
{
    struct choice *choice = NULL;
    size_t choices = 0;
    bool good = true;
    if (e->as * e->bs <= CHOICES_MAX)
        choice = arena_array(t->arena, e->as * e->bs, sizeof(*choice));
    for (size_t i = 0; choice && i < e->as; i++)
        for (size_t k = 0; k < e->bs; k++)
            choice[choices++] = (struct choice){how_like(l, t, e->a[i], e->b[k]), e->a[i], e->b[k]};
    if (choice)
        qsort(choice, choices, sizeof(*choice), by_likeness);
    for (size_t i = 0; good && i < choices; i++)
        if (!t->used_a[choice[i].a] && !t->used_b[choice[i].b])
            good = infer_add(
                t, (struct infer_pair){.a = choice[i].a, .b = choice[i].b, .how = INFER_CONTENT});
    for (size_t i = 0; good && !choice && i < e->as && i < e->bs; i++)
        good = infer_add(t, (struct infer_pair){.a = e->a[i], .b = e->b[i], .how = INFER_CONTENT});
    return good;
}

/* The tensors of B that are left are copies of the tensor of A with that content and the most
 * similar name. */
static bool pair_copies(struct infer_task *t, struct learned *l, const struct equals *e)
{
    bool good = true;
    for (size_t k = 0; good && k < e->bs; k++) {
        uint32_t best = INFER_NONE;
        double most = -1;
        if (t->used_b[e->b[k]])
            continue;
        for (size_t i = 0; i < e->as && i < CHOICES_MAX / e->bs + 1; i++) {
            const double like = how_like(l, t, e->a[i], e->b[k]);
            if (like > most)
                best = e->a[i], most = like;
        }
        good = infer_add(t, (struct infer_pair){.a = best,
                                                .b = e->b[k],
                                                .how = INFER_CONTENT,
                                                .form = INFER_COPIES,
                                                .ops = "[[\"copies\",%]]"});
    }
    return good;
}

/* Call `use` for each content that both sides have; `unique`: only contents of one tensor each,
 * else only the others. */
static bool each_content(struct infer_task *t, struct learned *l, bool unique,
                         bool (*use)(struct infer_task *, struct learned *, const struct equals *))
{
    size_t count;
    bool good = true;
    struct by_content *list = list_contents(t, &count);
    uint32_t *at = arena_array(t->arena, count + 1, sizeof(*at));
    for (size_t i = 0, end; list && at && good && i < count; i = end) {
        struct equals e = {.a = at + i};
        for (end = i; end < count && !content_order(list[i].tensor, list[end].tensor); end++) {
            at[end] = list[end].at;
            *(list[end].of_b ? &e.bs : &e.as) += 1;
        }
        e.b = e.a + e.as;
        if (e.as && e.bs && (unique == (e.as == 1 && e.bs == 1)))
            good = use(t, l, &e);
    }
    return list && at && good;
}

static size_t longest_name(const struct infer_list *l)
{
    size_t most = 0;
    for (size_t i = 0; i < l->count; i++)
        if (strlen(l->at[i].name) > most)
            most = strlen(l->at[i].name);
    return most;
}

static bool pair_contents(struct infer_task *t)
{
    struct learned l = {.arena = t->arena};
    l.room = arena_alloc(t->arena, longest_name(&t->a) + longest_name(&t->b) + 2);
    const bool good = l.room && each_content(t, &l, true, pair_equals) && learn(&l, t) &&
                      each_content(t, &l, false, pair_equals) &&
                      each_content(t, &l, false, pair_copies);
    strmap_release(&l.known);
    return good;
}

/* --- all pairs -------------------------------------------------------------------------------- */

static int by_a(const void *x, const void *y)
{
    const struct infer_pair *a = x, *b = y;
    if (a->a != b->a)
        return a->a < b->a ? -1 : 1;
    if (a->part != b->part)
        return a->part < b->part ? -1 : 1;
    return (a->b > b->b) - (a->b < b->b);
}

static void find_pairs(struct infer_task *t, struct error *err)
{
    t->used_a = arena_array(t->arena, t->a.count + 1, sizeof(*t->used_a));
    t->used_b = arena_array(t->arena, t->b.count + 1, sizeof(*t->used_b));
    bool good = t->used_a && t->used_b && pair_contents(t);
    if (good && t->digest && infer_transforms(t, err) != OK)
        return;
    good = good && infer_guess(t);
    for (uint32_t i = 0; good && i < t->a.count; i++)
        if (!t->used_a[i])
            good = infer_add(t, (struct infer_pair){.a = i, .b = INFER_NONE});
    for (uint32_t i = 0; good && i < t->b.count; i++)
        if (!t->used_b[i])
            good = infer_add(t, (struct infer_pair){.a = INFER_NONE, .b = i});
    if (good && t->pairs)
        qsort(t->pair, t->pairs, sizeof(*t->pair), by_a);
    if (!good)
        error_memory(err);
}

enum status infer_pairs(struct infer_task *t, struct error *err)
{
    t->arena->err = err;
    find_pairs(t, err);
    t->arena->err = NULL;
    t->arena->failed = false; /* as an arena without `err` is */
    return err->status;
}

struct infer_item *infer_items(struct infer_task *t)
{
    struct infer_item *item = arena_array(t->arena, t->a.count + 1, sizeof(*item));
    const char **made = arena_array(t->arena, t->pairs + 1, sizeof(*made));
    if (!item || !made)
        return NULL;
    for (size_t i = 0; i < t->a.count; i++)
        item[i].old = t->a.at[i].name;
    for (size_t i = 0; i < t->pairs && t->pair[i].a != INFER_NONE; i++) {
        const struct infer_pair *p = &t->pair[i];
        struct infer_item *it = &item[p->a];
        if (p->b == INFER_NONE)
            continue;
        if (!it->count)
            it->made = &made[i];
        made[i] = t->b.at[p->b].name;
        it->count++;
        if (it->form == INFER_PLAIN) { /* the first pair of copies is plain */
            it->form = p->form;
            it->ops = p->ops;
            it->key = p->part;
        }
    }
    return item;
}
